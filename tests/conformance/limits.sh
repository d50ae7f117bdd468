#!/usr/bin/env bash
# limits.sh LIMIT CONFIG...: the baseline kernels are right on every config when the device pretends to a small limit.
# Under max_alloc a config may also be refused (exit 3), if the message names what is too large.  --random where it is needed.
set -euo pipefail
limit=$1
shift
failed=0
for config in "$@"; do
  random=()
  if grep 'key:' "$config" >/dev/null; then random=(--random); fi
  status=0
  output=$("$POLYHEAD" compare "$config" -d "opencl:portable,$limit" "${random[@]}" 2>&1) || status=$?
  case "$status,$limit,$output" in
    0,*) printf 'agrees   %s\n' "$config" ;;
    3,max_alloc=*,*"'"*"'"*bytes*) printf 'refused  %s: %s\n' "$config" "$output" ;;
    *) printf 'FAILED   %s (exit %d)\n%s\n' "$config" "$status" "$output"; failed=1 ;;
  esac
done
exit "$failed"
