# Keeps how far the plan of a session of Claude Code is used, for `mesh limits`. Written by
# `mesh setup --status-line`, and removed by `mesh setup --uninstall`.
#
# Runs as `bash -p FILE [COMMAND ARGUMENT…]` with the status of the session on standard input. Gives
# the status to COMMAND, whose output is the status line. Without COMMAND, prints nothing.

# @state
# The status has the limits after the first answer, and only with the login of a plan (2.1.329).
keep_limits() {
  local folder=$state/plan-use id
  [[ -n $state && $all =~ \"session_id\":\"([0-9a-f-]+)\" ]] || return
  id=${BASH_REMATCH[1]}
  [[ $all =~ \"rate_limits\":(\{(\"[a-z0-9_]+\":(\{[^{}]*\}|null),?)*\}) ]] || return
  [[ -d $folder ]] || mkdir -p -m 700 "$folder" || return
  printf '%s' "${BASH_REMATCH[1]}" >"$folder/$id.json"
}

from=0
# @read_all
keep_limits 2>/dev/null
(($# == 0)) || printf '%s' "$all" | "$@"
