is_alive=false file=$state/daemon.json
if [[ -f $file ]]; then
  # The names and values of its members, in the order in which the daemon writes them. Patterns
  # and regular expressions would take longer than the rest of a hook's script.
  IFS='{},"' read -r _ _ name1 pid _ name2 _ started _ _ name3 _ url _ <"$file"
  [[ "$name1 $name2 $name3" == "pid process_started url" ]] || run_mesh
  pid=${pid#:}
  if read -r status <"/proc/$pid/stat"; then
    name=${status%)*} # It may contain spaces and brackets.
    # shellcheck disable=SC2086 # To split it; `read` would take each byte of a pipe alone.
    set -- ${status:${#name}+2}
    [[ $1 != [ZX] && ${20} == "$started" ]] && is_alive=true
  elif [[ ! -e /proc/self/stat ]]; then
    status=$(ps -o state= -p "$pid")
    since=$(ps -o lstart= -p "$pid")
    read -r since <<<"$since"
    [[ -n $status && ${status## } != [ZX]* && $since == "$started" ]] && is_alive=true
  fi
  if $is_alive; then
    address=${url#http://}
    address=${address%/}
    host=${address%:*} port=${address##*:}
    [[ ($host == 127.0.0.1 || $host == '[::1]') && $port != *[!0-9]* ]] || run_mesh
  fi
elif [[ -e $file ]]; then
  fail "daemon.json is not a file"
fi
