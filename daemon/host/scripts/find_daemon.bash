is_alive=false started='' file=$state/daemon.json
if [[ -e $file ]]; then
  [[ -f $file ]] || fail "daemon.json is not a file"
  IFS= read -r -d '' info <"$file"
  [[ $info =~ \"pid\":([0-9]+) ]] || run_mesh
  pid=${BASH_REMATCH[1]}
  [[ $info =~ \"process_started\":\"([^\"\\]*)\" ]] && started=${BASH_REMATCH[1]}
  if read -r status <"/proc/$pid/stat"; then
    name=${status%)*} # It may contain spaces and brackets.
    # shellcheck disable=SC2086 # To split it; `read` would take each byte of a pipe alone.
    set -- ${status:${#name}+2}
    [[ $1 != [ZX] && (-z $started || ${20} == "$started") ]] && is_alive=true
  elif [[ ! -e /proc/self/stat ]]; then
    is_alive_by_ps "$pid" "$started" && is_alive=true
  fi
fi
if $is_alive; then
  [[ $info =~ \"url\":\"http://(127\.0\.0\.1|\[::1\]):([0-9]+)/?\" ]] || run_mesh
  host=${BASH_REMATCH[1]} port=${BASH_REMATCH[2]}
fi
