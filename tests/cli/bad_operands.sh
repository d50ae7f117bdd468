#!/usr/bin/env bash
# Means, choices and losses of operands that do not fit, and indices from outside that point nowhere: refused before anything
# runs.
source "$(dirname "$0")/common.sh"

cat >good.yaml <<'YAML'
polyhead: 1
inputs:
  x: {shape: [2, 3, 4], default: {random: normal, seed: 1}}
  other: {shape: [2, 3, 4], default: {random: normal, seed: 2}}
  counts: {shape: [2, 3], dtype: bool, default: {fill: true}}
  ids: {shape: [2, 3], dtype: i64, default: {values: [[0, 1, 2], [3, 0, 1]]}}
graph:
  - {name: middle, op: mean, inputs: {x: x, mask: counts}, axis: 1}
  - {name: best, op: argmax, inputs: [x], axis: 2}
  - {name: unit, op: l2_normalize, inputs: [x], eps: 1e-12}
  - {name: row, op: one_hot, inputs: [ids], size: 4}
  - {name: loss, op: cross_entropy, inputs: [x, ids], axis: -1}
  - {name: distance, op: mse, inputs: [x, other]}
  - {name: same, op: dropout, inputs: [x], rate: 0.5}
outputs: [middle, best, unit, row, loss, distance, same]
YAML
expect 0 '' run good.yaml -d reference
expect 0 "node 'same': dropout acts in training only" run good.yaml -d reference -v

# edit FROM TO PATTERN LINE: the good config with one change.
edit() {
  grep -qF -- "$1" good.yaml || fail "good.yaml has no '$1'"
  python3 - "$1" "$2" <<'PY' >bad.yaml
import sys
print(open("good.yaml").read().replace(sys.argv[1], sys.argv[2], 1), end="")
PY
  refuse "^bad\.yaml:$4:[0-9]+: error: .*$3" run bad.yaml -d reference
}
edit 'mask: counts}, axis: 1' 'mask: counts}, axis: 2' "mask is \[2, 3\], but must be .* = \[2, 3, 4\]" 8
edit 'mask: counts' 'mask: ids' "mask.*(bool|i64)" 8
edit ', axis: 1}' '}' "axis" 8
edit 'inputs: [x], axis: 2' 'inputs: [x], axis: 3' "axis.*3" 9
edit 'eps: 1e-12' 'eps: -1' "eps must not be negative" 10
edit 'size: 4' 'size: 0' "size is 0" 11
edit 'size: 4' 'size: 3' "ids\[1, 0\] is 3, but must lie between 0 and 2" 11
edit '[[0, 1, 2], [3, 0, 1]]' '[[0, 1, 2], [3, 0, -1]]' "ids\[1, 2\] is -1, but must lie between 0 and 3" 11
edit 'inputs: [x, ids], axis: -1' 'inputs: [x, ids], axis: 1' "targets is \[2, 3\], but must be .* = \[2, 4\]" 12
edit 'shape: [2, 3, 4], default: {random: normal, seed: 2}' 'shape: [3, 4], default: {random: normal, seed: 2}' \
  "target is \[3, 4\], but must be the dims of x" 13
edit 'rate: 0.5' 'rate: 1.5' "rate is 1.5" 14

# The targets alone, with fewer classes than ids.
cat >targets.yaml <<'YAML'
polyhead: 1
inputs:
  x: {shape: [3, 2], default: {random: normal, seed: 1}}
  targets: {shape: [3], dtype: i64, default: {values: [0, 1, 2]}}
graph:
  - {name: loss, op: cross_entropy, inputs: [x, targets]}
outputs: [loss]
YAML
refuse "^targets\.yaml:6:[0-9]+: error: .*targets\[2\] is 2, but must lie between 0 and 1: there is no such class" \
  run targets.yaml -d reference
