/** A socket, as little of it as a tunnel needs; the same for both of its ends. */

import { nextTurn, whenStable } from "kit/net/frames.ts";

export type FrameData = string | ArrayBuffer;

export interface Connection {
  readonly open: boolean;
  /** Bytes handed over and not yet taken by the network. */
  readonly buffered: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code: number, reason: string): void;
}

/** What a line tells. `closed` comes once, after which nothing does. */
export interface ConnectionListener {
  opened(): void;
  received(data: FrameData): void;
  /** `fault`: why there was never a line at all, where that is known. */
  closed(code: number, reason: string, error?: string): void;
}

const REASON_BYTES_MAX = 123;

/** A longer reason, or one that is not ASCII, would throw where nobody catches. */
function toCloseReason(reason: string): string {
  return reason.replaceAll(/[^ -~]/g, "?").slice(0, REASON_BYTES_MAX);
}

/** A WebSocket, whoever made it: as much of it as a line needs. */
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

/** Turns a socket into a line. */
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
      // With more to read after it said why, the runtime drops the line, and what it said is lost.
      if (socket.readyState === WebSocket.CONNECTING) socket.close();
      else whenStable(() => received, () => socket.close(code, toCloseReason(reason)));
      // The other end may never say that it heard; we are done with it in any case.
      nextTurn(() => end(code, reason));
    },
  };
}
