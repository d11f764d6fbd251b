#!/usr/bin/env bash
# Tries an executable of mesh on its own system: `packaging/try.sh PROGRAM`. It runs the demo, a
# daemon with its page, a hook and a dry run of setup in a temporary home, and fails at the first
# step that does not do what the README says.
set -euo pipefail

mesh=$(cd "$(dirname "$1")" && pwd)/${1##*/}
home=$(mktemp -d)
unset TMUX TMUX_PANE KITTY_LISTEN_ON XDG_STATE_HOME XDG_CONFIG_HOME CLAUDE_CONFIG_DIR
export HOME=$home USERPROFILE=$home MESH_STATE=$home/state MESH_DAEMON__PORT=0
step="start"

finish() {
  code=$?
  "$mesh" down >"$home/down" 2>&1 || true
  rm -rf "$home"
  ((code == 0)) || echo "Failed at the step: $step" >&2
}
trap finish EXIT

# Runs mesh, shows its output, and checks that it contains $2.
try() {
  step=$1
  local expected=$2 output
  shift 2
  output=$("$mesh" "$@" 2>&1) || {
    echo "$output" >&2
    return 1
  }
  printf '== %s\n%s\n' "$step" "$output"
  [[ $output == *"$expected"* ]]
}

# The id of the only peer.
peer_id() {
  "$mesh" peers --json | sed -n 's/.*"peer_id": *"\([^"]*\)".*/\1/p' | head -n 1
}

try "version" "." --version
try "help" "Usage: mesh" --help
try "demo" "Done in" demo
mkdir "$home/.claude"
try "dry run of setup" "settings.json" setup --dry-run --agent claude-code
[[ ! -e $home/.claude/settings.json ]]
try "daemon" "Started at" up
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$MESH_STATE/daemon.json")
step="page"
page=$(curl --fail --silent --show-error "$url/dashboard")
[[ $page == "<!doctype html>"* ]]
step="hook"
printf '{"session_id":"try","hook_event_name":"SessionStart","source":"startup","cwd":"/"}' |
  "$mesh" hook claude-code SessionStart
try "the hook's peer" "claude-code" peers
try "message" "queued to" notify "$(peer_id)" "Hello"
try "shutdown" "topped" down
echo "All steps passed."
