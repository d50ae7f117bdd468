#!/usr/bin/env python3
"""table.py BUILD: does docs/user-reports.md tell the truth?

Every name in its tables is a config of tests/reports, a test of BUILD, or a word of the tests' sources; every config is named;
and where the folder `shared` lies beside the checkout, or $POLYHEAD_SHARED names it, every report of its list has a row.
"""
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (R\d{3}) \| (.+?) \| (.+) \|$", re.MULTILINE)


def main():
    listing = subprocess.run(["ctest", "--test-dir", sys.argv[1], "-N"], check=True, capture_output=True, text=True).stdout
    tests = re.findall(r"Test\s+#\d+: (\S+)", listing)
    sources = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/*.c"))
    configs = {path.stem for path in ROOT.glob("tests/reports/*.yaml")}
    rows = ROW.findall((ROOT / "docs/user-reports.md").read_text(encoding="utf-8"))
    bad, named = [], set()
    for number, _, where in rows:
        for name in re.findall(r"`([^`]+)`", where):
            if name.startswith("reports/"):
                named.add(name[len("reports/"):])
                known = name[len("reports/"):] in configs
            elif re.fullmatch(r"[a-z]+\.\S+", name):
                known = any(fnmatch(test, name) for test in tests)
            else:
                known = name.startswith("polyhead ") or name == "dropout" or re.search(rf"\b{name}\b", sources)
            if not known:
                bad.append(f"{number}: there is no {name}")
    bad += [f"{name} is in no row" for name in sorted(configs - named)]
    shared = Path(os.environ.get("POLYHEAD_SHARED", ROOT.parent / "shared")) / "user-reports.md"
    if shared.exists():
        numbers = set(re.findall(r"^\| (R\d{3}) ", shared.read_text(encoding="utf-8"), re.MULTILINE))
        bad += [f"{number} has no row" for number in sorted(numbers - {row[0] for row in rows})]
    print("\n".join(bad) or f"{len(rows)} rows, {len(configs)} configs")
    return 1 if bad or not rows else 0


sys.exit(main())
