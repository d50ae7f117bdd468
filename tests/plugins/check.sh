#!/usr/bin/env bash
# polyhead plugins check: a whole plugin passes, and of a broken one the very check that it breaks fails, in one line that
# says what was found and how to cure it.  $MODULES holds the broken ones, $REFERENCE is a whole one.
source "$(dirname "$0")/../cli/common.sh"

# breaks CHECK PATTERN FILE: this check alone fails, and what it says matches.
breaks() {
  expect 1 '' plugins check "$3"
  [ "$(grep -c '^fail ' "$out")" -eq 1 ] || fail "$3: not one check fails but: $(grep '^fail ' "$out")"
  shows "^fail  $1 .*$2.*; cure: .+"
  shows "failed \(1 of the checks\)$"
}
module() { breaks "$1" "$2" "$MODULES/$3.so"; }

expect 0 '' plugins check "$REFERENCE"
[ "$(grep -c '^pass ' "$out")" -ge 20 ] || fail "few checks: $(cat "$out")"
shows ': well made$'
expect 0 '' plugins check "$REFERENCE" --json
answers 'd["pass"], {c["state"] for c in d["checks"]}, d["checks"][0]["name"]' "(True, {'pass'}, 'file')"

# What the loader refuses.
printf 'This is no library.\n' >text.so
chmod 644 text.so
breaks library 'cannot be loaded: .*text.so' text.so
breaks file 'No such file' nowhere.so
cp "$MODULES/good.so" writable.so
chmod 664 writable.so
breaks file 'others may write to it' writable.so
module library 'ph_backend_query' plain
module library 'undefined symbol' unresolved
module query 'gives nothing for ABI 1.1' refuses_abi
module version 'plugin ABI 2.0' next_major
module version 'plugin ABI 0.9' last_major
module version '4 bytes is too short' tiny_size
module size 'needs at least' short_size
module entries "'supports' is NULL" null_entry
module name 'Odd-Name' odd_name
expect 1 '' plugins check "$MODULES/next_major.so"
shows "^skip  open +not tried, as 'version' failed$"

# What fails in its life.
module open 'the stub was told to fail' fails_to_open
module open 'did not say why' fails_in_silence
module devices 'the driver was lost' fails_to_count
module devices 'alignment of 48 bytes' wrong_alignment
module device 'the device is busy' gpu_busy
expect 3 '' plugins check "$MODULES/no_device.so"
shows '^skip  devices +it finds no device'
shows '^skip  smoke '
module exports '1 more symbol: faulty_helper' exports_more
module major 'host of ABI 2.0' any_major
module entries 'buffer_map is there without buffer_unmap' half_map
module devices 'writes past the members' long_info
module option 'takes the unknown option' takes_option
module null 'ended the process: Aborted' crashes_on_null
module queue 'ended the process with the exit code 7' exits
module buffer 'not what was written' rounds_offset
module map 'PH_CAP_UNIFIED_MEMORY, but no buffer_map' no_map
module map 'mapping a buffer over host memory does not bring the bytes there' wrap_copies
module memory '2\^64 - 9 bytes' huge_buffer
module close 'gave the same context' one_context
module smoke 'refuses all [0-9]+ cases; the first because: ' refuses_all
shows '^skip  run '
module silence "printed 'Welcome to the faulty backend!'" prints

# A fault in supports() or in a result is seen again in the smoke test.
for pair in refuses_in_silence:supports knows_all:supports off_by_one:run wrong:run; do
  expect 1 '' plugins check "$MODULES/${pair%:*}.so"
  shows "^fail  ${pair#*:} "
done
shows '^fail  run +add of f32 \[2, 3\]: y\[0, 0\] is .*, and should be '
shows "^fail  smoke .*; cure: repeat it: polyhead conform --plugin .*wrong.so -d wrong --filter '"
expect 1 '' plugins check "$MODULES/wrong.so" --json
answers '[c["name"] for c in d["checks"] if c["state"] == "fail"], d["pass"]' "(['run', 'smoke'], False)"

# A table that ends before the optional functions, as an old binary's does: whole, and nothing behind its end is read.
expect 0 '' plugins check "$MODULES/old.so"
shows "^pass  map +there is none"
expect 0 '' compare "$CONFIGS/multi_head_attention.yaml" -d old --plugin "$MODULES/old.so"

# A backend that refuses everything is no harm: one line says so, and the reference may stand in for it.
expect 3 'nothing is supported; take another device' run "$CONFIGS/five_words.yaml" -d refuses_all --plugin "$MODULES/refuses_all.so"
expect 0 'nothing is supported; take another device' run "$CONFIGS/five_words.yaml" -d refuses_all --plugin "$MODULES/refuses_all.so" --fallback reference
expect 1 '' conform -d refuses_all --set tiny --filter 'add*' --plugin "$MODULES/refuses_all.so"
shows '^does not conform: nothing ran$'

expect 2 "plugins check FILE" plugins chekc "$REFERENCE"
expect 2 "plugins check FILE" plugins check
finish
