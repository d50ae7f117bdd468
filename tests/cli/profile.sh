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
    shows '^node +op +variant +ms +share$'
    shows '^scores +scaled_scores .* %$'
    shows '^sum +[0-9.]+$'
    expect 0 '' run "$config" -d $device --profile --json
    answers 'all(n["ms"] >= 0 for n in d["profile"]) and len(d["profile"]) > 0' True
  else
    expect 0 'no times' run "$config" -d $device --profile
  fi
done
finish
