#!/usr/bin/env bash
# What the passes make of a graph, as check says it: fused, merged, views, folded, and why not.
source "$(dirname "$0")/common.sh"

# agree FILE FILE: two .npy of f32 hold the same numbers, to the last digits.
agree() {
  python3 - "$1" "$2" <<'PY' || fail "$1 and $2 differ"
import array, struct, sys
def numbers(path):
    data = open(path, "rb").read()
    return array.array("f", data[10 + struct.unpack("<H", data[8:10])[0]:])
a, b = map(numbers, sys.argv[1:])
sys.exit(len(a) != len(b) or not a or any(not abs(x - y) <= 1e-5 * (1 + abs(x)) for x, y in zip(a, b)))
PY
}

# A multi-head layer and a feed-forward layer as a textbook writes them.
cat >layer.yaml <<'YAML'
polyhead: 1
name: layer
dims: {b: 1, s: 6, model: 128, heads: 4}
inputs: {x: {shape: [b, s, model], default: {random: normal, seed: 5}}}
weights:
  tensors:
    w_q: {shape: [model, model], init: {random: xavier_uniform, seed: 1}}
    w_k: {shape: [model, model], init: {random: xavier_uniform, seed: 2}}
    w_v: {shape: [model, model], init: {random: xavier_uniform, seed: 3}}
    w_o: {shape: [model, model], init: {random: xavier_uniform, seed: 4}}
    w_1: {shape: [model, model], init: {random: xavier_uniform, seed: 6}}
    b_1: {shape: [model], init: {random: normal, seed: 7}}
graph:
  - {name: q, op: linear, inputs: [x, w_q]}
  - {name: k, op: linear, inputs: [x, w_k]}
  - {name: v, op: linear, inputs: [x, w_v]}
  - {name: q_heads, op: split_heads, inputs: [q], heads: heads}
  - {name: k_heads, op: split_heads, inputs: [k], heads: heads}
  - {name: v_heads, op: split_heads, inputs: [v], heads: heads}
  - {name: scores, op: scaled_scores, inputs: [q_heads, k_heads]}
  - {name: weights, op: softmax, inputs: [scores]}
  - {name: mixed, op: weighted_sum, inputs: [weights, v_heads]}
  - {name: merged, op: concat_heads, inputs: [mixed]}
  - {name: out, op: linear, inputs: [merged, w_o]}
  - {name: half, op: mul, inputs: [w_1, 0.5]}
  - {name: wide, op: linear, inputs: [out, half]}
  - {name: biased, op: add, inputs: [wide, b_1]}
  - {name: active, op: gelu, inputs: [biased], form: erf}
  - {name: y, op: add, inputs: [active, out]}
outputs: [y]
YAML

devices=reference
has_device pocl && devices='reference pocl'
for device in $devices; do
  expect 0 '' check layer.yaml -d "$device" --json
  # Four nodes run, and not one of them copies.
  answers '[(n["path"], n["op"]) for n in d["nodes"] if n["fate"] == "run"]' \
    "[('q+k+v', 'linear'), ('mixed', 'attention'), ('out', 'linear'), ('y', 'fused_linear')]"
  answers '[n["path"] for n in d["nodes"] if n["fate"] == "view"]' \
    "['q', 'k', 'v', 'q_heads', 'k_heads', 'v_heads', 'merged']"
  answers '[n["path"] for n in d["nodes"] if n["fate"] == "folded"]' "['half']"
  answers '[n["fused"] for n in d["nodes"] if n["merged"]]' "[['q', 'k', 'v']]"
  answers '[n["fused"] for n in d["nodes"] if n["op"] == "fused_linear"]' "[['wide', 'biased', 'active', 'y']]"
  answers 'sum(n["bytes"] for n in d["nodes"] if n["fate"] != "run")' 0
  # Merged weights are constants, and those they were made of do not come to the device.
  answers 'd["memory"]["constants"]' "$(((3 + 1 + 1) * 128 * 128 * 4 + 128 * 4))"
  # The values are the same, whoever asks to see inside.
  expect 0 '' run layer.yaml -d "$device" -o y=whole.npy
  expect 0 '' run layer.yaml -d "$device" -o y=parts.npy -o q=q.npy -o weights=w.npy -o biased=b.npy -o merged=m.npy
  agree whole.npy parts.npy
  expect 0 '' compare layer.yaml -d "$device" --per-node
  shows '^ *ok +q\+k\+v '
  shows '^ *ok +merged '
  shows '^ *ok +half '
done

# What is wanted stays apart, alone.
expect 0 '' check layer.yaml -d reference
shows '^merged: q\+k\+v takes the place of q, k, v$'
shows '^half +mul .* folded$'
expect 0 '' graph layer.yaml -d reference
shows 'q_heads\\nsplit_heads, a view'
sed 's/^outputs: .*/outputs: [y, k, q_heads, biased]/' layer.yaml >inside.yaml
expect 0 '' check inside.yaml -d reference
shows '^k +linear '
shows '^q\+v +linear '
shows '^note: q_heads: its result is wanted as it is$'
shows '^note: active: the value before it is wanted, so the linear stays apart$'
expect 0 '' graph inside.yaml -d reference
shows 'tooltip="its result is wanted as it is"'

# Where many queries read them, keys and values are brought together on a CPU.
expect 0 '' check layer.yaml -d reference --dim s=767
! grep -q 'split_heads.*double' "$out" || fail "heads are copied for 767 queries"
expect 0 '' check layer.yaml -d reference --dim s=768
shows "^note: k_heads: the many queries of 'mixed' find the rows of a head sooner side by side$"
shows '^q_heads .* view$'
shows '^v_heads .* double$'

# A device that takes dense tensors alone gets copies, and says for whom; its linears are not merged for nothing.
if has_device blas; then
  expect 0 '' check layer.yaml -d blas
  shows "^note: q_heads: blas:0 takes it dense alone for 'mixed' \(attention\)$"
  shows "^note: q: blas:0 takes it dense alone for 'q_heads' \(split_heads\)$"
  ! grep -q '^merged:' "$out" || fail "merged, and then copied"
  expect 0 '' compare layer.yaml -d blas
fi

# A device that refuses a fused op runs its steps, and the last of them says why.
expect 0 '' check layer.yaml --plugin "$MUTANT" -d mutant,refuse=fused_linear
shows '^note: y: mutant:0 does not run it as one fused_linear: '
shows '^active +gelu '
expect 0 '' run layer.yaml --plugin "$MUTANT" -d mutant,refuse=fused_linear -o y=steps.npy
agree whole.npy steps.npy

# A move that the device does not make stays one that somebody else makes.
expect 3 'refuses 1 of ' check layer.yaml --plugin "$MUTANT" -d mutant,refuse=concat_heads
expect 0 "'merged' \(concat_heads\) ran on reference:0" run layer.yaml --plugin "$MUTANT" -d mutant,refuse=concat_heads --fallback reference -o y=moved.npy
agree whole.npy moved.npy

finish
