"""MeshPeer: one connection to the daemon, which is opened again when it is lost."""

import asyncio
import contextlib
import json
import os
import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from .daemon import configured_token, running_url
from .errors import (AskEnded, AskTimeout, Frame, MeshClosed, MeshError, MeshRefused,
                     MeshUnreachable)

_FINAL_CODES = {4000, 4001, 4002, 4003, 4004, 4008, 4009}  # Another attempt would end so, too.
_SILENCE_MAX = 65  # Seconds. The daemon pings every 20.
_FRAME_BYTES_MAX = 16 * 2**20
_KEPT_MAX = 5000  # Number of handled messages that are remembered, to recognize repeats.


@dataclass(frozen=True)
class Option:
    """The answer to a structured question."""
    id: str
    text: str | None = None


@dataclass(frozen=True)
class Message:
    """A message: an ask, which has a `correlation_id`; a notification; or the reply to an ask."""
    text: str
    sender: str
    voice: str  # "human" if the daemon has proved that the user wrote it.
    correlation_id: str | None
    frame: Frame  # With all fields, such as attachments and question (docs/websocket.md).


Handler = Callable[[Message], Awaitable[str | Option | None]]


class MeshPeer:
    """A peer. Make it with `await MeshPeer.connect(name)`."""

    def __init__(self, hello: Frame, url: str | None, token: str | None):
        self.name, self.peer_id = hello["display_name"], ""
        self._hello, self._url, self._token = hello, url, token
        self._socket: ClientConnection | None = None
        self._handlers: dict[str, Callable[[Frame], Awaitable[object]]] = {"ack": self._replied}
        self._kept: dict[str, Frame] = {}  # Receipts by delivery id; empty until it is handled.
        self._unhandled: list[Frame] = []  # Frames of a type that has no handler yet.
        self._calls: dict[str, tuple[Frame, asyncio.Future[Frame]]] = {}  # Verbs without a result.
        self._replies: dict[str, asyncio.Future[Message]] = {}  # By correlation id.
        self._tasks: set[asyncio.Task[object]] = set()
        self._problem = ""  # What went wrong last.
        self._is_up = False
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self.closed: MeshError | None = None  # Why the connection has ended for good.

    @classmethod
    async def connect(cls, name: str, *, circle: str | None = None, role: str | None = None,
                      url: str | None = None, token: str | None = None,
                      client_id: str | None = None, client_id_file: str | Path | None = None,
                      timeout: float = 10) -> "MeshPeer":
        """Connects to the daemon of this user, or to that at `url`. A program that keeps its
        client_id, for example in a client_id_file, is the same peer when it starts again."""
        metadata = {"client_id": client_id or _kept_id(client_id_file)}
        fields = {"display_name": name, "backend": "sdk", "path": os.getcwd(), "circle": circle,
                  "role": role, "capabilities": ["delivery_receipts"], "metadata": metadata}
        me = cls(_given({"type": "connect", **fields}), url, token)
        me._spawn(me._run())
        try:
            await asyncio.wait_for(me._ready.wait(), timeout)
        except asyncio.TimeoutError:
            me._end(MeshUnreachable(f"{me._problem or 'No daemon answers'} (waited {timeout} s)"))
        if me.closed:
            raise me.closed
        return me

    def on_ask(self, handler: Handler) -> Handler:
        """Sets the handler of asks: a text answers, None acknowledges, an exception declines."""
        self._handle("ask", lambda frame: self._answer(frame, handler))
        return handler

    def on_notify(self, handler: Handler) -> Handler:
        """Sets the handler of notifications and broadcasts."""
        for kind in ("notify", "broadcast"):
            self._handle(kind, lambda frame: handler(_message(frame)))
        return handler

    async def ask(self, to: str, text: str, *, timeout: float | None = None,
                  **more: Any) -> Message:
        """Asks a peer and waits for its answer. `more` are other fields, such as reply_to."""
        id = (await self._verb("ask", to_peer=to, text=text, **more))["correlation_id"]
        try:
            return await asyncio.wait_for(self._reply(id), timeout)
        except asyncio.TimeoutError:
            raise AskTimeout(f"No answer to {id} within {timeout} s", id) from None
        finally:
            self._replies.pop(id, None)

    async def notify(self, to: str, text: str, **more: Any) -> Frame:
        """Sends a message that needs no answer. Returns once the daemon has stored it."""
        return await self._verb("notify", to_peer=to, text=text, **more)

    async def close(self) -> None:
        """Ends the connection. What is not handled comes again when this peer connects again."""
        self._end(MeshClosed("The peer was closed"))
        if self._socket:
            await self._socket.close()

    async def wait_closed(self) -> MeshError:
        """Waits until the connection has ended for good, and returns why."""
        await self._ended.wait()
        return self.closed or MeshClosed("The peer was closed")

    async def _run(self) -> None:
        pause = 0.25
        while not self.closed:
            try:
                url = (self._url or running_url()).replace("http", "ws", 1) + "/ws"
                async with connect(url, proxy=None, max_size=_FRAME_BYTES_MAX,
                                   close_timeout=1) as self._socket:
                    if token := self._token or configured_token():
                        self._hello["auth_token"] = token
                    await self._send(self._hello)
                    while True:
                        frame = await asyncio.wait_for(self._socket.recv(), _SILENCE_MAX)
                        if await self._take(json.loads(frame)):
                            pause = 0.25
            except (MeshUnreachable, InvalidHandshake, OSError, asyncio.TimeoutError) as error:
                self._problem = str(error) or "The daemon does not answer"
            except ConnectionClosed as lost:
                if lost.rcvd and lost.rcvd.code in _FINAL_CODES:
                    self._end(MeshClosed(self._problem or lost.rcvd.reason, lost.rcvd.code))
            except Exception as error:  # Otherwise the program would wait for ever.
                self._end(MeshError(f"{type(error).__name__}: {error}"))
            self._is_up = False
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(pause * 2, 5)

    async def _take(self, frame: Frame) -> bool:
        """Handles a frame of the daemon. Returns true if it accepted the connection."""
        kind: str = frame["type"]
        if kind == "ping":
            await self._send({"type": "pong", "ping_id": frame["ping_id"]})
        elif kind == "error":
            self._problem = frame["detail"]
        elif kind == "result":
            self._settle(frame)
        elif kind == "peer_update":
            self.name = frame["peer"]["name"]
        elif kind == "connected":
            self.name, self.peer_id = frame["display_name"], frame["peer_id"]
            self._is_up, self._problem = True, ""
            for call, _ in list(self._calls.values()):
                await self._send(call)
            self._ready.set()
        elif "delivery_id" in frame:
            await self._deliver(frame)
        return kind == "connected"

    async def _deliver(self, frame: Frame) -> None:
        """Handles a message once. The receipt follows when that is done, and again if it is sent
        again, so that neither a crash nor a lost connection loses it."""
        id = frame["delivery_id"]
        if id not in self._kept:
            self._kept[id] = {}
            if len(self._kept) > _KEPT_MAX:
                self._kept.pop(next((old for old, done in self._kept.items() if done), ""), None)
            self._begin(frame)
        elif self._kept[id]:
            await self._send(self._kept[id])

    def _begin(self, frame: Frame) -> None:
        if handler := self._handlers.get(frame["type"]):
            self._spawn(self._finish(frame, handler(frame)))
        else:
            self._unhandled.append(frame)

    async def _finish(self, frame: Frame, handling: Awaitable[object]) -> None:
        id = frame["delivery_id"]
        try:
            await handling
            outcome = {"status": "seen"}
        except Exception as error:
            outcome = {"status": "failed", "detail": str(error)[:1000]}
        self._kept[id] = {"type": "delivery_ack", "delivery_id": id, **outcome}
        await self._send(self._kept[id])

    async def _answer(self, frame: Frame, handler: Handler) -> None:
        id = frame["correlation_id"]
        try:
            answer = await handler(_message(frame))
            if isinstance(answer, Option):
                chosen = {"option_id": answer.id, "message": answer.text}
                verb = self._verb("answer", correlation_id=id, **chosen)
            else:
                verb = self._verb("ack", correlation_id=id, message=answer or "")
        except Exception as error:
            reason = str(error).strip() or "The handler failed"
            verb = self._verb("decline", correlation_id=id, reason=reason)
        try:
            await verb
        except MeshRefused as refused:
            if refused.code not in ("already_closed", "unknown_ask"):  # Nobody waits for it.
                raise

    async def _replied(self, frame: Frame) -> None:
        id = frame["correlation_id"]
        is_asking = any(call["type"] == "ask" for call, _ in self._calls.values())
        if id not in self._replies and not is_asking:
            return  # It came after its timeout, or belongs to an earlier run of this program.
        if (reply := self._reply(id)).done():
            return
        if frame["outcome"] in ("answered", "acknowledged"):
            reply.set_result(_message(frame))
        else:
            text = frame["text"] or "it has no answer"
            reply.set_exception(AskEnded(f"{frame['close_reason']}: {text}", frame["close_reason"]))

    def _reply(self, id: str) -> asyncio.Future[Message]:
        """The reply to an ask. It may come before the result of the ask, which tells its id."""
        return self._replies.setdefault(id, asyncio.get_running_loop().create_future())

    async def _verb(self, kind: str, **fields: Any) -> Frame:
        """Sends a verb, again after a lost connection, until it has a result."""
        if self.closed:
            raise self.closed
        id = str(uuid.uuid4())
        call = _given({"type": kind, "request_id": id, "idempotency_key": id, **fields})
        result: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._calls[id] = (call, result)
        await self._send(call)
        return await result

    def _settle(self, frame: Frame) -> None:
        call, result = self._calls.pop(frame["request_id"], (None, None))
        if call is None or result is None or result.done():
            return
        if frame.get("error") == "idempotency_in_progress":  # The first of two is still under way.
            self._calls[call["request_id"]] = (call, result)
            asyncio.get_running_loop().call_later(0.25, lambda: self._spawn(self._send(call)))
        elif "error" in frame:
            result.set_exception(MeshRefused(frame))
        else:
            result.set_result(frame)

    async def _send(self, frame: Frame) -> None:
        """Sends a frame, if there is a connection. Everything is sent again on the next one."""
        if self._socket and (self._is_up or frame["type"] == "connect"):
            with contextlib.suppress(ConnectionClosed):
                await self._socket.send(json.dumps(frame))

    def _handle(self, kind: str, handler: Callable[[Frame], Awaitable[object]]) -> None:
        self._handlers[kind] = handler
        waiting, self._unhandled = self._unhandled, []
        for frame in waiting:
            self._begin(frame)

    def _end(self, error: MeshError) -> None:
        if self.closed:
            return
        self.closed = error
        self._ready.set()
        self._ended.set()
        waiting: list[asyncio.Future[Any]] = [result for _, result in self._calls.values()]
        for future in [*waiting, *self._replies.values()]:
            if not future.done():
                future.set_exception(error)
        if self._socket:
            self._spawn(self._socket.close())  # Ends the loop of `_run`.

    def _spawn(self, work: Awaitable[object]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _given(fields: Frame) -> Frame:
    return {name: value for name, value in fields.items() if value is not None}


def _message(frame: Frame) -> Message:
    text, sender, voice = frame.get("text") or "", frame["from_peer"], frame["voice"]
    return Message(text, sender, voice, frame.get("correlation_id"), frame)


def _kept_id(file: str | Path | None) -> str:
    """The id in the file, which is made if it does not exist; without a file, a new one."""
    if file is None:
        return str(uuid.uuid4())
    if not Path(file).exists():
        Path(file).touch(0o600)
        Path(file).write_text(str(uuid.uuid4()))
    return Path(file).read_text().strip()
