# Asks the daemon to run a command of mesh, and prints the answer, without starting mesh itself.
#
# Runs as `bash -p FILE COUNT MESH... WORD...`: the command line of mesh, of which the last COUNT
# words are the user's. `user_locale` is the user's LC_ALL. Starts mesh in place of this process where
# the daemon does not run the command: without a daemon, with an unusual setting, or if the daemon
# says so. A request that was sent and has no whole answer is never sent again: mesh then only
# reports that.

count=$1
shift
mesh=("$@") words=("${@:$#-count+1}")
locale=${user_locale-}
unset user_locale
# @settle_shell
exec 5>&2 2>/dev/null

# Starts mesh in place of this process.
run_mesh() {
  trap - PIPE ALRM
  if [[ -n $locale ]]; then LC_ALL=$locale; else unset LC_ALL; fi
  exec 2>&5 3>&- 4>&- 5>&-
  exec "${mesh[@]}"
}

fail() {
  run_mesh
}

# Lets mesh report that the daemon did not answer.
report_no_answer() {
  export MESH_UNANSWERED=http://$host:$port
  run_mesh
}

# @state

LC_ALL=C # Lengths are in bytes.
for name in "${!MESH_@}"; do
  case $name in
    MESH_CONFIG | MESH_HOOKS | MESH_PROGRAM | MESH_RESTART_ID | MESH_SPAWN_ID | MESH_STATE) ;;
    *) run_mesh ;;
  esac
done
[[ ${HOME-} == /* ]] || run_mesh
[[ -n $state ]] || run_mesh
# @find_daemon
$is_alive || run_mesh

# The daemon has read the configuration if it is older than the file of its start. Then only the
# token is needed, in the form that `mesh setup` writes.
config=${MESH_CONFIG-}
if [[ -z $config ]]; then
  config=${XDG_CONFIG_HOME-}
  [[ $config == /* ]] || config=${HOME%/}/.config
  config+=/mesh/config.yaml
fi
[[ $config == /* ]] || run_mesh
token='' line=$'\n'
if [[ -e $config ]]; then
  [[ -f $config && -r $config && $config -ot $file ]] || run_mesh
  IFS= read -r -d '' settings <"$config"
  settings=$line$settings$line
  [[ $settings != *\\* ]] || run_mesh
  if [[ $settings == *auth_token* ]]; then
    [[ $settings != *auth_token*auth_token* ]] || run_mesh
    [[ ! $settings =~ [\|\>][-+0-9]*[[:blank:]]*$line ]] || run_mesh # A text of several lines.
    name="(daemon:$line(([ #][^$line]*)?$line)* +|daemon\\.)auth_token"
    [[ $settings =~ $line$name:\ +(\"([A-Za-z0-9_-]+)\"|([A-Za-z0-9_-]+))\ *$line ]] || run_mesh
    token=${BASH_REMATCH[5]}${BASH_REMATCH[6]}
    # YAML may read other texts as numbers.
    [[ ${#token} -ge 16 && $token == [!-]* && $token == *[A-Za-z]* ]] || run_mesh
    [[ ! $token =~ ^[0-9]+[Ee] ]] || run_mesh
  fi
fi

terminals='' columns=''
for stream in 0 1 5; do
  [[ -e /dev/fd/$stream ]] || run_mesh
  [[ ! -t $stream ]] || terminals+=${stream/5/2}
done
if [[ -t 1 ]]; then
  # Bash reads the size after a process has ended, from the terminal at standard error.
  [[ -t 5 && -z ${COLUMNS-} ]] || run_mesh
  shopt -s checkwinsize
  exec 2>&5
  (:)
  exec 2>/dev/null
  columns=${COLUMNS-}
  [[ -n $columns ]] || run_mesh
fi
variables=("TERM=${TERM-}")
for name in CODEX_THREAD_ID KITTY_LISTEN_ON KITTY_WINDOW_ID NO_COLOR TERM_PROGRAM TMUX TMUX_PANE; do
  [[ -z ${!name-} ]] || variables+=("$name=${!name}")
done

trap '' PIPE
trap report_no_answer ALRM
address=${host#[}
exec 3<>"/dev/tcp/${address%]}/$port" || run_mesh
IFS=
text="${variables[*]}${words[*]}"
length=$((${#text} + ${#variables[@]} + 1 + count))
head="POST /command-lines HTTP/1.0"$'\r\n'"Host: $host:$port"$'\r\n'"Content-Length: $length"$'\r\n'
[[ -z $token ]] || head+="Authorization: Bearer $token"$'\r\n'
head+="X-Mesh-Pid: $$"$'\r\n'"X-Mesh-Terminals: $terminals"$'\r\n'
head+="X-Mesh-Columns: ${columns:-0}"$'\r\n\r\n'
variables[0]=$head${variables[0]}
printf '%s\0' "${variables[@]}" '' "${words[@]}" >&3
seconds_max=90
# @limit_time
from=3
# @read_all
exec 3>&- 4>&-

[[ $all =~ ^HTTP/1\.[01]\ ([0-9]+) ]] || report_no_answer
case ${BASH_REMATCH[1]} in
  200) ;;
  204 | 4?? | 503) run_mesh ;; # Nothing was run, because the daemon refuses it or is older.
  *) report_no_answer ;;
esac
head=${all%%$'\r\n\r\n'*}
output=${all:${#head}+4}
[[ $head =~ [Cc]ontent-[Ll]ength:\ *([0-9]+) ]] || report_no_answer
((${#output} == BASH_REMATCH[1])) || report_no_answer
[[ $head =~ [Xx]-[Mm]esh-[Ee]xit-[Cc]ode:\ *([0-9]+) ]] || report_no_answer
code=${BASH_REMATCH[1]}
[[ $head =~ [Xx]-[Mm]esh-[Pp]arts:\ *([0-9: ]*) ]] || report_no_answer
parts=${BASH_REMATCH[1]}

IFS=' ' at=0
for part in $parts; do
  length=${part#*:} stream=${part%:*}
  [[ $stream == 1 ]] || stream=5
  if ! printf '%s' "${output:at:length}" >&"$stream"; then
    # The reader of a pipe has closed it, as `head` does.
    [[ -p /dev/fd/$stream || -S /dev/fd/$stream ]] && exit 0
    printf 'mesh: Cannot write the output\n' >&5
    exit 1
  fi
  at=$((at + length))
done
exit "$code"
