# Ends this process after $seconds_max, unless it has ended before: then its end of the pipe closes.
exec 4>&- # A copy in the new process would keep the former limit.
exec 4> >(
  exec >/dev/null 3>&-
  read -r -t "$seconds_max"
  (($? > 128)) || exit
  kill -ALRM "$$"
  # Bash runs no trap in a `read` of bytes that never stop coming.
  read -r -t 1
  (($? <= 128)) || kill -KILL "$$"
)
