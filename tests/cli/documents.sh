#!/usr/bin/env bash
# --help, man page and completion name the same commands and options.
source "$(dirname "$0")/common.sh"
source_folder=$CONFIGS/../cli
man=$source_folder/man/polyhead.1 completion=$source_folder/completion/polyhead.bash

"$POLYHEAD" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$scratch/log/commands"
[ "$(wc -l <"$scratch/log/commands")" -ge 8 ] || fail "too few commands in --help"

# The man page's synopsis and its list of commands.
sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/s/^\\fBpolyhead \([a-z]*\)\\fR.*/\1/p' "$man" >"$scratch/log/synopsis"
sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/s/^\.B \(.*\)/\1/p' "$man" >"$scratch/log/sections"
diff "$scratch/log/commands" "$scratch/log/synopsis" || fail "the synopsis of the man page has other commands"
diff "$scratch/log/commands" "$scratch/log/sections" || fail "the man page describes other commands"

# shellcheck disable=SC1090
source "$completion"
# complete_after WORD...: what completion offers for the last word.
complete_after() {
  COMP_WORDS=(polyhead "$@") COMP_CWORD=$#
  _polyhead polyhead "${*: -1}" "${COMP_WORDS[COMP_CWORD - 1]}"
  [ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
}
complete_after '' | grep -v '^--' >"$scratch/log/completed"
diff "$scratch/log/commands" "$scratch/log/completed" || fail "completion offers other commands"

: >"$scratch/log/all"
while read -r command; do
  "$POLYHEAD" help "$command" | grep -E '^  (-[a-z], |    )--' | grep -oE '(^| )-{1,2}[a-z-]+' | tr -d ' ' | sort >"$scratch/log/help"
  complete_after "$command" - | sort >"$scratch/log/offered"
  diff "$scratch/log/help" "$scratch/log/offered" || fail "completion offers other options for $command"
  cat "$scratch/log/help" >>"$scratch/log/all"
done <"$scratch/log/commands"

{ sort -u "$scratch/log/all"; echo --version; } | sort >"$scratch/log/options"
sed -n '/^\.SH OPTIONS/,/^\.SH DEVICES/{/^\.TP/{n;p}}' "$man" | sed 's/\\fB/ /g; s/\\-/-/g; s/\.B/ /; s/\\fR/ /g' |
  grep -oE '(^| )-{1,2}[a-z-]+' | tr -d ' ' | sort >"$scratch/log/described"
diff "$scratch/log/options" "$scratch/log/described" || fail "the man page describes other options"

# What a command's synopsis in the man page leaves out it says in words.
while read -r command; do
  "$POLYHEAD" help "$command" | grep -oE -- '--[a-z-]+' | sort -u |
    grep -vxE -- '--(json|help|plugin|verbose)' >"$scratch/log/help"
  sed -n "/^\\\\fBpolyhead $command\\\\fR/,/^\\\\fBpolyhead/{/polyhead $command/p;/^ /p}" "$man" |
    sed 's/\\-/-/g; s/-d\\fR/--device\\fR/g; s/-i\\fR/--input\\fR/g; s/-o\\fR/--output\\fR/g; s/-v\\fR/\\fR/g' |
    grep -oE -- '--[a-z-]+' | sort -u >"$scratch/log/synopsis"
  diff "$scratch/log/help" "$scratch/log/synopsis" || fail "the man page's synopsis of $command has other options"
done <"$scratch/log/commands"

for variable in POLYHEAD_PLUGIN_PATH POLYHEAD_CACHE_DIR POLYHEAD_LOG POLYHEAD_KERNEL_DIR NO_COLOR; do
  grep -q "^\.B $variable" "$man" || fail "the man page lacks $variable"
done
if command -v groff >/dev/null; then
  groff -man -Tutf8 -ww "$man" 2>"$err" >"$out"
  [ ! -s "$err" ] || fail "groff complains: $(cat "$err")"
fi
finish
