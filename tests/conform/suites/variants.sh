#!/usr/bin/env bash
# variants.sh SET DEVICE: every variant of every op that has several is forced in turn and meets that op's cases.
# $VARIANTS prints them, so that a new one is never forgotten.
set -uo pipefail
set=$1 device=$2
folder=$(dirname "$0")
# shellcheck source=../../cli/common.sh
source "$folder/../../cli/common.sh"

count=0
while read -r op variant; do
  status=0
  "$POLYHEAD" conform -d "$device,variant=$variant" --set "$set" --filter "$op.*" >"$out" 2>"$err" || status=$?
  [ "$status" -ne 3 ] || skip "$(cat "$err")"
  if [ "$status" -ne 0 ]; then
    fail "$op, variant $variant: exit $status"
    grep -E '^ *(fail|FAIL)|command' "$out" | head -20
    tail -n 5 "$out"
    tail -c 1000 "$err"
  fi
  # A variant that fails its trial would leave its cases to the next one.
  grep "the variant $variant is passed over" "$err" && fail "$op, variant $variant: it is passed over"
  printf '%4d s  %s %s: %s\n' "$SECONDS" "$op" "$variant" "$(tail -n 2 "$out" | head -n 1)"
  count=$((count + 1))
done < <("$VARIANTS")
[ "$count" -gt 5 ] || fail "there are only $count variants"
finish
