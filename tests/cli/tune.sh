#!/usr/bin/env bash
# tune: what it measures is kept, is used from then on, can be left out; an interrupted run goes on.
source "$(dirname "$0")/common.sh"

expect 3 'has no variants to choose from' tune -d reference
expect 3 'no backend' tune -d nowhere
refuse "does not know what to do with 'configs'" tune configs
refuse "takes no option '--iters'" tune --iters 1
has_device pocl || { printf 'SKIPPED: there is no device pocl\n'; finish; }

expect 0 '' tune -d pocl --quick --json
answers 'd["device"]["spec"]' pocl:0
answers 'len(d["rows"]) > 0 and all(r["shape_class"].startswith("cpu ") and r["gain"] >= 1 and r["cases"] > 0 for r in d["rows"])' True
kept=$(ls "$scratch"/cache/tune-*.txt | grep -v tune-part)
grep -q '^row cpu linear f32 rows 1 weight 256K+ : ' "$kept" || fail "no row for one token in $kept"

# Another order in the file is another variant in the plan.
cat >node.yaml <<'YAML'
polyhead: 1
name: node
inputs: {x: {shape: [1, 768], default: {random: normal, seed: 1}}}
weights: {tensors: {w: {shape: [768, 768], init: {random: normal, seed: 2}}}}
graph: [{name: y, op: linear, inputs: [x, w]}]
outputs: [y]
YAML
sed -i 's/^row cpu linear f32 rows 1 weight 256K+ : .*/row cpu linear f32 rows 1 weight 256K+ : gone plain/' "$kept"
expect 0 '' check node.yaml -d pocl
shows '^y +linear .* plain +measured: cpu linear f32 rows 1 weight 256K\+$'
expect 0 '' check node.yaml -d pocl,tune=none --json
answers '(d["nodes"][0]["order"], d["nodes"][0]["variant"] != "plain")' "('default', True)"
expect 0 '' check node.yaml -d "pocl,tune=none,variant=plain" --json
answers '(d["nodes"][0]["order"], d["nodes"][0]["variant"])' "('option', 'plain')"
printf 'row cpu linear f32 rows 1 weight 256K+ : plain\n' >mine.txt
expect 0 '' check node.yaml -d "pocl,tune=$PWD/mine.txt" --json
answers '(d["nodes"][0]["order"], d["nodes"][0]["variant"])' "('measured', 'plain')"
expect 2 'absent.txt' check node.yaml -d pocl,tune=absent.txt

# What an interrupted run has measured is not measured again.
for part in "$scratch"/cache/tune-part-*.txt; do
  printf 'case tune.linear/m=1,n=768,k=768 : cpu linear f32 rows 1 weight 256K+ : blocked=3 plain=1.5\n' >>"$part"
done
expect 0 '' tune -d pocl --quick --json
answers '[(r["best"], r["usual"], round(r["gain"], 2)) for r in d["rows"] if "rows 1 " in r["shape_class"]]' "[('plain', 'blocked', 2.0)]"
expect 0 '' check node.yaml -d pocl
shows '^y +linear .* plain +measured: '
finish
