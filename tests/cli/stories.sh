#!/usr/bin/env bash
# Real weights and ids, as the first page of the README would have them; needs the shared folder.
source "$(dirname "$0")/common.sh"
model=${POLYHEAD_SHARED:-$CONFIGS/../../shared}/models/stories260k
if [ ! -e "$model/model.safetensors" ]; then
  printf 'SKIPPED: %s is not there; POLYHEAD_SHARED may name the folder above it\n' "$model"
  exit 77
fi
words=(run "$CONFIGS/stories_layer0.yaml" -d reference --weights "$model/model.safetensors" -i "ids=$model/input_ids.npy")
expect 0 '' "${words[@]}" -o attention=w.npy
[ -s w.npy ] || fail 'no w.npy'
refuse "stories_layer0.yaml:[0-9]+:[0-9]+: error: weight 'embed'.*--weights" run "$CONFIGS/stories_layer0.yaml" -d reference -i "ids=$model/input_ids.npy" -o y=y.npy
head -c 100000 "$model/model.safetensors" >cut.safetensors
refuse 'cut.safetensors' run "$CONFIGS/stories_layer0.yaml" -d reference --weights cut.safetensors -i "ids=$model/input_ids.npy" -o y=y.npy
expect 0 '' check "${words[@]:1}"
shows '^attention +softmax +f32 \[1, 8, 64, 64\]'
expect 0 '' compare "${words[@]:1}"
shows 'agrees'
finish
