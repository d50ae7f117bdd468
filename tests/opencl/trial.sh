#!/usr/bin/env bash
# A driver that miscompiles, R073 and R064: kernels with a fault put into one variant.  Its trial must find it, say so, and
# leave the work to the next variant, whose answers are right.  POLYHEAD, KERNELS, CONFIGS and a scratch folder are given.
set -u

folder=$(mktemp -d "${TMPDIR:-/tmp}/polyhead-trial-XXXXXX")
trap 'rm -rf "$folder"' EXIT
export POLYHEAD_CACHE_DIR=$folder/cache
mkdir -m 700 "$POLYHEAD_CACHE_DIR"
mkdir "$folder/kernels"
cp "$KERNELS"/*.cl "$folder/kernels"
chmod -R go-w "$folder/kernels"
device=opencl:portable
"$POLYHEAD" devices --json 2>/dev/null | grep -q '"opencl:' || exit 77

fail() {
  echo "FAILED: $1"
  cat "$folder/out"
  exit 1
}

# Every product of the variant `blocked` is doubled, and of no other.
sed -i '/^#ifdef BLOCKED$/a #undef ADD_PRODUCT\n#define ADD_PRODUCT(sum, a, b) sum += 2.0f * (a) * (b)' "$folder/kernels/product.cl"
for round in 1 2; do # a verdict against a variant is not kept: it is found out again
  POLYHEAD_KERNEL_DIR=$folder/kernels "$POLYHEAD" compare "$CONFIGS/self_attention.yaml" -d $device >"$folder/out" 2>&1 ||
    fail "round $round: what runs instead is wrong"
  grep -q 'the variant blocked is passed over on .*: a trial gives ' "$folder/out" || fail "round $round: the fault is not seen"
done

"$POLYHEAD" compare "$CONFIGS/self_attention.yaml" -d $device >"$folder/out" 2>&1 || fail 'without a fault it is wrong'
grep -q 'is passed over' "$folder/out" && fail 'a good variant is passed over'
"$POLYHEAD" check "$CONFIGS/self_attention.yaml" -d $device >"$folder/out" 2>&1
grep -q 'blocked' "$folder/out" || fail 'check does not name the variant'
echo 'the faulty variant is found out, and no other'
