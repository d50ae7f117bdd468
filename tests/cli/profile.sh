#!/usr/bin/env bash
# run --profile: where the time went.
source "$(dirname "$0")/common.sh"
config=$CONFIGS/five_words.yaml
for device in reference pocl; do
  has_device $device || { printf 'SKIPPED: there is no device %s\n' $device; continue; }
  "$POLYHEAD" devices --json >"$out"
  times=$(query "[e['node_times'] for e in d['devices'] if e['backend'] == '$device'][0]")
  if [ "$times" = True ]; then
    expect 0 '' run "$config" -d $device --profile
    shows '^node +op +variant +ms +share +GFLOP/s +peak +GB/s +read +bytes$'
    shows '^scores +scaled_scores .* %.* KiB$|^scores +scaled_scores .* %.* B$'
    shows '^sum +[0-9.]+ +100.0 %'
    expect 0 '' run "$config" -d $device --profile --json
    answers 'all(n["ms"] >= 0 for n in d["profile"]) and len(d["profile"]) > 0' True
    answers 'abs(sum(n["share"] for n in d["profile"]) - 1) < 1e-6 and all(n["bytes"] > 0 for n in d["profile"])' True
    answers '(d["peak"] is None) == (d["device"]["backend"] == "reference")' True
    [ $device = pocl ] && "$POLYHEAD" devices -v >"$out" 2>/dev/null && shows '^pocl:0 was measured to reach [0-9.]+ GFLOP/s'
  else
    expect 0 'no times' run "$config" -d $device --profile
  fi
done
finish
