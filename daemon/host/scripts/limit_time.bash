# Ends this process after $seconds_max, unless it has ended before: then its end of the pipe closes.
exec 4>&- # A copy in the new process would keep the former limit.
exec 4> >(
  exec >/dev/null 3>&-
  read -r -t "$seconds_max"
  (($? <= 128)) || kill -ALRM "$$"
)
