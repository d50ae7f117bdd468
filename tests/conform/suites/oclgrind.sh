#!/usr/bin/env bash
# oclgrind.sh [OPTIONS [FILTER]]: the set tiny on Oclgrind, which looks at every byte that a kernel touches; OPTIONS of the
# device, FILTER of the cases.
set -uo pipefail
device=opencl${1:+,$1}
filter=(${2:+--filter "$2"})
folder=$(dirname "$0")
# shellcheck source=../../cli/common.sh
source "$folder/../../cli/common.sh"
library=$(find /usr/lib -name liboclgrind-rt-icd.so 2>/dev/null | head -n 1)
[ -n "$library" ] || skip 'there is no Oclgrind'
mkdir "$scratch/vendors"
printf '%s\n' "$library" >"$scratch/vendors/oclgrind.icd"
export OCL_ICD_VENDORS=$scratch/vendors OCLGRIND_LOG=$scratch/log/oclgrind OCLGRIND_DATA_RACES=1 \
  OCLGRIND_CHECK_API=1 OCLGRIND_UNINITIALIZED=0
start=$SECONDS
status=0
"$POLYHEAD" conform -d "$device" --set tiny "${filter[@]}" --json --junit report.xml >"$out" 2>"$err" || status=$?
[ "$status" -eq 0 ] || fail "exit $status: $(tail -c 2000 "$err")"
python3 "$folder/verdict.py" "$out" report.xml tiny || fail "see above"
printf '%d seconds\n' $((SECONDS - start))
if [ -s "$OCLGRIND_LOG" ]; then
  fail "Oclgrind says:"
  head -c 4000 "$OCLGRIND_LOG"
fi
finish
