"""The errors of the client. Each is a MeshError, so that one `except` finds them all."""

from typing import Any

Frame = dict[str, Any]  # A JSON object of the daemon.


class MeshError(Exception):
    """Something went wrong. `code` is the daemon's error code, or the close code, if any."""

    def __init__(self, message: str, code: str | int | None = None):
        super().__init__(message)
        self.code = code


class MeshUnreachable(MeshError):
    """No daemon answers at the address, or none is running."""


class MeshClosed(MeshError):
    """The connection has ended for good."""


class MeshRefused(MeshError):
    """The daemon refused a request. `code` is the reason, such as unknown_peer; `hint` the fix."""

    def __init__(self, problem: Frame):
        super().__init__(problem.get("detail") or problem["error"], problem["error"])
        self.hint, self.problem = problem.get("hint"), problem


class AskEnded(MeshError):
    """The ask has ended without an answer. `code` is how, such as declined."""


class AskTimeout(MeshError):
    """The answer did not come in time. `code` is the id of the ask, which stays open."""
