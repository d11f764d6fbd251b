"""What each app in Python does: it tells the harness its steps, one line each."""

import sys
from contextlib import contextmanager


def opens(url):
    """Has the harness open the address in the person's browser; returns where that led."""
    print("OPEN", url, flush=True)
    return sys.stdin.readline().strip()


def revoked():
    """Has the person revoke every grant."""
    print("REVOKE", flush=True)
    sys.stdin.readline()


@contextmanager
def step(name):
    """Reports whether the step worked. An app goes on after a step that failed."""
    try:
        yield
        print("DONE", name, flush=True)
    except Exception as error:  # Of any library.
        print("FAILED", name, f"{type(error).__name__}: {error}".replace("\n", " "), flush=True)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)
