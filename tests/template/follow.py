#!/usr/bin/env python3
"""follow.py GUIDE PREFIX FOLDER FLAGS: does what the backend author's guide says, in an empty FOLDER, to the letter.

Runs its ```sh blocks in one shell, writes its <!-- file: NAME --> blocks and applies its <!-- patch: NAME --> blocks, in their
order.  $prefix is PREFIX, $PATH begins with its bin.  FLAGS go to the C compiler.  Fails with the first command that fails.
"""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"(?:<!-- (file|patch): (\S+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def patched(text, patch):
    """`text` with the one place that looks as the patch's unchanged and removed lines changed as it says."""
    lines = patch.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] != "+")
    after = "".join(line[1:] for line in lines if line[0] != "-")
    if text.count(before) != 1:
        sys.exit(f"the patch fits {text.count(before)} places:\n{patch}")
    return text.replace(before, after)


def script_of(guide):
    """The guide as one shell script; what is no command becomes one that calls this program."""
    parts, me = ["set -euo pipefail"], shlex.quote(str(Path(__file__).resolve()))
    for kind, name, language, body in BLOCK.findall(guide):
        if kind:
            parts.append(f"python3 {me} --{kind} {shlex.quote(name)} <<'END OF BLOCK'\n{body}END OF BLOCK")
        elif language == "sh":
            parts.append("set -x\n" + body + "{ set +x; } 2>/dev/null")
    return "\n".join(parts) + "\n"


def main():
    if sys.argv[1] == "--file":
        Path(sys.argv[2]).write_text(sys.stdin.read(), encoding="utf-8")
    elif sys.argv[1] == "--patch":
        path = Path(sys.argv[2])
        path.write_text(patched(path.read_text(encoding="utf-8"), sys.stdin.read()), encoding="utf-8")
    else:
        guide, prefix, folder, flags = sys.argv[1:]
        environment = {**os.environ, "prefix": prefix, "PATH": f"{prefix}/bin:{os.environ['PATH']}", "CFLAGS": flags,
                       "NO_COLOR": "1"}
        script = script_of(Path(guide).read_text(encoding="utf-8"))
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, check=False)
        sys.exit(done.returncode)


main()
