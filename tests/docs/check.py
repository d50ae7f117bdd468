#!/usr/bin/env python3
"""check.py POLYHEAD [--update]: do README.md and docs/ tell the truth?

Runs every `$ polyhead ...` of their console blocks in the repository's root and compares what it prints with what the page
shows (a line of `...` stands for any lines); follows every relative link; looks for every op in docs/config.md, and in README.md for
every command and every environment variable that the code reads; and in docs/dependencies.md for every package that
scripts/setup installs.  --update writes what was printed into the pages instead.
"""
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
VARIABLE = re.compile(r'"(POLYHEAD_[A-Z_]+|XDG_CACHE_HOME|NO_COLOR)"')


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def printed_by(command, polyhead):
    """What a shell shows after `command`, line by line."""
    words = shlex.split(command)
    environment = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([polyhead, *words[1:]], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    return [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]


def commands_of(block):
    """Pairs of a command and the lines below it."""
    pairs = []
    for line in block.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        elif pairs:
            pairs[-1][1].append(line)
    return pairs


def matches(shown, printed):
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in shown)
    return re.fullmatch(pattern, "\n".join(printed), re.DOTALL) is not None


def check_commands(page, text, polyhead):
    problems = []
    for block in BLOCK.findall(text):
        for command, shown in commands_of(block):
            while shown and not shown[-1]:
                shown.pop()  # a blank line before the next command
            if command.startswith("polyhead ") and not matches(shown, printed_by(command, polyhead)):
                printed = "\n".join(printed_by(command, polyhead))
                problems.append(f"{page.relative_to(ROOT)}: `{command}` prints something else:\n{printed}")
    return problems


def updated(text, polyhead):
    def block_of(match):
        lines = []
        for command, shown in commands_of(match.group(1)):
            if lines:
                lines.append("")
            keep = not command.startswith("polyhead ") or "..." in shown
            while shown and not shown[-1]:
                shown.pop()
            lines += ["$ " + command, *(shown if keep else printed_by(command, polyhead))]
        return "```console\n" + "\n".join(lines) + "\n```"

    return BLOCK.sub(block_of, text)


def check_links(page, text):
    return [f"{page.relative_to(ROOT)}: link to {target}, which is not there"
            for target in LINK.findall(text) if not (page.parent / target).exists()]


def check_tables(polyhead):
    language = (ROOT / "docs/config.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    def listed(what):
        words = [polyhead, "help" if what == "commands" else what, "--json"]
        return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[what]

    problems = [f"docs/config.md: the op {op['name']} is missing" for op in listed("ops")
                if f"`{op['name']}`" not in language]
    problems += [f"README.md: the command {command['name']} is missing" for command in listed("commands")
                 if f"`polyhead {command['name']}" not in readme]
    dependencies = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    lists = re.findall(r"packages\+?=\(([^)]*)\)", (ROOT / "scripts/setup").read_text(encoding="utf-8"))
    problems += [f"docs/dependencies.md: the package {package} is missing" for package in " ".join(lists).split()
                 if f"`{package}`" not in dependencies]
    for folder in ("core", "cli", "backends", "plugins"):
        for source in (ROOT / folder).rglob("*.c"):
            for name in VARIABLE.findall(source.read_text(encoding="utf-8")):
                if f"`{name}`" not in readme:
                    problems.append(f"README.md: the environment variable {name} of {source.name} is missing")
    return problems


def main():
    polyhead = sys.argv[1]
    if "--update" in sys.argv:
        for page in pages():
            page.write_text(updated(page.read_text(encoding="utf-8"), polyhead), encoding="utf-8")
        return 0
    problems = check_tables(polyhead)
    for page in pages():
        text = page.read_text(encoding="utf-8")
        problems += check_links(page, text) + check_commands(page, text, polyhead)
    print("\n".join(problems) or "what the pages say holds")
    return 1 if problems else 0


sys.exit(main())
