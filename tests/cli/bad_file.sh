#!/usr/bin/env bash
# Tensor files that are missing, cut off or lie, and values that are out of bounds.
source "$(dirname "$0")/common.sh"
cat >table.yaml <<'YAML'
polyhead: 1
dims: {rows: 2, columns: 3}
inputs:
  x: {shape: [rows, columns]}
  ids: {shape: [rows], dtype: i64, default: {values: [0, 1]}}
weights:
  file: weights.safetensors
  tensors:
    table: {shape: [4, columns], key: the.table}
graph:
  - {name: picked, op: embedding, inputs: [ids, table]}
  - {name: y, op: add, inputs: [picked, x]}
outputs: [y]
YAML
f32=$(zeros 24) # [2, 3]
npy '<f4' '(2, 3)' "$f32" >x.npy
safetensors '{"the.table":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]}}' "$(zeros 48)" >weights.safetensors
expect 0 '' run table.yaml -d reference -i x=x.npy

# refuse_x PATTERN: the x.npy on standard input
refuse_x() {
  cat >bad.npy
  refuse "bad.npy.*($1)" run table.yaml -d reference -i x=bad.npy -o y=y.npy
}
refuse "missing.npy.*No such file" run table.yaml -d reference -i x=missing.npy -o y=y.npy
refuse "'a:b/missing.npz'.*No such file" run table.yaml -d reference -i x=a:b/missing.npz -o y=y.npy
refuse "'?x'?.*(required|-i x=)" run table.yaml -d reference -o y=y.npy
refuse "xx.*'?x'?" run table.yaml -d reference -i xx=x.npy -o y=y.npy
refuse_x "empty" </dev/null
refuse_x "no .npy" < <(printf 'hello, world, this is no tensor\n')
refuse_x "24 bytes|cut off|needs" < <(npy '<f4' '(2, 3)' "$(zeros 23)")
refuse_x "bytes" < <(npy '<f4' '(2, 3)' "$(zeros 25)")
refuse_x "cut off" < <(head -c 20 x.npy)
refuse_x "too large|bytes" < <(npy '<f4' '(8589934592, 8589934592)' "$f32")
refuse_x "64 bits" < <(npy '<f4' '(99999999999999999999, 3)' "$f32")
refuse_x "negative" < <(npy '<f4' '(-2, 3)' "$f32")
refuse_x "tuple" < <(npy '<f4' '(6)' "$f32")
refuse_x "big-endian" < <(npy '>f4' '(2, 3)' "$f32")
refuse_x "f64" < <(npy '<f8' '(2, 3)' "$(zeros 48)")
refuse_x "not taken|type" < <(npy '|O' '(2, 3)' "$f32")
refuse_x "axes" < <(npy '<f4' '(1, 1, 1, 1, 1, 1, 1, 2, 3)' "$f32")
refuse_x "dict|key" < <(npy "<f4', 'x': 'y" '(2, 3)' "$f32")

# refuse_given PATTERN NAME: an input that is sound but not what the config declares
refuse_given() {
  cat >given.npy
  refuse "$1" run table.yaml -d reference -i "$2=given.npy" -i "${3:-x=x.npy}" -o y=y.npy
}
refuse_given "x.*f32.*i64|x.*i64.*f32" x ids=given.npy < <(npy '<i8' '(2, 3)' "$(zeros 48)")
refuse_given "ids.*i64.*f32|ids.*f32.*i64" ids < <(npy '<f4' '(2,)' "$(zeros 8)")
refuse_given "x.*(\[6\]|rank|axes)" x ids=given.npy < <(npy '<f4' '(6,)' "$f32")
npy '<i8' '(2,)' "$(zeros 16)" >ids.npy
refuse_given "rows|\[3, 3\]" x ids=ids.npy < <(npy '<f4' '(3, 3)' "$(zeros 36)")
refuse_given "columns|\[2, 4\]|\[4, 3\]|\[4, 4\]" x ids=ids.npy < <(npy '<f4' '(2, 4)' "$(zeros 32)")

# refuse_weights PATTERN: the file on standard input
refuse_weights() {
  cat >bad.safetensors
  refuse "bad.safetensors.*($1)" run table.yaml -d reference -i x=x.npy --weights bad.safetensors -o y=y.npy
}
entry='"the.table":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]}'
data=$(zeros 48)
refuse "none.safetensors.*No such file" run table.yaml -d reference -i x=x.npy --weights none.safetensors -o y=y.npy
refuse_weights "empty|0 bytes" </dev/null
refuse_weights "cut off|bytes" < <(printf 'abc')
refuse_weights "no .npy|'\{'|begin" < <(little_endian 8 0; printf '%b' "$data")
refuse_weights "header" < <(printf '\xff\xff\xff\xff\xff\xff\xff\xff{}%b' "$data")
refuse_weights "header" < <(little_endian 8 4096; printf '{%s}%b' "$entry" "$data")
refuse_weights "JSON" < <(safetensors "{$entry" "$data")
refuse_weights "JSON|twice|duplicate" < <(safetensors "{$entry,$entry}" "$data")
refuse_weights "the.table.*needs" < <(safetensors '{"the.table":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,48]}}' "$data")
refuse_weights "the.table.*(large|overflow|axis)" < <(safetensors '{"the.table":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,48]}}' "$data")
refuse_weights "the.table.*ends" < <(safetensors '{"the.table":{"dtype":"F32","shape":[4,3],"data_offsets":[48,0]}}' "$data")
refuse_weights "the.table.*ends at byte" < <(safetensors '{"the.table":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]}}' "$(zeros 40)")
refuse_weights "overlap" < <(safetensors "{$entry,\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[32,48]}}" "$data")
refuse_weights "the.table.*(F8|type)" < <(safetensors '{"the.table":{"dtype":"F8_E4M3","shape":[48],"data_offsets":[0,48]}}' "$data")
# Sound files that lack what is asked for say so at the config's place.
safetensors '{"a.table":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]}}' "$data" >other.safetensors
refuse "table.yaml:9:[0-9]+: error: .*the.table.*a.table" run table.yaml -d reference -i x=x.npy --weights other.safetensors -o y=y.npy
safetensors '{"the.table":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}}' "$data" >turned.safetensors
refuse "table.yaml:9:[0-9]+: error: .*\[3, 4\]" run table.yaml -d reference -i x=x.npy --weights turned.safetensors -o y=y.npy

# .npz: cut off, and keys
expect 0 '' run table.yaml -d reference -i x=x.npy -o y=all.npz -o picked=all.npz
expect 0 '' run table.yaml -d reference -i x=all.npz:y
refuse "all.npz.*no tensor 'x'.*-i x=all.npz:(y|picked)" run table.yaml -d reference -i x=all.npz -o y=y.npy
refuse "no tensor 'yy'.*-i x=all.npz:y" run table.yaml -d reference -i x=all.npz:yy -o y=y.npy
refuse "without a name" run table.yaml -d reference -i x=x.npy:x -o y=y.npy
for size in 1 30 100 200 300; do
  head -c $size all.npz >cut.npz
  refuse "cut.npz" run table.yaml -d reference -i x=cut.npz:y -o y=y.npy
done

# Ids outside the table: the same message on every device, before anything runs.
npy '<i8' '(2,)' "\x01$(zeros 7)\x04$(zeros 7)" >over.npy
npy '<i8' '(2,)' "\x01$(zeros 7)\xff\xff\xff\xff\xff\xff\xff\xff" >under.npy
for ids in over under; do
  first=
  for device in reference pocl opencl:portable; do
    has_device "$device" || { printf 'SKIPPED: there is no device %s\n' "$device"; continue; }
    expect 2 'table.yaml:11:[0-9]+: error: .*ids.* (4|-1),' run table.yaml -d "$device" -i x=x.npy -i ids=$ids.npy -o y=y.npy
    [ ! -e y.npy ] || fail "an id outside the table left a file"
    [ -n "$first" ] || first=$(cat "$err")
    [ "$first" = "$(cat "$err")" ] || fail "$device says something else: $(cat "$err")"
  done
done

# The same of lengths and offsets outside a cache.
cat >cache.yaml <<'YAML'
polyhead: 1
dims: {slots: 4, seq: 2}
inputs:
  cache: {shape: [1, 1, slots, 3], default: {fill: 0}}
  new: {shape: [1, 1, seq, 3], default: {fill: 1}}
  past: {shape: [1], dtype: i64, default: {fill: 2}}
  lengths: {shape: [1], dtype: i64, default: {fill: 4}}
graph:
  - {name: keys, op: cache_write, inputs: [cache, new, past]}
  - {name: y, op: attention, inputs: {q: new, k: keys, v: keys, lengths: lengths, offset: past}, causal: true}
outputs: [y]
YAML
npy '<i8' '(1,)' "\x03$(zeros 7)" >three.npy
npy '<i8' '(1,)' "\x05$(zeros 7)" >five.npy
npy '<i8' '(1,)' '\xff\xff\xff\xff\xff\xff\xff\xff' >minus.npy
for device in reference pocl opencl:portable; do
  has_device "$device" || continue
  expect 0 '' run cache.yaml -d "$device"
  expect 2 'cache.yaml:9:[0-9]+: error: .*offset.*3' run cache.yaml -d "$device" -i past=three.npy -o y=y.npy
  expect 2 'cache.yaml:9:[0-9]+: error: .*offset.*-1' run cache.yaml -d "$device" -i past=minus.npy -o y=y.npy
  expect 2 'cache.yaml:10:[0-9]+: error: .*lengths.*5' run cache.yaml -d "$device" -i lengths=five.npy -o y=y.npy
  expect 2 'cache.yaml:10:[0-9]+: error: .*lengths.*-1' run cache.yaml -d "$device" -i lengths=minus.npy -o y=y.npy
  [ ! -e y.npy ] || fail "an offset outside the cache left a file on $device"
done
finish
