"""Finds the running daemon and its token, by the same files and variables as the mesh command."""

import json
import os
import re
import sys
from pathlib import Path

from .errors import Frame, MeshUnreachable


def running_url() -> str:
    folder = _path_in("MESH_STATE") or _xdg_folder("XDG_STATE_HOME", ".local/state") / "mesh"
    file = folder / "daemon.json"
    info = json.loads(_read(file) or "{}")
    if info.get("url") and _is_running(info):
        return str(info["url"])
    raise MeshUnreachable("No daemon is running; start it with: mesh up")


def _path_in(name: str) -> Path | None:
    """A relative path would be another one for the daemon, which refuses it as well."""
    path = os.environ.get(name)
    if path and not os.path.isabs(path):
        raise MeshUnreachable(f'{name} is "{path}", a relative path; set it to an absolute path')
    return Path(path) if path else None


def _xdg_folder(name: str, under_home: str) -> Path:
    """The XDG Base Directory Specification has programs ignore a relative path."""
    path = os.environ.get(name, "")
    return Path(path) if os.path.isabs(path) else Path.home() / under_home


def _is_running(info: Frame) -> bool:
    """If the daemon has ended, another program could listen there and would get the token."""
    if sys.platform != "linux" or "process_started" not in info:
        return True
    fields = _read(Path(f"/proc/{info['pid']}/stat")).rpartition(")")[2].split()
    return len(fields) > 19 and fields[19] == info["process_started"]


def configured_token() -> str | None:
    base = _xdg_folder("XDG_CONFIG_HOME", ".config")
    file = _path_in("MESH_CONFIG") or base / "mesh/config.yaml"
    return os.environ.get("MESH_DAEMON__AUTH_TOKEN") or token_in(_read(file))


def token_in(yaml: str) -> str | None:
    """daemon.auth_token on a line of its own; written in another way, pass it as `token`."""
    found = re.search(r"^daemon\.auth_token:[ \t]+(\S.*)$", yaml, re.M)
    daemon = r"^daemon:[ \t]*(?:#.*)?\n((?:[ \t].*\n|[ \t]*\n|#.*\n)*)"
    section = re.search(daemon, yaml + "\n", re.M)
    if not found and section:
        found = re.search(r"^[ \t]+auth_token:[ \t]+(\S.*)$", section[1], re.M)
    text = found[1] if found else ""
    if text.startswith('"'):
        try:
            return str(json.JSONDecoder().raw_decode(text)[0])
        except ValueError:
            return None  # Escapes that only YAML has.
    if quoted := re.match(r"'((?:[^']|'')*)'", text):
        return quoted[1].replace("''", "'")
    return re.sub(r"(?<!\s)\s+#.*", "", text).strip() or None


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
