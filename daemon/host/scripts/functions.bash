# Ends this process after $1 seconds, unless it has ended before: then its end of the pipe closes.
limit_time() {
  exec 4>&- # A copy in the new process would keep the former limit.
  exec 4> >(
    exec >/dev/null
    read -r -t "$1"
    (($? <= 128)) || kill -ALRM "$$"
  )
}

# Reads to the end into `all`. With a time limit of its own, `read` would take each byte alone.
read_all() {
  if ((BASH_VERSINFO[0] >= 5)); then
    IFS= read -r -N 100000000 all
  else
    IFS= read -r -d '' all
  fi
}

# True if process $1 runs and started at $2, if that is known, where there is no /proc.
is_alive_by_ps() {
  local status
  status=$(ps -o state= -p "$1")
  [[ -n $status && ${status## } != [ZX]* ]] || return
  [[ -z $2 ]] && return
  status=$(ps -o lstart= -p "$1")
  read -r status <<<"$status"
  [[ $status == "$2" ]]
}

# The state directory; empty if the environment names none.
state=${MESH_STATE-}
if [[ -z $state ]]; then
  state=${XDG_STATE_HOME-}
  [[ $state == /* ]] || state=${HOME%/}/.local/state
  state+=/mesh
fi
[[ $state == /* ]] || state=
