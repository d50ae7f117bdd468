#!/usr/bin/env bash
# golden.sh DEVICE CONFIG OUTPUT EXPECTED LIMIT: runs a config on the real weights of stories260k and compares one output
# with the values that an independent program computed.  The model is sought in ../shared beside the checkout, or in
# $POLYHEAD_SHARED; where it is absent this exits with 77.  $POLYHEAD, $CONFIGS and $NPY_CLOSE are set by CMake.
set -euo pipefail
device=$1 config=$2 output=$3 expected=$4 limit=$5
model=${POLYHEAD_SHARED:-$CONFIGS/../../shared}/models/stories260k
if [ ! -e "$model/model.safetensors" ]; then
  printf 'SKIPPED: %s is absent; set POLYHEAD_SHARED to the folder that holds models/stories260k\n' "$model"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$POLYHEAD" run "$CONFIGS/$config" -d "$device" --weights "$model/model.safetensors" -i "ids=$model/input_ids.npy" \
  -o "$output=$work/output.npy"
"$NPY_CLOSE" "$work/output.npy" "$model/$expected" "$limit"
