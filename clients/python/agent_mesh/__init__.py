"""A program as a peer of Agent Mesh: it is asked, it asks, and it survives lost connections."""

from .errors import AskEnded, AskTimeout, MeshClosed, MeshError, MeshRefused, MeshUnreachable
from .peer import MeshPeer, Message, Option

__all__ = ["AskEnded", "AskTimeout", "MeshClosed", "MeshError", "MeshPeer", "MeshRefused",
           "MeshUnreachable", "Message", "Option"]
