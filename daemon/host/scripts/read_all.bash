# Reads $from to its end into `all`. With a time limit of its own, `read` would take each byte alone.
if ((BASH_VERSINFO[0] >= 5)); then
  IFS= read -r -u "$from" -N 100000000 all
else
  IFS= read -r -u "$from" -d '' all
fi
