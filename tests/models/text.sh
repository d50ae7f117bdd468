#!/usr/bin/env bash
# text.sh DEVICE: `polyhead generate` tells the published story, id by id, and spells the published words.  $POLYHEAD is the
# command, $CONFIGS and $MODELS are folders; set by CMake.
set -euo pipefail
device=$1 stories=$MODELS/stories260k words=$MODELS/transliteration
if [ ! -e "$stories/model.safetensors" ]; then
  printf 'SKIPPED: %s is absent; set POLYHEAD_SHARED to the folder that holds models/ when configuring\n' "$stories"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$POLYHEAD" generate "$CONFIGS/models/stories260k.yaml" --weights "$stories/model.safetensors" -d "$device" --tokens 199 \
  --greedy >"$work/story" 2>"$work/speed"
grep -E '^prompt: 1 token in [0-9.]+ s; then 199 tokens in [0-9.]+ s, [0-9.]+ tokens/s$' "$work/speed"
"$POLYHEAD" generate "$CONFIGS/models/stories260k.yaml" --weights "$stories/model.safetensors" -d "$device" --tokens 199 \
  --json >"$work/story.json"
for word in 0 1; do
  source=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[int(sys.argv[2])]["word"])' "$words/cases.json" $word)
  "$POLYHEAD" generate "$CONFIGS/models/transliteration.yaml" --weights "$words/model.safetensors" -d "$device" \
    --source "$source" --json >"$work/word$word.json"
  "$POLYHEAD" generate "$CONFIGS/models/transliteration.yaml" --weights "$words/model.safetensors" -d "$device" \
    --source-ids "$words/word${word}_source_ids.npy" 2>/dev/null >"$work/word$word"
done
python3 - "$work" "$MODELS" <<'PYTHON'
import json
import struct
import sys

work, models = sys.argv[1:]

def ids(path):
    """The i64 numbers of a .npy."""
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return list(struct.unpack(f"<{(len(data) - start) // 8}q", data[start:]))

stories = f"{models}/stories260k"
story = open(f"{work}/story").read().removesuffix("\n")
document = json.load(open(f"{work}/story.json"))
expected = open(f"{stories}/expected_text.txt").read()
assert len(story) > 400 and expected.startswith(story), story
assert document["text"] == story
assert document["prompt_ids"] + document["ids"] == ids(f"{stories}/expected_greedy_ids.npy"), document["ids"]
assert document["stopped"] == "tokens"
for index, case in enumerate(json.load(open(f"{models}/transliteration/cases.json"))):
    document = json.load(open(f"{work}/word{index}.json"))
    assert document["text"] == case["latin"], document
    assert document["stopped"] == "stop token"
    folder = f"{models}/transliteration/word{index}"
    assert document["source_ids"] == ids(f"{folder}_source_ids.npy")
    assert document["prompt_ids"] + document["ids"] == ids(f"{folder}_target_ids.npy")
    assert open(f"{work}/word{index}").read() == case["latin"] + "\n"
PYTHON
