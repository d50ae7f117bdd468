#!/usr/bin/env bash
# bench: a row for each case and device, JSON, and what it refuses.
source "$(dirname "$0")/common.sh"
config=$CONFIGS/five_words.yaml

expect 0 '' bench "$config" -d reference --iters 3 --warmup 1
shows '^case +device +prepare +first +median +p10 +p90 '
shows 'five_words.yaml +reference:0 '
expect 0 '' bench "$config" -d reference --iters 3 --json
answers '[(e["device"], e["status"], e["run"]["count"], e["wrong"]) for e in d["results"]]' "[('reference:0', 'ok', 3, False)]"
answers 'e["run"]["least"] <= e["run"]["p10"] <= e["run"]["median"] <= e["run"]["p90"] if (e := d["results"][0]) else 0' True
answers 'min(d["results"][0][name] for name in ("prepare", "first", "flops", "bytes", "gflops", "nodes")) > 0' True

# Suites: their cases by name, each on all devices.
cat >suite.yaml <<'YAML'
polyhead_suite: 1
cases:
  - name: small
    op: add
    sets: [smoke]
    vary: {n: {smoke: [3], full: [5]}}
    dims: {n: 3}
    inputs: {a: [n], b: [n]}
    node: {inputs: [a, b]}
YAML
expect 0 '' bench suite.yaml --list
[ "$(cat "$out")" = 'small/n=3' ] || fail "--list: $(cat "$out")"
expect 0 '' bench suite.yaml -d reference -d reference --iters 1 --set full --json
answers '[e["case"] for e in d["results"]]' "['small/n=3', 'small/n=3', 'small/n=5', 'small/n=5']"
expect 0 '' bench bench_linear --list
grep -q '^linear.square/' "$out" && ! grep -qv '^linear\|^matmul' "$out" || fail "bench_linear: $(cat "$out")"
expect 0 '' bench --list --json
answers '{"linear", "attention", "layer"} <= {name.split(".")[0] for name in d["cases"]}' True
# A case that is no config costs no other case its figures.
sed 's/    node: {inputs: \[a, b\]}/    node: {inputs: [a, b], loudly: $n}/; s/\[3\]/[3, 4]/' suite.yaml >wrong.yaml
expect 2 '' bench wrong.yaml suite.yaml -d reference --iters 1
shows "^invalid  small/n=4 on reference:0: .*loudly"
shows '^small/n=3 +reference:0 .* double$'
# Every case is a config.
for suite in "$CONFIGS"/suites/bench_*.yaml "$CONFIGS"/suites/tune.yaml; do
  expect 0 '' conform --suite "$suite" --set full --show '*' --json
  python3 -c 'import json, sys
for number, text in enumerate(json.load(sys.stdin)["configs"].values()):
    # Small enough to make up the weights of a hundred cases.
    print(text, file=open(f"case{number}.yaml", "w"))' <"$out"
  for case in case*.yaml; do
    small=$(grep -oE '\b(m|n|k|s|sk|sq|r): ([0-9]{4,}|7[0-9]{2})' "$case" | grep -oE '^[a-z]+' | sort -u | sed 's/.*/--dim &=64/')
    # shellcheck disable=SC2086
    expect 0 '' check "$case" -d reference $small
  done
  rm -f case*.yaml
done
# They are no conformance cases.
"$POLYHEAD" conform --list --set full | grep -q '^linear.square/m=2048' && fail "conform has the cases of bench"

# --plot: lines over the one number that differs, else bars.
expect 0 '' bench suite.yaml -d reference --iters 1 --set full --plot lines.svg
python3 - <<'PY' || fail 'lines.svg is not what it should be'
import xml.etree.ElementTree as tree
svg = '{http://www.w3.org/2000/svg}'
root = tree.parse('lines.svg').getroot()
tips = [t.text for t in root.iter(svg + 'title')]
assert [t.rsplit(':', 1)[0] for t in tips] == ['small, 3', 'small, 5'], tips
words = [t.text for t in root.iter(svg + 'text')]
assert {'time of one run on reference:0', 'n', '3', '5', 'small'} <= set(words), words
PY
expect 0 '' bench suite.yaml "$config" -d reference --iters 1 --plot bars.svg
python3 - <<'PY' || fail 'bars.svg is not what it should be'
import xml.etree.ElementTree as tree
root = tree.parse('bars.svg').getroot()
tips = [t.text for t in root.iter('{http://www.w3.org/2000/svg}title')]
assert len(tips) == 2 and tips[0] == 'small/n=3' and tips[1].endswith('five_words.yaml'), tips
PY
refuse 'nowhere' bench suite.yaml -d reference --plot nowhere/a.svg

# A backend that refuses or fails is reported, and the others run.
expect 3 'no device|no backend|there is no' bench "$config" -d nowhere --iters 1
refuse "there is no case 'smal'" bench suite.yaml --filter smal
refuse "there is no set 'big'" bench suite.yaml --set big
refuse '--iters takes an integer of 1 or more' bench "$config" --iters 0
refuse '--warmup takes an integer of 0 or more' bench "$config" --warmup -1
refuse "cannot (open|read) " bench absent.yaml
refuse "takes no option '--head'" bench "$config" --head 1
refuse "has no input 'nothing'|no such|cannot" bench "$config" -i nothing=absent.npy
finish
