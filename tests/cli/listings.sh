#!/usr/bin/env bash
# devices, plugins, ops, schema: they tell the truth, with and without OpenCL, with broken plugins in the path.
source "$(dirname "$0")/common.sh"

expect 0 '' devices
shows '^reference:0 +cpu '
expect 0 '' devices --json
answers 'sum(e["spec"] == "reference:0" for e in d["devices"])' 1
answers 'all(e["spec"].startswith(e["backend"] + ":") and e["alignment"] > 0 for e in d["devices"])' True

# No OpenCL at all: the reference stands, auto takes it and says so, others are not there.
export OCL_ICD_VENDORS=/nonexistent
expect 0 '' devices --json
answers '[e["spec"] for e in d["devices"] if e["backend"] != "blas"]' "['reference:0']"
expect 0 '^device: reference:0 \(cpu, ' run "$CONFIGS/five_words.yaml"
if "$POLYHEAD" plugins | grep -q ^opencl; then
  grep -q '^device: opencl: .*no device' "$err" || fail "auto does not say why it is the reference: $(cat "$err")"
fi
shows '^weights  f32 \[5, 5\]$'
expect 0 '^device: reference:0 ' run "$CONFIGS/five_words.yaml" -d AUTO
expect 0 '' run "$CONFIGS/five_words.yaml" -d reference
expect 0 '^device: reference:0 ' run "$CONFIGS/five_words.yaml" -d reference -v
expect 3 '.' run "$CONFIGS/five_words.yaml" -d opencl
expect 3 '.' run "$CONFIGS/five_words.yaml" -d pocl
unset OCL_ICD_VENDORS
if has_device pocl; then
  POCL_DEVICES='pthread basic' expect 0 '' devices --json
  answers 'sum(e["backend"] == "pocl" for e in d["devices"])' 2
fi

expect 0 '' plugins
shows '^reference +[0-9.]+ .*\(built in\)'
mkdir plugins
printf 'no plugin' >plugins/broken.so
export POLYHEAD_PLUGIN_PATH=$PWD/plugins:/nonexistent
expect 0 '' plugins
shows '^[0-9]+ more w.* not loaded; -v says why$'
expect 0 '' plugins -v
shows "^not loaded .*/plugins/broken.so: "
shows "^folder .*/plugins: 1 file$"
shows '^folder /nonexistent: not there$'
shows '^loaded \(built in\): reference '
expect 0 '' plugins --json
answers '[p["loaded"] for p in d["plugins"] if p["path"].endswith("broken.so")]' '[False]'
answers '[f["note"] for f in d["folders"] if f["path"] == "/nonexistent"]' "['not there']"
expect 0 '' run "$CONFIGS/five_words.yaml" -d reference
expect 2 'broken.so' run "$CONFIGS/five_words.yaml" -d reference --plugin plugins/broken.so
unset POLYHEAD_PLUGIN_PATH

expect 0 '' ops
shows '^softmax +'
names=$(awk '{ print $1 }' "$out")
expect 0 '' ops --json
answers '" ".join(o["name"] for o in d["ops"])' "$(printf '%s' "$names" | tr '\n' ' ')"
for op in $names; do
  expect 0 '' ops "$op"
  shows "^$op: .+"
  shows '^outputs:$|^  '
done
expect 0 '' ops mask
shows '^roles:$'
shows 'polarity .*attend'
expect 0 '' ops softmax --json
answers 'd["name"], [r["name"] for r in d["roles"]][:1]' "('softmax', ['x'])"
refuse "unknown op 'sofmax'; did you mean 'softmax'" ops sofmax
refuse "unknown op 'xyzzy'; 'polyhead ops'" ops xyzzy

expect 0 '' schema
answers 'd["$schema"].startswith("http"), "graph" in d["properties"]' '(True, True)'
cp "$out" "$scratch/log/schema"
expect 0 '' schema --json
python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1])) != json.load(open(sys.argv[2])))' \
  "$out" "$scratch/log/schema" || fail "schema and schema --json differ"
finish
