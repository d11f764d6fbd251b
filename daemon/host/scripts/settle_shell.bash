# Undoes variables that change bash itself: POSIXLY_CORRECT, with which a refused connection ends the
# script, and TMOUT, a limit of every `read`.
set +o posix
unset TMOUT
