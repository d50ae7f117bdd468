#!/usr/bin/env bash
# No case of the set tiny has an extent above 64.
set -uo pipefail
# shellcheck source=../../cli/common.sh
source "$(dirname "$0")/../../cli/common.sh"
expect 0 '' conform --set tiny --show '*' --json
python3 - "$out" <<'PYTHON' || fail "a tiny case is not"
import json
import re
import sys

configs = json.load(open(sys.argv[1], encoding="utf-8"))["configs"]
large = [
    f"{name}: {line}"
    for name, text in configs.items()
    for line in re.findall(r"^dims:.*|shape: \[[^\]]*\]", text, re.MULTILINE)
    if any(int(number) > 64 for number in re.findall(r"\b\d+\b", line))
]
print("\n".join(large))
sys.exit(1 if large or len(configs) < 500 else 0)
PYTHON
finish
