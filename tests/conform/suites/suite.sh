#!/usr/bin/env bash
# suite.sh SET DEVICE: the cases of our suites on a device.  All must pass; at least 20 trusted ones for each op, and every
# pair of options, from ci on.
set -uo pipefail
set=$1 device=$2
folder=$(dirname "$0")
# shellcheck source=../../cli/common.sh
source "$folder/../../cli/common.sh"

status=0
"$POLYHEAD" conform -d "$device" --set "$set" --json --junit report.xml >"$out" 2>"$err" || status=$?
[ "$status" -ne 3 ] || skip "$(cat "$err")"
[ "$status" -eq 0 ] || fail "exit $status: $(tail -c 2000 "$err")"
python3 "$folder/verdict.py" "$out" report.xml "$set" || fail "see above"
finish
