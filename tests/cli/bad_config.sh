#!/usr/bin/env bash
# Configs that are wrong: each is refused at its place, with a cure, quickly, before anything is written.
source "$(dirname "$0")/common.sh"

# bad PATTERN [LINE]: bad.yaml is refused there.
bad() {
  refuse "^bad\.yaml:${2:-[0-9]+}:[0-9]+: error: .*$1" run bad.yaml -d reference -o y=y.npy
}

# A config that is right, so that each edit below is what is wrong.
cat >good.yaml <<'YAML'
polyhead: 1
dims: {words: 4, model: 6, heads: 2}
inputs:
  x: {shape: [1, words, model], default: {random: normal, seed: 1}}
  ids: {shape: [words], dtype: i64, default: {values: [0, 1, 2, 3]}}
weights:
  tensors:
    w: {shape: [8, model], init: {random: xavier_uniform, seed: 2}}
    table: {shape: [5, model], init: {random: normal, seed: 3}}
graph:
  - {name: rows, op: embedding, inputs: [ids, table]}
  - {name: added, op: add, inputs: [x, rows]}
  - {name: split, op: split_heads, inputs: [added], heads: heads}
  - {name: scores, op: scaled_scores, inputs: [split, split], scale: 0.5}
  - {name: seen, op: mask, inputs: [scores], causal: true, align: top_left}
  - {name: p, op: softmax, inputs: [seen]}
  - {name: mixed, op: weighted_sum, inputs: [p, split]}
  - {name: merged, op: concat_heads, inputs: [mixed]}
  - {name: y, op: linear, inputs: [merged, w]}
outputs: [y]
YAML
expect 0 '' run good.yaml -d reference

# edit FROM TO PATTERN [LINE]: the good config with one change.
edit() {
  grep -qF -- "$1" good.yaml || fail "good.yaml has no '$1'"
  python3 - "$1" "$2" <<'PY' >bad.yaml
import sys
print(open("good.yaml").read().replace(sys.argv[1], sys.argv[2], 1), end="")
PY
  bad "${@:3}"
}

# names
edit 'op: softmax' 'op: sofmax' "sofmax.*softmax" 16
edit 'heads: heads}' 'head: heads}' "head.*heads" 13
edit 'inputs: [seen]' 'inputs: [sen]' "sen.*seen" 16
edit 'inputs: [seen]' 'inputs: [later]' "later" 16
edit 'inputs: [seen]' 'inputs: {y: seen}' "softmax has no input 'y'" 16
edit 'inputs: [seen]' 'inputs: [seen, x]' "softmax" 16
edit 'graph:' 'grap:' "grap'.*'graph'" 10
edit 'outputs: [y]' 'outputs: [yy]' "yy.*y" 20
edit '{name: p,' '{name: x,' "x.*(4:[0-9]+|line 4)" 16
edit 'dtype: i64' 'dtype: int64' "int64.*i64" 5
edit 'align: top_left' 'align: topleft' "topleft.*top_left" 15
edit 'name: rows' 'name: ro.ws' "ro.ws" 11
edit ', align: top_left' '' "align.*offset|offset.*align" 15
edit 'inputs: [ids, table]' 'inputs: [ids]' "weight" 11
edit ', heads: heads}' '}' "heads" 13
edit '{name: p, op: softmax' '{name: p' "op" 16
edit 'seed: 2' 'sead: 2' "sead.*seed" 8
edit 'polyhead: 1' 'polyhead: 2' "polyhead.*1" 1
edit 'polyhead: 1' 'name: old' "needs 'polyhead'" 1

# the same twice
edit 'scale: 0.5' 'scale: 0.5, scale: 0.25' "scale.*(14:[0-9]+|line 14)" 14
edit 'name: added' 'name: rows' "rows.*(11:[0-9]+|line 11)" 12
edit 'weights:' 'inputs:' "inputs.*(3:[0-9]+|line 3)" 6
edit 'model: 6' 'model: 6, words: 5' "words.*(2:[0-9]+|line 2)" 2

# dims
edit 'words: 4, model: 6' 'words: model - 2, model: words + 2' "words|model" 2
edit 'words: 4' 'words: words' "words" 2
edit 'words: 4' 'words: 4 / 3' "4 / 3|even|whole" 2
edit 'words: 4' 'words: 0 - 4' "-4|negative|>= 0" 2
edit 'words: 4' 'words: 1e2' "1e2" 2
edit 'words: 4' 'words: 010' "010" 2
edit 'words: 4' 'words: 99999999999999999999' "64|large|fit|range" 2
edit 'words: 4' 'words: 9223372036854775807 + 1' "64|large|overflow|fit" 2
edit 'words: 4' 'words: wrods' "wrods.*words|wrods" 2
edit 'words: 4, model: 6' 'words: 4611686018427387904, model: 6' "large|overflow|64|fit"
edit 'words: 4, model: 6' 'words: 4, model: 4611686018427387904' "large|overflow|64|fit"
edit 'words: 4' 'i: 3, words: 4' "'i' is kept for the round" 2

# shapes and types
edit 'heads: 2}' 'heads: 0}' "heads.*0|0.*heads"
edit 'heads: 2}' 'heads: 4}' "heads"
edit 'shape: [8, model]' 'shape: [model, 8]' "layout: in_out" 19
edit 'shape: [8, model]' 'shape: [8, 7]' "\[8, 7\]" 19
edit 'shape: [5, model]' 'shape: [5, 7]' "7" 12
edit ', dtype: i64' '' "ids.*(i64|integer)|i64|integer" 11
edit 'values: [0, 1, 2, 3]' 'values: [0, 1, 2]' "3.*4|4.*3|\[3\].*\[4\]" 5
edit 'values: [0, 1, 2, 3]' 'values: [0, 1, 2.5, 3]' "2.5|integer|i64" 5
edit 'values: [0, 1, 2, 3]' 'values: [[0, 1], [2]]' "." 5
edit 'scale: 0.5' 'scale: half' "half|number" 14
edit 'scale: 0.5' 'scale: [1]' "scale" 14
edit 'causal: true' 'causal: yes' "causal.*true|true or false" 15
edit 'seed: 1}' 'seed: one}' "seed" 4
edit 'inputs: [seen]}' 'inputs: [seen], axis: 4}' "axis.*4|4.*axis" 16

# YAML itself
edit '{name: p,' '&anchor {name: p,' "anchor" 16
edit 'inputs: [seen]' 'inputs: [*seen]' "alias" 16
edit '{name: p,' '!!map {name: p,' "tag" 16
edit 'outputs: [y]' 'outputs: [y' "." 
edit 'outputs: [y]' $'outputs: [y]\n---\npolyhead: 1' "document"
edit 'dims: {' $'dims:\n\t{' "tab|."
{ printf 'polyhead: 1\ngraph: ' && printf '[%.0s' $(seq 10000); } >bad.yaml
bad "deep|nest|levels" 2
{ printf 'polyhead: 1\ngraph: ' && printf '{a: %.0s' $(seq 10000); } >bad.yaml
bad "deep|nest|levels" 2
printf 'polyhead: 1\nname: \xff\n' >bad.yaml
bad "UTF-8|character|byte" 2
printf 'polyhead: 1\nname: a\x00b\n' >bad.yaml
bad "control|character|NUL|byte" 2
: >empty.yaml
refuse "^empty\.yaml" run empty.yaml -d reference
printf -- '- 1\n' >list.yaml
refuse "^list\.yaml:1:1: error: " run list.yaml -d reference
mkdir folder.yaml
refuse "folder.yaml.*(folder|directory|regular)" run folder.yaml -d reference

# what the command line says of dims
refuse "'wordd'.*'words'" run good.yaml -d reference --dim wordd=5
refuse "words.*many|words=many" run good.yaml -d reference --dim words=many
refuse "words.*-1|-1.*words" run good.yaml -d reference --dim words=-1
refuse "ids|words" run good.yaml -d reference --dim words=3
refuse "large|overflow|64|fit" run good.yaml -d reference --dim model=9223372036854775807

# check and compare refuse the same
sed 's/op: softmax/op: sofmax/' good.yaml >bad.yaml
refuse '^bad\.yaml:16:[0-9]+: error: .*softmax' check bad.yaml -d reference
refuse '^bad\.yaml:16:[0-9]+: error: .*softmax' compare bad.yaml -d reference
finish
