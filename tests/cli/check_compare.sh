#!/usr/bin/env bash
# check and compare: their tables, documents and exit codes.
source "$(dirname "$0")/common.sh"
config=$CONFIGS/five_words.yaml

expect 0 '' check "$config" -d reference
shows '^five_words on reference:0 \(cpu, '
shows '^dims: words = 5, vector = 2$'
shows '^node +op +output +FLOPs +bytes +device +variant$'
shows '^q +linear +f32 \[5, 2\] +[0-9]+ +[0-9]+ B +reference:0'
shows '^sum '
shows '^memory: inputs 40 B, outputs '
expect 0 '' check "$config" -d reference --json
answers '[n["path"] for n in d["nodes"]]' "['q', 'k', 'v', 'scores', 'weights', 'y']"
answers 'd["dims"], d["total"]["refused"], d["memory"]["inputs"]' "({'words': 5, 'vector': 2}, 0, 40)"
answers 'd["nodes"][0]["flops"], d["total"]["flops"] == sum(n["flops"] for n in d["nodes"])' '(40.0, True)'
answers 'd["total"]["bytes"] == sum(n["bytes"] for n in d["nodes"])' True

# Needs neither weights' files nor required inputs when they can be made up; and runs nothing.
expect 0 '' check "$CONFIGS/stories_layer0.yaml" -d reference --random --dim seq=9
shows 'f32 \[1, 8, 9, 9\]'

# A device that cannot hold a tensor refuses its nodes by name: exit 3, unless the reference takes them.
cat >large.yaml <<'YAML'
polyhead: 1
dims: {rows: 600}
inputs: {x: {shape: [rows, rows], default: {fill: 1}}}
graph:
  - {name: row, op: slice, inputs: [x], axis: 0, start: 0, stop: 1}
  - {name: large, op: mul, inputs: [x, 2]}
  - {name: y, op: exp, inputs: [row]}
outputs: [y, large]
YAML
if has_device opencl:portable; then
  device=opencl:portable,max_alloc=65536
  expect 3 'refuses [0-9]+ of [0-9]+ nodes' check large.yaml -d $device
  shows '^refused: large: .*opencl'
  ! grep -q '^memory' "$out" || fail "the memory of a plan that was never made"
  expect 3 'refuses' check large.yaml -d $device --json
  answers '[n["device"] for n in d["nodes"] if n["path"] == "large"], d["total"]["refused"] > 0' '([None], True)'
  expect 3 "large|x" run large.yaml -d $device -o y=y.npy
  [ ! -e y.npy ] || fail "a refused run left a file"
  expect 0 '' check large.yaml -d $device --fallback reference
  shows '^moved: large: '
  expect 0 "node 'large' \(mul\) ran on reference:0: " run large.yaml -d $device --fallback reference -o y=y.npy -o large=large.npy
  [ -s y.npy ] && [ -s large.npy ] || fail "a run with fallback wrote nothing"
else
  printf 'SKIPPED: there is no device opencl:portable\n'
fi

expect 0 '' compare "$config" -d reference
shows '^reference \(.*\): agrees, [0-9]+ nodes, '
expect 0 '' compare "$config" -d reference --per-node
shows '^ +ok +scores +scaled_scores '
expect 0 '' compare "$config" -d reference -d reference:0 --json
answers 'd["pass"], len(d["devices"]), d["devices"][0]["first_difference"]' '(True, 2, None)'
answers 'sorted({n["path"] for n in d["devices"][0]["nodes"]})' "['k', 'q', 'scores', 'v', 'weights', 'y']"
answers 'all(n["compared"] > 0 and n["ratio"] <= 1 for n in d["devices"][0]["nodes"])' True
expect 3 'nosuch' compare "$config" -d reference -d nosuch

# A device that is wrong: exit 1, and the node that is to blame, not those after it.
expect 1 '' compare "$config" --plugin "$MUTANT" -d reference -d mutant,node=scores
shows '^reference \(.*\): agrees'
shows "^mutant,node=scores \(.*\): differs first at node 'scores' \(scaled_scores"
shows '^  y\[[0-9], [0-9]\]: expected [0-9.]+, got [0-9.]+, bound [0-9.e-]+, [0-9.e+]+ times the bound$'
expect 1 '' compare "$config" --plugin "$MUTANT" -d mutant,node=scores --per-node
shows '^ +differs +scores '
shows '^ +ok +weights '
expect 1 '' compare "$config" --plugin "$MUTANT" -d mutant,node=weights --json
answers 'd["pass"], d["devices"][0]["first_difference"]["path"]' "(False, 'weights')"
answers 'd["devices"][0]["first_difference"]["ratio"] > 1' True

# A device that refuses: the node, the reason, exit 3; or the reference takes it.
expect 3 "node 'weights' \(softmax\): mutant:0" compare "$config" --plugin "$MUTANT" -d mutant,refuse=softmax
expect 3 "node 'weights' \(softmax\): mutant:0" run "$config" --plugin "$MUTANT" -d mutant,refuse=softmax -o y=y2.npy
[ ! -e y2.npy ] || fail "a refused run left a file"
expect 0 "node 'weights' \(softmax\) ran on reference:0: " run "$config" --plugin "$MUTANT" -d mutant,refuse=softmax \
  --fallback reference
expect 0 '' check "$config" --plugin "$MUTANT" -d mutant,refuse=softmax --fallback reference --json
answers '[n["device"] for n in d["nodes"] if n["path"] in ("weights", "y")], d["total"]["moved"]' "(['reference:0', 'mutant:0'], 1)"
if has_device pocl; then
  expect 0 '' compare "$CONFIGS/multi_head_attention.yaml" -d reference -d pocl
  shows '^pocl \(.*\): agrees'
fi

# Answers travel: what one machine saved another one judges, fused or in steps, right or wrong.
fused=$CONFIGS/grouped_heads.yaml
expect 0 '' compare "$fused" -d reference --save right.safetensors
expect 0 '' compare "$fused" --load right.safetensors
shows '^right.safetensors \(saved answers\): agrees'
expect 0 '' compare "$fused" --plugin "$MUTANT" -d mutant,refuse=attention --save steps.safetensors
expect 0 '' compare "$fused" --load steps.safetensors --per-node
shows '^ +ok +mixed.weights +softmax +saved'
expect 1 '' compare "$fused" --plugin "$MUTANT" -d mutant,node=mixed --save wrong.safetensors
expect 1 '' compare "$fused" --load wrong.safetensors
shows "differs first at node 'mixed'"
expect 2 'has no answer for node' compare "$CONFIGS/self_attention.yaml" --load right.safetensors
expect 2 'answers of one device can be saved' compare "$fused" -d reference -d reference --save two.safetensors
[ ! -e two.safetensors ] || fail "a refused comparison left a file"

# A NaN that was saved is a difference unless it is asked for, and then only where it is right.
cat >nan.yaml <<'YAML'
polyhead: 1
dims: {n: 3}
inputs: {x: {shape: [n], default: {values: [0, .nan, 2]}}}
graph: [{name: y, op: exp, inputs: [x]}]
outputs: [y]
YAML
sed 's/.nan/1/' nan.yaml >no_nan.yaml
expect 0 '' compare nan.yaml -d reference --save nan.safetensors
expect 1 '' compare nan.yaml --load nan.safetensors
shows 'differs end to end.*: output y by inf'
expect 0 '' compare nan.yaml --load nan.safetensors --equal-nan
expect 1 '' compare no_nan.yaml --load nan.safetensors --equal-nan
finish
