# The state directory; empty if the environment names none.
state=${MESH_STATE-}
if [[ -z $state ]]; then
  state=${XDG_STATE_HOME-}
  [[ $state == /* ]] || state=${HOME%/}/.local/state
  state+=/mesh
fi
[[ $state == /* ]] || state=
