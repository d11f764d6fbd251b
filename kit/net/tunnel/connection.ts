/** A connection: the features of a WebSocket that the ends of a tunnel, and `/ws`, use. */

import { nextTurn, whenStable } from "kit/net/frames.ts";

export type FrameData = string | ArrayBuffer;

export interface Connection {
  readonly open: boolean;
  /** Bytes that were sent and that the network has not taken yet. */
  readonly buffered: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code: number, reason: string): void;
}

/** The callbacks of a connection. `closed` is called once, and no callback follows it. */
export interface ConnectionListener {
  opened(): void;
  received(data: FrameData): void;
  /** `error` says why the connection failed, before or after it opened, if the reason is known. */
  closed(code: number, reason: string, error?: string): void;
}

const REASON_BYTES_MAX = 123;

/** `WebSocket.close` throws if a reason is too long. In ASCII, each character is one byte. */
function toCloseReason(reason: string): string {
  return reason.replaceAll(/[^ -~]/g, "?").slice(0, REASON_BYTES_MAX);
}

/** The properties of a WebSocket that `toConnection` uses. */
export interface SocketLike {
  binaryType: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  onopen: unknown;
  onmessage: unknown;
  onerror: unknown;
  onclose: unknown;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

export function toConnection(socket: SocketLike, listener: ConnectionListener): Connection {
  let [closing, ended, received] = [false, false, 0];
  let error: string | undefined;
  const end = (code: number, reason: string) => {
    if (ended) return;
    closing = ended = true;
    listener.closed(code, reason, error);
  };
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    if (!closing) listener.opened();
  };
  socket.onmessage = ({ data }: { data: FrameData }) => {
    received++;
    if (!closing) listener.received(data);
  };
  socket.onerror = ({ message }: { message?: string }) => {
    if (message) error = message;
  };
  socket.onclose = ({ code, reason }: { code: number; reason: string }) => end(code, reason);
  return {
    get open() {
      return !closing && socket.readyState === WebSocket.OPEN;
    },
    get buffered() {
      return socket.bufferedAmount;
    },
    send: (data) => socket.send(data),
    close(code, reason) {
      if (closing) return;
      closing = true;
      // If a socket is closed while received data is unread, Deno drops the socket without sending
      // the reason. So the close waits until no more data arrives.
      if (socket.readyState === WebSocket.CONNECTING) socket.close();
      else whenStable(() => received, () => socket.close(code, toCloseReason(reason)));
      // The other end may never confirm the close, so the connection ends without waiting for that.
      nextTurn(() => end(code, reason));
    },
  };
}
