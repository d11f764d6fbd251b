/**
 * HTTP/1.0 to the daemon, one connection for each request. Without `fetch`, because loading it
 * takes longer than everything else that a command does, and 1.4 MB of each MCP proxy.
 */

import type { Clock } from "kit/core/clock.ts";
import { unlessError } from "kit/host/file_errors.ts";

const CHUNK_BYTES = 65_536;

interface LocalRequest {
  readonly url: URL;
  readonly method: string;
  /** A value that is missing, or not printable ASCII, is left out. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: Uint8Array | string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Aborts a request whose answer is not complete in time. */
  readonly deadline?: { readonly clock: Pick<Clock, "setTimer">; readonly ms: number };
}

/**
 * Time limit for any answer: the daemon holds a request for at most a minute, and waits 65 s for
 * another machine that it forwards a request to.
 */
export const ANSWER_MS_MAX = 90_000;

export interface LocalResponse {
  readonly status: number;
  readonly text: string;
}

/**
 * Sends a request and reads the whole response. Throws the error of the connection, or an `Error`
 * for a response that is not HTTP or is incomplete. No proxy of the environment sees it.
 */
export async function sendLocally(request: LocalRequest): Promise<LocalResponse> {
  const { url, signal, deadline } = request;
  signal?.throwIfAborted();
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  // A stopped daemon accepts no connection once its backlog is full.
  const connecting = Deno.connect({ hostname, port: Number(url.port || 80) });
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (why: string) => {
    reject(new Error(why));
    void connecting.then(close, () => undefined);
  };
  const onAbort = () => abort("The request was aborted");
  signal?.addEventListener("abort", onAbort, { once: true });
  const cancel = deadline?.clock.setTimer(
    deadline.ms,
    () => abort(`The daemon has not answered within ${deadline.ms / 1000} s`),
  );
  try {
    return await Promise.race([exchange(connecting, request), aborted]);
  } finally {
    cancel?.();
    signal?.removeEventListener("abort", onAbort);
  }
}

async function exchange(
  connecting: Promise<Deno.TcpConn>,
  request: LocalRequest,
): Promise<LocalResponse> {
  const connection = await connecting;
  try {
    await writeAll(connection, encodeRequest(request));
    return parseResponse(await readAll(connection));
  } finally {
    close(connection);
  }
}

/** Closes a connection, which an abort may have closed before. */
function close(connection: Deno.TcpConn): void {
  unlessError((error) => error instanceof Deno.errors.BadResource, () => connection.close());
}

function encodeRequest({ url, method, headers, body = "" }: LocalRequest): Uint8Array {
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const all = {
    "Host": url.host,
    ...(content.length > 0 && { "Content-Type": "application/json" }),
    "Content-Length": String(content.length),
    ...headers,
  };
  const lines = Object.entries(all)
    .filter(([, value]) => value && !/[^\x20-\x7e]/.test(value))
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const start = `${method} ${url.pathname}${url.search} HTTP/1.0\r\n`;
  const head = new TextEncoder().encode(`${start}${lines.join("")}\r\n`);
  const whole = new Uint8Array(head.length + content.length);
  whole.set(head);
  whole.set(content, head.length);
  return whole;
}

/** The head of a response is ASCII, so that its length is the same in characters and in bytes. */
function parseResponse(bytes: Uint8Array): LocalResponse {
  const text = new TextDecoder().decode(bytes);
  const end = text.indexOf("\r\n\r\n");
  const head = text.slice(0, Math.max(0, end));
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
  if (status === undefined) throw new Error("The daemon returned no response");
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  const start = end + 4;
  if (length !== undefined && bytes.length - start < Number(length)) {
    throw new Error("The daemon closed the connection before the end of its response");
  }
  return { status: Number(status), text: text.slice(start) };
}

interface Reader {
  read(into: Uint8Array): Promise<number | null>;
}

/**
 * Reads to the end without the runtime's streams, because loading them would take a tenth of a
 * hook's time.
 */
export async function readAll(from: Reader): Promise<Uint8Array> {
  let all = new Uint8Array(CHUNK_BYTES);
  for (let size = 0;;) {
    const read = await from.read(all.subarray(size));
    if (read === null) return all.subarray(0, size);
    size += read;
    if (size === all.length) all = new Uint8Array(all.buffer.transfer(size * 2));
  }
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}
