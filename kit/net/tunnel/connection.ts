/** A tunnel's connection: the part of a WebSocket that both ends of a tunnel use. */

import { nextTurn, whenStable } from "kit/net/frames.ts";

export type FrameData = string | ArrayBuffer;

export interface Connection {
  readonly open: boolean;
  /** Bytes that were sent and not yet taken by the network. */
  readonly buffered: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code: number, reason: string): void;
}

/** The callbacks of a connection. `closed` is called once, and nothing after it. */
export interface ConnectionListener {
  opened(): void;
  received(data: FrameData): void;
  /** `error`: why the connection was never opened, if that is known. */
  closed(code: number, reason: string, error?: string): void;
}

const REASON_BYTES_MAX = 123;

/** `WebSocket.close` throws for a reason that is too long. ASCII makes characters bytes. */
function toCloseReason(reason: string): string {
  return reason.replaceAll(/[^ -~]/g, "?").slice(0, REASON_BYTES_MAX);
}

/** The part of a WebSocket that `toConnection` needs. */
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

/** Wraps a socket as a connection. */
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
      // Deno drops a socket that is closed with data unread, and then the reason is not sent.
      if (socket.readyState === WebSocket.CONNECTING) socket.close();
      else whenStable(() => received, () => socket.close(code, toCloseReason(reason)));
      // The other end may never confirm the close, so it is not waited for.
      nextTurn(() => end(code, reason));
    },
  };
}
