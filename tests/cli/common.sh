# shellcheck shell=bash
# What the tests of the command share; they source it.  $POLYHEAD is the command, $CONFIGS the folder of the configs,
# $MUTANT a backend that is wrong on purpose.
set -uo pipefail
: "${POLYHEAD:?}" "${CONFIGS:?}" "${MUTANT:?}"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work" "$scratch/log" "$scratch/cache"
out=$scratch/log/out err=$scratch/log/err
cd "$scratch/work" || exit 1
export POLYHEAD_CACHE_DIR=$scratch/cache LC_ALL=C.UTF-8
unset POLYHEAD_PLUGIN_PATH POLYHEAD_LOG NO_COLOR
failures=0

# fail TEXT...: one thing was wrong; the test goes on.
fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

# skip REASON...: ends the test as skipped; as failed where all devices are required.
skip() {
  printf 'SKIPPED: %s\n' "$*"
  [ -z "${POLYHEAD_TEST_REQUIRE_DEVICES-}" ] || { printf 'FAILED: POLYHEAD_TEST_REQUIRE_DEVICES is set\n'; exit 1; }
  exit 77
}

# expect CODE PATTERN WORD...: `polyhead WORD...` exits with CODE, and its standard error has a line that matches PATTERN
# (an empty one: has nothing).  Leaves the streams in $out and $err.
expect() {
  local code=$1 pattern=$2 got=0
  shift 2
  "$POLYHEAD" "$@" >"$out" 2>"$err" || got=$?
  if [ "$got" -ne "$code" ]; then
    fail "polyhead $*: exit $got, not $code"
    head -c 2000 "$err"
  elif [ -n "$pattern" ] && ! grep -qE -- "$pattern" "$err"; then
    fail "polyhead $*: no message like '$pattern':"
    head -c 2000 "$err"
  elif [ -z "$pattern" ] && [ -s "$err" ]; then
    fail "polyhead $*: unexpected message:"
    head -c 2000 "$err"
  fi
}

# refuse PATTERN WORD...: like expect 2, takes less than a second of this machine, and leaves no file behind.
refuse() {
  local before after
  before=$(ls -A)
  TIMEFORMAT='%U %S'
  { time expect 2 "$@"; } 2>"$scratch/log/time"
  after=$(ls -A)
  [ "$before" = "$after" ] || fail "polyhead ${*:2}: files appeared: $after"
  awk '{ exit !($1 + $2 < 1) }' "$scratch/log/time" || fail "polyhead ${*:2}: took too long: $(cat "$scratch/log/time") s"
}

# shows PATTERN: the standard output of the last command has such a line.
shows() {
  grep -qE -- "$1" "$out" && return
  fail "the output has no line like '$1':"
  head -c 4000 "$out"
}

# query EXPRESSION: what this Python expression says of `d`, the JSON document that the last command printed.
query() {
  python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1" <"$out"
}

# answers EXPRESSION TEXT: query gives this.
answers() {
  local got
  got=$(query "$1" 2>&1) || true
  [ "$got" = "$2" ] && return
  fail "$1 is $got, not $2, in:"
  head -c 4000 "$out"
}

# has_device SPEC
has_device() {
  "$POLYHEAD" check "$CONFIGS/five_words.yaml" -d "$1" >/dev/null 2>&1
}

# little_endian BYTES VALUE: an integer as raw bytes.
little_endian() {
  local i value=$2
  for ((i = 0; i < $1; i++)); do
    printf '%b' "\\x$(printf '%02x' $((value & 255)))"
    value=$((value >> 8))
  done
}

# npy TYPE SHAPE BYTES: a .npy, version 1; BYTES as printf's %b takes them.
npy() {
  local header
  header=$(printf "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" "$1" "$2")
  printf '\x93NUMPY\x01\x00'
  little_endian 2 $((${#header} + 1))
  printf '%s\n%b' "$header" "$3"
}

# safetensors HEADER BYTES
safetensors() {
  little_endian 8 ${#1}
  printf '%s%b' "$1" "$2"
}

# zeros COUNT: that many zero bytes, as %b takes them.
zeros() {
  printf '\\x00%.0s' $(seq "$1")
}

finish() {
  [ "$failures" -eq 0 ] || printf '%d failed\n' "$failures"
  exit $((failures > 0))
}
