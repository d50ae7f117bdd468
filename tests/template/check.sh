#!/usr/bin/env bash
# check.sh BUILD WORK GUIDE LIBDIR FLAGS: a stranger installs Polyhead and follows the backend author's guide to the end; then the
# conformance of what came of it is looked at more closely.
set -euo pipefail
build=$1 work=$2 guide=$3 libdir=$4 flags=$5
here=$(cd "$(dirname "$0")" && pwd)

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

umask 022
rm -rf "$work"
mkdir -p "$work/scratch"
cmake --install "$build" --prefix "$work/prefix" >/dev/null
unset POLYHEAD_PLUGIN_PATH
export POLYHEAD_CACHE_DIR=$work/cache
# The leak check of GCC 12 falls over thread-local storage where one library more is loaded than usual.
export LSAN_OPTIONS="${LSAN_OPTIONS:+$LSAN_OPTIONS:}use_tls=0"
# -Werror: what the template is warned of, everybody who copies it is warned of.
python3 "$here/follow.py" "$guide" "$work/prefix" "$work/scratch" "-Werror -Wshadow $flags" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail 'a command of the guide fails'; }

# The guide ended by installing the plugin: now it is found by itself.
polyhead=$work/prefix/bin/polyhead
"$polyhead" conform -d mine --filter 'softmax*' --json >"$work/softmax.json" || { cat "$work/softmax.json"; fail conform; }
python3 - "$work/softmax.json" <<'END' || fail 'softmax was not put to the test'
import json, sys
document = json.load(open(sys.argv[1]))
states, softmax = document["states"], [op for op in document["ops"] if op["op"] == "softmax"][0]
print(states, softmax)
sys.exit(not (document["conforms"] and states["pass"] >= 50 and softmax["trusted"] >= 20 and softmax["ratio"] <= 0.5))
END
"$polyhead" plugins check "$work/prefix/$libdir/polyhead/plugins-1/mine.so" >"$work/log" ||
  { cat "$work/log"; fail 'plugins check of the installed plugin'; }

# The template as it comes, for each of its ops: nothing fails, and each is put to the test.
for op in add relu linear; do
  "$polyhead" conform -d mine --filter "$op*" >"$work/log" || { cat "$work/log"; fail "$op does not conform"; }
done
