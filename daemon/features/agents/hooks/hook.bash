# Posts an event of an agent to the mesh daemon and prints the daemon's answer, without starting
# mesh itself. Written by `mesh setup`, and removed by `mesh setup --uninstall`.
#
# Runs as `bash -p FILE EVENT` with the event's payload on standard input. Whatever happens, the
# agent sees no message and the exit code 0, after 1.5 s at most, or after the time for a decision.
# Only a payload or an answer that never stops coming has the script killed, a second later.
# Failures go to `hook.log` in the state directory. The lines above set:
#   agent            id of the agent
#   pid_variable     variable in which the agent passes its process id
#   decision_events  events that wait for a person's decision
#   mesh             command that starts mesh, as an array

exec 2>/dev/null
# @settle_shell
trap '' PIPE
LC_ALL=C # Lengths are in bytes.
event=${1-}
phase="The payload did not end in time"
log_bytes_max=65536
payload_bytes_max=1000000

fail() {
  local log=$state/hook.log
  exec 4>&- # There is no limit for the log.
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

# Lets mesh itself post the payload, in place of this process: nothing stays if the agent ends it.
run_mesh() {
  trap '' ALRM
  shopt -s execfail
  exec "${mesh[@]}" hook "$agent" "$event" < <(exec 4>&- && printf '%s' "$payload") 3>&- 4>&-
  exit 0
}

# @state
trap 'fail "$phase"' ALRM
((BASH_VERSINFO[0] >= 4)) && seconds_max=1.5 || seconds_max=2
# @limit_time
# Read even if nothing is sent, so that the agent never writes into a pipe that nobody reads.
from=0
# @read_all
payload=$all
[[ -n $state && ${MESH_HOOKS-} != off ]] || exit 0

# @find_daemon
if ! $is_alive; then
  # A killed daemon leaves its marker, with which every tool call would start a process.
  marker=$state/urgent/$agent
  [[ ! -e $marker ]] || rm -f "$marker"
  exit 0
fi
((${#payload} <= payload_bytes_max)) || run_mesh

token=
[[ -f $state/hook.token ]] && read -r token <"$state/hook.token" # Without a line end, it fails.
# The inner one of tmux and kitty has set TERM.
pane=${TMUX_PANE-} tmux=${TMUX-} kitty=''
if [[ ${KITTY_LISTEN_ON-} == unix:/?* && -n ${KITTY_WINDOW_ID-} ]]; then
  if [[ -z $pane || -z $tmux || (${TERM-} == xterm-kitty && ${TERM_PROGRAM-} != tmux) ]]; then
    pane=$KITTY_WINDOW_ID tmux='' kitty=kitty:${KITTY_LISTEN_ON#unix:}
  fi
fi
head="POST /hooks/$agent HTTP/1.0"$'\r\n'
# A value that is empty, or has other characters than printable ASCII, is left out.
for header in "Host: $host:$port" "Content-Type: ${payload:+application/json}" \
  "Content-Length: ${#payload}" "Authorization: ${token:+Bearer $token}" "X-Mesh-Event: $event" \
  "X-Mesh-Hook-Pid: $$" "X-Mesh-Agent-Pid: ${!pid_variable-}" "X-Mesh-Pane: $pane" \
  "X-Mesh-Kitty: $kitty" "X-Mesh-Tmux: $tmux"; do
  [[ $header == *': ' || $header == *[!\ -~]* ]] || head+=$header$'\r\n'
done

phase="The daemon did not answer in time"
if [[ " $decision_events " == *" $event "* ]]; then
  read -r info <"$file"
  if [[ $info =~ \"approval_seconds\":([0-9]+) ]]; then
    seconds_max=$((BASH_REMATCH[1] + 2))
    # @limit_time
  fi
fi
address=${host#[}
exec 3<>"/dev/tcp/${address%]}/$port" || run_mesh
printf '%s\r\n%s' "$head" "$payload" >&3
from=3
# @read_all
if [[ $all != HTTP/1.[01]\ 200[!0-9]* ]]; then
  [[ $all =~ ^HTTP/1\.[01]\ ([0-9]+) ]] || fail "The daemon returned no response"
  fail "The daemon returned ${BASH_REMATCH[1]}"
fi
head=${all%%$'\r\n\r\n'*}
answer=${all:${#head}+4}
[[ $head$'\r' == *[Cc]ontent-[Ll]ength:*([\ ])${#answer}$'\r'* ]] ||
  fail "The response of the daemon is not complete"
[[ $answer == '{'*'}' ]] || fail "The daemon returned no JSON"
printf '%s' "$answer"
exit 0 # Also if the agent does not read.
