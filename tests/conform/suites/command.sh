#!/usr/bin/env bash
# polyhead conform: states, exit codes, what it prints and writes.
set -uo pipefail
# shellcheck source=../../cli/common.sh
source "$(dirname "$0")/../../cli/common.sh"

cat >suite.yaml <<'YAML'
polyhead_suite: 1
cases:
  - name: relu.rows
    op: relu
    vary: {n: {smoke: [1, 5], full: [300]}}
    sets: [smoke]
    dims: {n: 1}
    inputs: {x: [3, n]}
    node: {inputs: [x]}
  - name: exp.empty
    op: exp
    inputs: {x: [0, 4]}
    node: {inputs: [x]}
  - name: add.one
    op: add
    inputs: {a: [4], b: [4]}
    node: {inputs: [a, b]}
YAML

# What is there, and what is not.
expect 0 '' conform --suite suite.yaml --list
[ "$(sort "$out" | tr '\n' ' ')" = 'add.one exp.empty relu.rows/n=1 relu.rows/n=5 ' ] || fail "--list: $(cat "$out")"
expect 0 '' conform --suite suite.yaml --set full --list --json
answers 'len(d["cases"])' 5
expect 0 '' conform --suite suite.yaml --set smoke --list
shows '^relu.rows/n=5$'
expect 2 "no set 'smok'; did you mean 'smoke'" conform -d reference --set smok
expect 2 "cannot read the suite 'nowhere.yaml'" conform --suite nowhere.yaml --list
expect 2 'five_words.yaml:3:1: error: a suite has no key' conform --suite "$CONFIGS/five_words.yaml" --list
expect 2 '--seed takes an integer' conform --seed -1
expect 2 '--set is given twice' conform --set ci --set ci
expect 2 "does not know what to do with 'x'" conform x
expect 3 'no backend' conform -d nothing --suite suite.yaml
expect 2 "there is no case 'tanh.x'" conform --suite suite.yaml --show tanh.x

# A run: all is said, in three forms.
expect 0 '' conform -d reference --suite suite.yaml --junit report.xml
shows '^relu +2 +2 '
shows '^reference:0 .*: 4 cases, 4 pass; 3 trusted$'
shows '^conforms$'
python3 -c '
import xml.etree.ElementTree as e
s = e.parse("report.xml").getroot().find("testsuite")
assert s.get("tests") == "4" and s.get("failures") == "0" and len(s.findall("testcase")) == 4
' || fail "report.xml: $(cat report.xml)"
expect 0 '' conform -d reference --suite suite.yaml --json
answers '(d["conforms"], d["states"]["pass"], d["trusted"], len(d["cases"]))' "(True, 4, 3, 4)"
answers '[(c["state"], c["empty"], c["trusted"]) for c in d["cases"] if c["name"] == "exp.empty"]' "[('pass', True, False)]"

# Nothing is kept on disk.
POLYHEAD_CACHE_DIR=$PWD/kept expect 0 '' conform -d reference --suite suite.yaml
[ ! -e kept ] || fail 'conform made the cache folder'
POLYHEAD_CACHE_DIR=$PWD/kept expect 0 '' run "$CONFIGS/five_words.yaml" -d reference
[ -e kept ] || fail 'run made no cache folder: the test above cannot fail'

# Nothing ran.
expect 1 '' conform -d reference --suite suite.yaml --filter 'tanh.*'
shows 'does not conform: nothing ran'

# A case as a config; the same inputs for the same seed, others for another.
expect 0 '' conform --suite suite.yaml --show 'relu.rows/n=5'
cp "$out" case.yaml
expect 0 '' compare case.yaml -d reference
expect 0 '' conform --suite suite.yaml --show 'relu.rows/n=5' --seed 3
cmp -s "$out" case.yaml && fail "another seed gives the same case"
expect 0 '' conform --suite suite.yaml --show 'relu.rows/n=?'
[ "$(grep -c '^---$' "$out")" -eq 1 ] || fail "--show of two: $(cat "$out")"

# A backend that is wrong: each line ends in the command that repeats it.
expect 1 '' conform -d mutant,node=y --plugin "$MUTANT" --suite suite.yaml --junit report.xml
command="polyhead conform -d mutant,node=y --plugin $MUTANT --suite suite.yaml --filter 'relu.rows/n=5' --seed 0"
shows "^fail  relu.rows/n=5: node 'y' \(relu, .*; again: $command\$"
shows 'does not conform$'
grep -q '<failure message="fail: ' report.xml || fail "report.xml: $(cat report.xml)"
expect 1 '' conform -d mutant,node=y --plugin "$MUTANT" --suite suite.yaml --filter 'relu.rows/n=5' --seed 0
shows ': 1 cases, 1 fail; '

# What it promises decides what that is called.
cat >fails.yaml <<'YAML'
expected_fail: [{case: '*', reason: everything is wrong}]
YAML
expect 0 '' conform -d mutant,node=y --plugin "$MUTANT" --suite suite.yaml --filter 'relu*' --required fails.yaml
shows '^expected-fail  relu.rows/n=5: everything is wrong; again: polyhead conform '
expect 1 '' conform -d reference --suite suite.yaml --required fails.yaml
shows '^unexpected-pass  add.one: everything is wrong; again: polyhead conform '
printf 'ops: [rellu]\n' >wrong.yaml
expect 2 "wrong.yaml:1:7: error: there is no op 'rellu'" conform -d reference --suite suite.yaml --required wrong.yaml

# Refused: unsupported, unless it was promised.
expect 0 '' conform -d mutant,refuse=relu --plugin "$MUTANT" --suite suite.yaml
shows '^unsupported  relu.rows/n=5: node .y. \(relu\): '
expect 1 '' conform -d mutant,refuse=relu --plugin "$MUTANT" --suite suite.yaml --filter 'relu*'
shows 'does not conform: nothing ran'
printf 'ops: [relu]\n' >relu.yaml
expect 1 '' conform -d mutant,refuse=relu --plugin "$MUTANT" --suite suite.yaml --required relu.yaml
shows '^fail  relu.rows/n=1: relu must be supported, but: '

# A device without room for the guard bands cannot be judged; that is no fault of it, but no pass either.
if has_device opencl:portable; then
  expect 1 '' conform -d opencl:portable,max_alloc=8192 --suite suite.yaml --filter 'relu.rows/n=5'
  shows '^unavailable  relu.rows/n=5: .* guard bands do not fit'
fi
finish
