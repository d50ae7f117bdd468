# Completion of the polyhead command for bash.

_polyhead_files() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_polyhead() {
  local word=$2 previous=$3 command=${COMP_WORDS[1]}
  local common='--plugin -v --verbose --json -h --help'
  local model='-d --device --weights -i --input --dim --random'
  COMPREPLY=()

  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W 'run generate check compare conform bench tune graph heatmap devices plugins ops schema help --version --help' -- "$word")
    return
  fi

  case $previous in
  -d | --device)
    local devices
    devices=$(polyhead devices 2>/dev/null | awk '$1 ~ /:[0-9]+$/ { print $1 }')
    mapfile -t COMPREPLY < <(compgen -W "auto $devices" -- "$word")
    return
    ;;
  --fallback)
    mapfile -t COMPREPLY < <(compgen -W 'none reference' -- "$word")
    return
    ;;
  --weights | --plugin | --save | --load | --report | --trace | --plot | --suite | --junit | --required | --prompt-ids | --source-ids | -i | --input | -o | --output)
    _polyhead_files "$word"
    return
    ;;
  --format)
    mapfile -t COMPREPLY < <(compgen -W 'dot mermaid svg' -- "$word")
    return
    ;;
  --set)
    mapfile -t COMPREPLY < <(compgen -W 'tiny smoke ci full' -- "$word")
    return
    ;;
  --dim | --tensor | --head | --prompt | --source | --tokens | --temperature | --top-k | --top-p | --seed | --filter | --show | --warmup | --iters)
    return
    ;;
  esac

  if [[ $word == -* ]]; then
    local options=
    case $command in
    run) options="$model -o --output --profile --report --trace --fallback $common" ;;
    generate)
      options="-d --device --weights --dim --random --prompt --prompt-ids --source --source-ids --tokens --greedy"
      options+=" --temperature --top-k --top-p --seed --fallback $common"
      ;;
    conform) options="-d --device --set --suite --filter --seed --list --show --junit --required $common" ;;
    bench) options="$model --set --filter --seed --list --warmup --iters --plot $common" ;;
    tune) options="-d --device --quick $common" ;;
    check) options="$model --fallback $common" ;;
    graph) options="-d --device --weights --dim --random --format --fallback $common" ;;
    heatmap) options="$model -o --output --tensor --head --fallback $common" ;;
    compare) options="$model --per-node --save --load --equal-nan $common" ;;
    devices | plugins | ops | schema) options=$common ;;
    help) options='--json -h --help' ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi

  case $command in
  run | generate | check | compare | bench | graph | heatmap) _polyhead_files "$word" ;;
  ops) mapfile -t COMPREPLY < <(compgen -W "$(polyhead ops 2>/dev/null | awk '{ print $1 }')" -- "$word") ;;
  plugins)
    if [ "$COMP_CWORD" -eq 2 ]; then
      mapfile -t COMPREPLY < <(compgen -W 'check' -- "$word")
    else
      _polyhead_files "$word"
    fi
    ;;
  help) mapfile -t COMPREPLY < <(compgen -W 'run generate check compare conform bench tune graph heatmap devices plugins ops schema' -- "$word") ;;
  esac
}

complete -F _polyhead polyhead
