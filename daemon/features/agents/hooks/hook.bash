# Posts an event of an agent to the mesh daemon and prints the daemon's answer, without starting
# mesh itself. Written by `mesh setup`, and removed by `mesh setup --uninstall`.
#
# Runs as `bash -p FILE EVENT` with the event's payload on standard input. Whatever happens, the
# agent sees no message and the exit code 0, after 1.5 s at most, or after the time for a decision.
# Failures go to `hook.log` in the state directory. The lines above set:
#   agent            id of the agent
#   pid_variable     variable in which the agent passes its process id
#   decision_events  events that wait for a person's decision
#   mesh             command that starts mesh, as an array

exec 2>/dev/null
trap '' PIPE
LC_ALL=C # Lengths are in bytes.
event=${1-}
phase="The payload did not end in time"
log_bytes_max=65536
payload_bytes_max=1000000

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

fail() {
  local log=$state/hook.log
  if [[ -n $state && (-f $log || ! -e $log) ]]; then
    umask 077
    printf '{"time":"%s","level":"warn","what":"%s"}\n' \
      "$(date -u +%Y-%m-%dT%H:%M:%S.000Z)" "$agent $event: $1" >>"$log"
    if (($(wc -c <"$log") > log_bytes_max)); then
      tail -c "$log_bytes_max" "$log" >"$log.$$" && mv -f "$log.$$" "$log"
    fi
  fi
  exit 0
}

# Lets mesh itself post the payload.
run_mesh() {
  printf '%s' "$payload" | "${mesh[@]}" hook "$agent" "$event"
  exit 0
}

# Sets `state` to the state directory; fails if no variable names it by an absolute path.
find_state() {
  state=${MESH_STATE-}
  if [[ -z $state ]]; then
    local base=${XDG_STATE_HOME-}
    [[ $base == /* ]] || base=${HOME%/}/.local/state
    state=$base/mesh
  fi
  [[ $state == /* ]]
}

# True if process $1 runs and started at $2, if that is known.
is_alive() {
  local status fields
  if read -r status <"/proc/$1/stat"; then
    # The name may contain spaces and brackets.
    read -r -a fields <<<"${status##*) }"
    [[ ${fields[0]} != [ZX] && (-z $2 || ${fields[19]} == "$2") ]]
  elif [[ -e /proc/self/stat ]]; then
    false
  else
    status=$(ps -o state= -p "$1")
    [[ -n $status && ${status## } != [ZX]* ]] || return
    [[ -z $2 ]] && return
    status=$(ps -o lstart= -p "$1")
    read -r status <<<"$status"
    [[ $status == "$2" ]]
  fi
}

# Sets `host`, `port` and `decision_seconds` from `daemon.json`; fails if no daemon runs.
find_daemon() {
  local info pid started='' file=$state/daemon.json
  [[ -e $file ]] || return
  [[ -f $file ]] || fail "daemon.json is not a file"
  IFS= read -r -d '' info <"$file"
  [[ $info =~ \"pid\":([0-9]+) ]] || run_mesh
  pid=${BASH_REMATCH[1]}
  [[ $info =~ \"process_started\":\"([^\"\\]*)\" ]] && started=${BASH_REMATCH[1]}
  [[ $info =~ \"approval_seconds\":([0-9]+) ]] && decision_seconds=${BASH_REMATCH[1]}
  is_alive "$pid" "$started" || return
  [[ $info =~ \"url\":\"http://(127\.0\.0\.1|\[::1\]):([0-9]+)/?\" ]] || run_mesh
  host=${BASH_REMATCH[1]} port=${BASH_REMATCH[2]}
}

# Adds a header, unless the value is empty or has other characters than printable ASCII.
add_header() {
  [[ -z $2 || $2 == *[!\ -~]* ]] || head+="$1: $2"$'\r\n'
}

# The inner one of tmux and kitty has set TERM.
add_pane() {
  local kitty='' is_tmux=false
  [[ ${KITTY_LISTEN_ON-} == unix:/?* && -n ${KITTY_WINDOW_ID-} ]] && kitty=${KITTY_LISTEN_ON#unix:}
  [[ -n ${TMUX_PANE-} && -n ${TMUX-} ]] && is_tmux=true
  [[ -n $kitty && ${TERM-} == xterm-kitty && ${TERM_PROGRAM-} != tmux ]] && is_tmux=false
  if [[ -n $kitty ]] && ! $is_tmux; then
    add_header X-Mesh-Pane "$KITTY_WINDOW_ID"
    add_header X-Mesh-Kitty "kitty:$kitty"
  else
    add_header X-Mesh-Pane "${TMUX_PANE-}"
    add_header X-Mesh-Tmux "${TMUX-}"
  fi
}

find_state || state=
trap 'fail "$phase"' ALRM
((BASH_VERSINFO[0] >= 4)) && seconds_max=1.5 || seconds_max=2
limit_time "$seconds_max"
# Read even if nothing is sent, so that the agent never writes into a pipe that nobody reads.
read_all
payload=$all
[[ -n $state && ${MESH_HOOKS-} != off ]] || exit 0
if ! find_daemon; then
  # A killed daemon leaves its marker, with which every tool call would start a process.
  marker=$state/urgent/$agent
  [[ ! -e $marker ]] || rm -f "$marker"
  exit 0
fi
((${#payload} <= payload_bytes_max)) || run_mesh

head="POST /hooks/$agent HTTP/1.0"$'\r\n'
add_header Host "$host:$port"
[[ -z $payload ]] || add_header Content-Type application/json
add_header Content-Length "${#payload}"
token=
[[ -f $state/hook.token ]] && read -r token <"$state/hook.token" # Without a line end, it fails.
[[ -z $token ]] || add_header Authorization "Bearer $token"
add_header X-Mesh-Event "$event"
add_header X-Mesh-Hook-Pid "$$"
add_header X-Mesh-Agent-Pid "${!pid_variable-}"
add_pane

phase="The daemon did not answer in time"
if [[ -n ${decision_seconds-} && " $decision_events " == *" $event "* ]]; then
  limit_time $((decision_seconds + 2))
fi
address=${host#[}
exec 3<>"/dev/tcp/${address%]}/$port" || run_mesh
printf '%s\r\n%s' "$head" "$payload" >&3
read_all <&3
[[ $all =~ ^HTTP/1\.[01]\ ([0-9]+) ]] || fail "The daemon returned no response"
status=${BASH_REMATCH[1]}
[[ $status == 200 ]] || fail "The daemon returned $status"
answer=${all#*$'\r\n\r\n'}
[[ ${all%%$'\r\n\r\n'*} =~ [Cc]ontent-[Ll]ength:\ *([0-9]+) ]] || fail "The daemon returned no length"
((${#answer} == BASH_REMATCH[1])) || fail "The response of the daemon is not complete"
[[ $answer == '{'*'}' ]] || fail "The daemon returned no JSON"
printf '%s' "$answer"
