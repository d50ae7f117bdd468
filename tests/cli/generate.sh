#!/usr/bin/env bash
# polyhead generate on a made-up model of eight letters: prompts, stops, full caches, sampling, and every refusal in words.
source "$(dirname "$0")/common.sh"

# Each token wants the next letter: the logits of id are the row id of `next`.
cat >letters.yaml <<'YAML'
polyhead: 1
dims: {batch: 1, seq: 1, slots: 12, size: 8}
inputs:
  ids: {dtype: i64, shape: [batch, seq]}
  past: {dtype: i64, shape: [batch], default: {fill: 0}}
weights:
  tensors:
    next:
      shape: [size, size]
      init: {values: [[0, 9, 0, 0, 0, 0, 0, 0], [0, 0, 9, 0, 0, 0, 0, 0], [0, 0, 0, 9, 0, 0, 0, 0], [0, 0, 0, 0, 9, 0, 0, 0],
                      [0, 0, 0, 0, 0, 9, 0, 0], [0, 0, 0, 0, 0, 0, 9, 0], [0, 9, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1]]}
state:
  cache: {shape: [batch, 1, slots, size], next: kept}
graph:
  - {name: logits, op: embedding, inputs: [ids, next]}
  - {name: heads, op: split_heads, inputs: [logits], heads: 1}
  - {name: kept, op: cache_write, inputs: [cache, heads, past]}
outputs: [logits]
generate: {ids: ids, past: past, logits: logits, vocabulary: letters.json, start: <s>, stop: [</s>]}
YAML
printf '["<s>", "a", "b", "\xe5\xb0\x8f", "d", "e", "</s>", "x"]' >letters.json
letters=(generate letters.yaml -d reference)

# From <s> to </s>; the prompt is part of the text.
expect 0 'prompt: 1 token in .* s; then 6 tokens in .* s, .* tokens/s' "${letters[@]}"
[ "$(cat "$out")" = 'ab小de' ] || fail "not the letters: $(cat "$out")"
expect 0 'prompt: 4 tokens' "${letters[@]}" --prompt 'ab小'
[ "$(cat "$out")" = 'ab小de' ] || fail "not the prompt and the rest: $(cat "$out")"
expect 0 '' "${letters[@]}" --prompt-ids '4, 5' --greedy --json
answers 'd["prompt_ids"], d["ids"], d["text"], d["stopped"]' "([4, 5], [6], 'de', 'stop token')"
npy '<i8' '(2,)' "$(printf '\\x04%s\\x05%s' "$(zeros 7)" "$(zeros 7)")" >ids.npy
npy '<i8' '(1, 2)' "$(printf '\\x04%s\\x07%s' "$(zeros 7)" "$(zeros 7)")" >row.npy
expect 0 '' "${letters[@]}" --prompt-ids ids.npy --json
answers 'd["ids"]' '[6]'
expect 0 '' "${letters[@]}" --tokens 3 --json
answers 'd["ids"], d["text"], d["stopped"]' "([1, 2, 3], 'ab小', 'tokens')"
expect 0 '' "${letters[@]}" --tokens 1 --json
answers 'd["ids"], d["tokens_per_second"]' '([1], 0.0)'

# The end of the caches: twelve tokens are fed, one more comes out.
sed 's/stop: \[.*\]/stop: []/' letters.yaml >endless.yaml
endless=(generate endless.yaml -d reference)
expect 0 'stopped: the model takes no more than 12 tokens' "${endless[@]}"
expect 0 '' "${endless[@]}" --json
answers 'len(d["prompt_ids"] + d["ids"]), d["stopped"]' "(13, 'capacity')"
expect 0 '' "${endless[@]}" --prompt-ids 1,2,3,4,5,6,1,2,3,4,5,6 --json
answers 'd["ids"], d["stopped"]' "([1], 'capacity')"
refuse 'the prompt has 13 tokens, and the model takes no more than 12' "${endless[@]}" --prompt-ids 1,2,3,4,5,6,1,2,3,4,5,6,1
expect 0 '' "${endless[@]}" --dim slots=40 --tokens 30 --json
answers 'len(d["ids"]), d["stopped"]' "(30, 'tokens')"

# A table of positions may end before the caches do.
sed -e 's/^  - {name: heads/  - {name: places, op: positions, inputs: {like: ids, offset: past}, start: 2}\n  - {name: place, op: embedding, inputs: [places, next]}\n&/' \
  -e 's/outputs: \[logits\]/outputs: [logits, place]/' endless.yaml >places.yaml
expect 0 'stopped: the model takes no more than 6 tokens' generate places.yaml -d reference

# Labels: the tokens that are fed.
sed 's/^generate/labels: {seq: {ids: ids, vocabulary: letters.json}}\n&/' letters.yaml >labels.yaml
expect 0 '' run labels.yaml -d reference -i ids=row.npy --json
answers 'd["outputs"][0]["labels"]' "[None, ['d', 'x'], None]"

# Draws: after x all are as likely.
drawn=("${letters[@]}" --prompt-ids 7 --tokens 1 --json)
declare -A seen=()
for seed in 1 2 3 4 5 6 7 8; do
  expect 0 '' "${drawn[@]}" --temperature 1 --seed $seed
  first=$(query 'd["ids"]')
  expect 0 '' "${drawn[@]}" --temperature 1 --seed $seed
  [ "$first" = "$(query 'd["ids"]')" ] || fail "seed $seed gives two answers"
  seen[$first]=1
done
[ ${#seen[@]} -ge 3 ] || fail "eight seeds give only ${!seen[*]}"
expect 0 '' "${drawn[@]}" --temperature 1 --top-k 1
answers 'd["ids"]' '[0]'
expect 0 '' "${drawn[@]}" --top-p 0.1
answers 'd["ids"]' '[0]'
expect 0 '' "${drawn[@]}" --temperature 0
answers 'd["ids"]' '[0]'

# Without the vocabulary ids are printed, as far as it is not needed.
mkdir bare
sed 's/start: <s>, stop: .*}/start: 0, stop: [6]}/' letters.yaml >bare/letters.yaml
expect 0 "'letters.json' lies neither beside the config nor beside the weights: ids are printed" generate bare/letters.yaml \
  -d reference
[ "$(cat "$out")" = '0 1 2 3 4 5' ] || fail "not the ids: $(cat "$out")"
refuse "--prompt needs the vocabulary 'letters.json'" generate bare/letters.yaml -d reference --prompt a
# It may lie beside the weights.
mkdir weights
cp letters.json weights
: >weights/w.npz
safetensors '{"unused":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' "$(zeros 4)" >weights/w.safetensors
expect 0 'then 6 tokens' generate bare/letters.yaml -d reference --weights weights/w.safetensors
[ "$(cat "$out")" = 'ab小de' ] || fail "the vocabulary beside the weights was not taken: $(cat "$out")"

# Refusals.
refuse "'é' is not in the vocabulary .*letters.json" "${letters[@]}" --prompt é
refuse 'has no section `generate`' generate "$CONFIGS/five_words.yaml" -d reference
refuse 'letters.yaml has no source' "${letters[@]}" --source a
refuse '--prompt and --prompt-ids say the same thing twice' "${letters[@]}" --prompt a --prompt-ids 1
refuse '--prompt-ids takes ids, 1,2,3, or a .npy file, not .1;2.' "${letters[@]}" --prompt-ids '1;2'
refuse '--prompt-ids holds no ids' "${letters[@]}" --prompt-ids ''
refuse 'is 99, but must lie between 0 and 7' "${letters[@]}" --prompt-ids 99
refuse '--tokens takes an integer of 1 or more, not .0.' "${letters[@]}" --tokens 0
refuse '--temperature takes a number of 0 or more, not .-1.' "${letters[@]}" --temperature -1
refuse '--temperature takes a finite number' "${letters[@]}" --temperature inf
refuse '--top-p takes a number from 0 to 1, not .2.' "${letters[@]}" --top-p 2
refuse '--top-k takes an integer of 1 or more, not .x.' "${letters[@]}" --top-k x
refuse '--greedy draws nothing' "${letters[@]}" --greedy --top-k 3
refuse '--seed takes an integer' "${letters[@]}" --seed -3
expect 3 "no backend 'nothing'" generate letters.yaml -d nothing
sed 's/start: <s>/start: <t>/' letters.yaml >no_start.yaml
refuse "'<t>', which .generate. names, is no token of .*letters.json" generate no_start.yaml -d reference
sed 's/\[0, 9, 0, 0, 0, 0, 0, 0\], \[1, 1/[0, nan, 0, 0, 0, 0, 0, 0], [1, 1/' endless.yaml >nan.yaml
expect 2 'the logits hold NaN or infinity' generate nan.yaml -d reference

# An encoder that reads a source.
sed -e 's/^  past:/  source: {dtype: i64, shape: [batch, far], hold: true}\n&/' -e 's/slots: 12/far: 1, &/' \
  -e 's/^outputs.*/  - {name: read, op: embedding, inputs: [source, next]}\n  - {name: pooled, op: mean, inputs: [read], axis: 1}\n  - {name: loud, op: mul, inputs: [pooled, 3]}\n  - {name: both, op: add, inputs: [logits, loud]}\noutputs: [both]/' \
  -e 's/logits: logits,/logits: both, source: source,/' letters.yaml >source.yaml
expect 0 '' generate source.yaml -d reference --source 'bbb' --tokens 2 --json
answers 'd["source_ids"], d["ids"]' '([2, 2, 2], [3, 3])'
refuse 'this model reads a source: give --source TEXT or --source-ids IDS' generate source.yaml -d reference
refuse '--source and --source-ids say the same thing twice' generate source.yaml -d reference --source b --source-ids 1
refuse 'the source is empty' generate source.yaml -d reference --source ''
finish
