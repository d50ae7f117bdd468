#!/usr/bin/env bash
# run: what is printed, what -o writes, what -i reads.
source "$(dirname "$0")/common.sh"
cat >plain.yaml <<'YAML'
polyhead: 1
name: plain
dims: {rows: 2, columns: 3}
labels: {rows: [north, south]}
inputs:
  x: {shape: [rows, columns], default: {values: [[1, 2, 3], [4, 5, 6]]}}
  n: {shape: [rows], dtype: i64, default: {values: [7, -8]}}
graph:
  - {name: half, op: mul, inputs: [x, 0.5]}
  - {name: sum, op: add, inputs: [half, x]}
outputs: {total: sum, n: n, half: half}
YAML

expect 0 '' run plain.yaml -d reference
shows '^total  f32 \[2, 3\]$'
shows '^n  i64 \[2\]$'
shows '^north +1\.5 +3\.0 +4\.5$'
shows '^south +6\.0 +7\.5 +9\.0$'
expect 0 '' run plain.yaml -d reference --json
answers 'd["model"], d["device"]["backend"], [o["name"] for o in d["outputs"]]' "('plain', 'reference', ['total', 'n', 'half'])"
answers '[o["path"] for o in d["outputs"]]' "['sum', 'n', 'half']"
answers 'd["outputs"][0]["values"]' '[[1.5, 3.0, 4.5], [6.0, 7.5, 9.0]]'
answers 'd["outputs"][0]["labels"]' "[['north', 'south'], None]"
answers 'd["outputs"][1]["values"], d["outputs"][1]["dtype"], d["outputs"][1]["shape"]' "([7, -8], 'i64', [2])"

# Numbers that JSON has not are texts.
sed 's/\[1, 2, 3\]/[nan, inf, -inf]/' plain.yaml >nan.yaml
expect 0 '' run nan.yaml -d reference --json
answers 'd["outputs"][2]["values"][0]' "['nan', 'inf', '-inf']"

# Files: an alias, a path, several in one, and back again.
expect 0 '' run plain.yaml -d reference -o total=total.npy -o sum=sum.npy -o half=two.npz -o total=./two.npz -o n=n.safetensors
[ ! -s "$out" ] || fail "-o printed something: $(cat "$out")"
cmp -s total.npy sum.npy || fail "an alias and its path differ"
[ "$(head -c 6 total.npy)" = $'\x93NUMPY' ] || fail "total.npy is no .npy"
[ "$(tail -c 4 total.npy | od -An -tf4 | tr -d ' ')" = 9 ] || fail "total.npy ends in something else"
expect 0 '' run plain.yaml -d reference -i x=two.npz:total -i n=n.safetensors --json
answers 'd["outputs"][2]["values"]' '[[0.75, 1.5, 2.25], [3.0, 3.75, 4.5]]'
answers 'd["outputs"][1]["values"]' '[7, -8]'
expect 0 '' run plain.yaml -d reference -i x=total.npy --json
answers 'd["outputs"][2]["values"][1]' '[3.0, 3.75, 4.5]'
python3 - two.npz <<'PY' || fail "two.npz is not what it should be"
import sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
sys.exit(sorted(names) != ["half.npy", "total.npy"])
PY
expect 0 '' run plain.yaml -d reference -o total=t.npy --json
answers 'd["files"]' "[{'path': 'total', 'file': 't.npy', 'dtype': 'f32', 'shape': [2, 3]}]"
answers '"outputs" in d' False

# A link is followed, and what was in the file is gone as a whole.
mkdir elsewhere && ln -s elsewhere/real.npy link.npy && printf 'something long that was there before' >elsewhere/real.npy
expect 0 '' run plain.yaml -d reference -o total=link.npy
[ -L link.npy ] && cmp -s elsewhere/real.npy total.npy || fail "a link was not followed"
[ "$(find . -name '.polyhead*' -o -name '*.tmp')" = '' ] || fail "temporary files are left"

# Values on the way that are no outputs, a composite's inside among them.
expect 0 '' run "$CONFIGS/five_words.yaml" -d reference -o scores=scores.npy
[ -s scores.npy ] || fail "an inner value was not written"
expect 0 '' run "$CONFIGS/multi_head_attention.yaml" -d reference -o y.weights=w.npy -o y=y.npy -o y.weights=w.npz
[ -s w.npy ] && [ -s y.npy ] && [ -s w.npz ] || fail "an inner value of a composite was not written"

# Output paths that cannot be: nothing runs, nothing is written.
rm -rf elsewhere link.npy ./*.npy ./*.npz ./*.safetensors
mkdir folder.npy
refuse "nowhere/y.npy.*nowhere" run plain.yaml -d reference -o total=y.npy -o half=nowhere/y.npy
refuse "folder.npy.*folder" run plain.yaml -d reference -o total=folder.npy
refuse "cannot write 'plain.yaml/y.npy'" run plain.yaml -d reference -o total=plain.yaml/y.npy
refuse "cannot write '/proc/y.npy'" run plain.yaml -d reference -o total=/proc/y.npy
refuse "must end in .npy, .npz or .safetensors" run plain.yaml -d reference -o total=y.txt
refuse "'total' and 'half' both go to './y.npy'" run plain.yaml -d reference -o total=y.npy -o half=./y.npy
refuse "total=y.npz is given twice" run plain.yaml -d reference -o total=y.npz -o total=y.npz
refuse "haf.*half" run plain.yaml -d reference -o haf=y.npy -o total=z.npy
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked && chmod 555 locked
  refuse "locked" run plain.yaml -d reference -o total=locked/y.npy
fi

# Weights that no file has.
expect 2 'random' run "$CONFIGS/stories_layer0.yaml" -d reference
finish
