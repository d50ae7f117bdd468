#!/usr/bin/env bash
# The command line itself: commands, options, help, exit codes, streams.
source "$(dirname "$0")/common.sh"
config=$CONFIGS/five_words.yaml

expect 2 '^usage: polyhead'
expect 0 '' --version
shows '^polyhead [0-9]+\.[0-9]+\.[0-9]+$'
expect 0 '' --help
shows '^  compare '
for command in run check compare devices plugins ops schema help; do
  expect 0 '' "$command" --help
  shows "^usage: polyhead $command"
  cp "$out" "$scratch/log/help"
  expect 0 '' help "$command"
  cmp -s "$out" "$scratch/log/help" || fail "help $command differs from $command --help"
done

refuse "unknown command 'chek'; did you mean 'check'" chek "$config"
refuse "unknown command 'xyzzy'; 'polyhead help'" xyzzy
refuse "unknown command 'devics'; did you mean 'devices'" help devics
refuse "command comes first.*-v" -v run "$config"
refuse "unknown option '--wieghts'; did you mean '--weights'" run "$config" --wieghts w.npz
refuse "unknown option '-q'" run "$config" -q
refuse "'polyhead devices' takes no option '--random'" devices --random
refuse "run CONFIG" run
refuse "does not know what to do with 'b.yaml'" run a.yaml b.yaml
refuse "-i needs a value: -i NAME=FILE" run "$config" -i
refuse "--weights needs a value" run "$config" --weights
refuse "--random takes no value" run "$config" --random=yes
refuse "-i takes NAME=FILE, not 'x'" run "$config" -i x
refuse "-o takes PATH=FILE, not 'y='" run "$config" -o y=
refuse "--dim takes NAME=VALUE, not 'words'" run "$config" --dim words
refuse "-i x is given twice" run "$config" -i x=a.npy -i x=b.npy
refuse "--dim words is given twice" run "$config" --dim words=5 --dim words=6
refuse "takes one device, but 'reference' and 'pocl'" run "$config" -d reference -d pocl
refuse "--fallback takes none or reference, not 'cpu'" run "$config" --fallback cpu
refuse "compare needs the devices" compare "$config"
refuse "cannot read '.*nowhere.yaml'|nowhere.yaml.*No such file" run nowhere.yaml
POLYHEAD_LOG=loud refuse 'POLYHEAD_LOG takes error, warn, info or debug' run "$config" -d reference

# A device that is not there: exit 3, and those that are.
expect 3 'reference' run "$config" -d nosuch
expect 3 'reference:0' run "$config" -d reference:9
expect 2 '.' run "$config" -d reference,nosuch=1
expect 2 'nosuch.so' run "$config" --plugin ./nosuch.so

# Options stand anywhere after the command, in every spelling; what follows -- is no option.
expect 0 '' run -dreference "$config"
expect 0 '' run --device=reference "$config"
expect 0 '' run -d reference -- "$config"

# One JSON document, also of a failure.
for words in "run $config -d reference" "check $config -d reference" "compare $config -d reference" devices plugins ops \
             "ops softmax" schema help; do
  # shellcheck disable=SC2086
  expect 0 '' $words --json
  answers 'type(d).__name__' dict
done
expect 2 'nowhere' run nowhere.yaml --json
answers 'd["error"]["exit"], d["error"]["status"], "nowhere" in d["error"]["message"]' "(2, 'io', True)"
expect 2 'unknown option' run "$config" --json --frobnicate
answers 'd["error"]["status"]' invalid
expect 2 'unknown command' rin --json
answers 'd["error"]["exit"]' 2
expect 3 'nosuch' run "$config" -d nosuch --json
answers 'd["error"]["exit"], d["error"]["status"]' "(3, 'unavailable')"

# Output that cannot be written is a failure.
status=0
"$POLYHEAD" run "$config" -d reference >/dev/full 2>"$err" || status=$?
[ "$status" -eq 2 ] && grep -q 'standard output' "$err" || fail "a full disk gives exit $status: $(cat "$err")"
status=0
"$POLYHEAD" run "$config" -d reference >&- 2>"$err" || status=$?
[ "$status" -eq 2 ] && grep -q 'standard output' "$err" || fail "a closed stream gives exit $status: $(cat "$err")"
status=0
"$POLYHEAD" run "$config" -d reference -o y=y.npy >&- 2>"$err" || status=$?
[ "$status" -eq 0 ] && [ -s y.npy ] || fail "a closed stream that nobody needs gives exit $status: $(cat "$err")"

# Messages are coloured on a terminal alone, and not with NO_COLOR.
if command -v script >/dev/null; then
  script -qec "'$POLYHEAD' chek" /dev/null >"$out" </dev/null
  grep -q $'\033\\[31m' "$out" || fail 'no colour on a terminal'
  NO_COLOR=1 script -qec "'$POLYHEAD' chek" /dev/null >"$out" </dev/null
  ! grep -q $'\033' "$out" || fail 'NO_COLOR is ignored'
fi
expect 2 '^polyhead: error: ' chek
finish
