#!/usr/bin/env bash
# Reports that are about the command: sizes beyond 32 and 64 bits, and which device is taken (docs/user-reports.md).
# shellcheck source-path=SCRIPTDIR/../cli
source "$(dirname "$0")/../cli/common.sh"

# R049: scores of 2^31 + 65536 elements, planned and not run; and such as no 64 bits can count.
cat >large.yaml <<'YAML'
polyhead: 1
dims: {heads: 1, queries: 65536, keys: 32769}
inputs:
  q: {shape: [1, heads, queries, 1], default: {fill: 0}}
  k: {shape: [1, heads, keys, 1], default: {fill: 0}}
graph:
  - {name: scores, op: scaled_scores, inputs: [q, k]}
  - {name: weights, op: softmax, inputs: [scores]}
  - {name: y, op: weighted_sum, inputs: [weights, k]}
outputs: [y, weights]
YAML
bytes=$((4 * 65536 * 32769))
expect 0 '' check large.yaml -d reference --json
answers 'd["memory"]["arena"], d["memory"]["outputs"]' "($bytes, $((bytes + 4 * 65536)))"
answers 'd["nodes"][0]["bytes"]' $((bytes + 4 * (65536 + 32769)))
for device in pocl opencl:portable; do
  has_device $device || continue
  expect 3 'refuses' check large.yaml -d $device,max_alloc=2147483648
  shows "^refused: scores: .*'scores' has $bytes bytes; the largest buffer of this device has 2147483648$"
done
for dims in 'queries=3037000500 keys=3037000500' 'heads=4294967296 queries=4294967296' 'keys=4611686018427387904' \
  'heads=9223372036854775807 keys=3'; do
  words=()
  for dim in $dims; do words+=(--dim "$dim"); done
  for device in reference pocl; do
    [ $device = reference ] || has_device $device || continue
    refuse 'too large' check large.yaml -d $device "${words[@]}"
  done
done

# R055: every device by platform and index, and by its number; it says which it is, and which driver.  Two platforms where
# Mesa has one, too.
export RUSTICL_ENABLE=llvmpipe
config=$CONFIGS/five_words.yaml
"$POLYHEAD" devices --json >"$out"
devices=$(query '"\n".join("|".join(map(str, (e["spec"], e["platform_index"], e["device_index"], e["name"], e["driver"])))
                            for e in d["devices"] if e["backend"] == "opencl")')
while IFS='|' read -r spec platform index name driver; do
  [ -n "$spec" ] || continue
  for wanted in "$spec" "opencl:$platform:$index"; do
    expect 0 "^device: $spec " run "$config" -d "$wanted" -v
    grep -F "$name" "$err" | grep -qF "$driver" || fail "-d $wanted says nothing of $name, driver $driver: $(cat "$err")"
  done
done <<<"$devices"
for wanted in opencl:99 opencl:99:0 opencl:0:99; do
  [ -n "$devices" ] || break
  expect 3 "'$wanted'" run "$config" -d $wanted
  while IFS='|' read -r spec _; do
    grep -qF "$spec (" "$err" || fail "-d $wanted does not list $spec: $(cat "$err")"
  done <<<"$devices"
done
finish
