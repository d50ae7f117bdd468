#!/usr/bin/env bash
# check.sh BUILD WORK CC FLAGS LIBDIR: installs BUILD below WORK, moves it, and uses it from there in every way it promises.
set -euo pipefail
build=$1 work=$2 cc=$3 flags=$4 libdir=$5
here=$(cd "$(dirname "$0")" && pwd)

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
prefix=$work/moved
config=$prefix/share/polyhead/configs/five_words.yaml

# The command finds its library and its backends in the new place, from any folder, and through a link.
ln -s "$prefix/bin/polyhead" "$work/link"
cd /
for polyhead in "$prefix/bin/polyhead" "$work/link"; do
  "$polyhead" plugins --json >"$work/plugins.json"
  for file in "$prefix/$libdir"/polyhead/plugins-1/*.so; do
    grep -F "$file" "$work/plugins.json" >/dev/null || { cat "$work/plugins.json"; fail "$polyhead does not see $file"; }
  done
  if grep -F "$build" "$work/plugins.json" | grep -vF "$work"; then fail "$polyhead looks into the build tree"; fi
  "$polyhead" run "$config" -d reference >"$work/output.txt"
  grep 苹果 "$work/output.txt" >/dev/null || fail "$polyhead run printed no labels"
  "$polyhead" conform -d reference --set tiny --filter 'softmax*' >"$work/output.txt" ||
    { cat "$work/output.txt"; fail "$polyhead conform does not find its suites"; }
done

# Only what the headers promise is exported: ph_ names of the API from the library, one symbol from each backend.
nm --dynamic --defined-only --format=posix "$prefix/$libdir/libpolyhead.so" | awk '$2 != "A" {sub(/@.*/, "", $1); print $1}' |
  sort -u >"$work/exported"
cat "$prefix"/include/polyhead/*.h | tr -s ' \n' ' ' | grep -oE 'PH_API [^;{]*\(' | grep -oE 'ph_[a-z0-9_]+ ?\(' |
  tr -d ' (' | sort -u >"$work/promised"
diff "$work/promised" "$work/exported" || fail 'libpolyhead does not export just what its headers mark with PH_API'
for file in "$prefix/$libdir"/polyhead/plugins-1/*.so; do
  [ "$(nm --dynamic --defined-only --format=posix "$file" | awk '{print $1}')" = ph_backend_query ] ||
    fail "$file exports more than ph_backend_query"
done

# find_package(polyhead): a program on the host API, a backend in C, a backend in C++.
cmake -G Ninja -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" >"$work/log" && cmake --build "$work/consumer" >>"$work/log" ||
  { cat "$work/log"; fail 'the consumer does not build with find_package(polyhead)'; }
"$work/consumer/consumer" "$config" || fail 'the consumer that CMake built does not run'
for name in outsider outsider_cpp; do
  "$prefix/bin/polyhead" plugins --plugin "$work/consumer/plugins/$name.so" --json >"$work/plugins.json"
  grep "\"$name\"" "$work/plugins.json" >/dev/null || { cat "$work/plugins.json"; fail "the backend $name is not loaded"; }
done

# The same program through pkg-config.
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
# shellcheck disable=SC2046,SC2086 # the words of pkg-config and of the flags are meant to be split
"$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror $flags $(pkg-config --cflags polyhead) "$here/consumer/consumer.c" \
  -o "$work/consumer-by-pkg-config" $(pkg-config --libs polyhead) -Wl,-rpath,"$prefix/$libdir"
"$work/consumer-by-pkg-config" "$config" || fail 'the consumer that pkg-config described does not run'
[ "$(cd "$(pkg-config --variable=plugindir polyhead)" && pwd)" = "$(cd "$prefix/$libdir/polyhead/plugins-1" && pwd)" ] ||
  fail 'pkg-config names another plugin folder'

# Each header stands alone, in C and in C++.
for header in "$prefix"/include/polyhead/*.h; do
  for compiler in "$cc -std=c17 -x c" "c++ -std=c++17 -x c++"; do
    printf '#include "%s"\n' "$header" |
      $compiler -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$prefix/include" - || fail "$compiler $header"
  done
done
