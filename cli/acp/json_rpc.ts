/** JSON-RPC 2.0 with a child process: one message per line, requests in both directions. */

import { cleanLine, messageOf, tryJson } from "kit/core/text.ts";

/** JSON-RPC 2.0 error codes. */
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;
/** Maximum number of requests of the other side that run at once. More are refused. */
const INCOMING_MAX = 100;
/** Maximum number of stray lines. More mean that the other side speaks another protocol. */
const BAD_LINES_MAX = 20;
const SHOWN_CHARS = 200;

/** The other side answered a request with an error. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The other side has ended, or does not speak the protocol. */
export class RpcEnded extends Error {
  override readonly name = "RpcEnded";
  /** True if it broke the protocol; false if it has only closed its output. */
  readonly isFault: boolean;

  constructor(message: string, { isFault }: { readonly isFault: boolean }) {
    super(message);
    this.isFault = isFault;
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

interface RpcHandlers {
  notified(method: string, params: unknown): void;
  /** Undefined for a method that is not offered. */
  requested(method: string, params: unknown): Promise<unknown> | undefined;
  /** Called with a line that is ignored, because it is no message. */
  ignored(line: string): void;
}

interface Waiter {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface RpcStreams {
  readonly input: LineReader;
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

export class JsonRpc {
  readonly #streams: RpcStreams;
  readonly #handlers: RpcHandlers;
  readonly #waiting = new Map<number, Waiter>();
  #written: Promise<void> = Promise.resolve();
  #lastId = 0;
  #incoming = 0;
  #badLines = 0;
  #ended: RpcEnded | undefined;

  constructor(streams: RpcStreams, handlers: RpcHandlers) {
    this.#streams = streams;
    this.#handlers = handlers;
  }

  /** Reads until the other side ends. Throws `RpcEnded` if it does not speak the protocol. */
  async run(): Promise<void> {
    let end = new RpcEnded("It has closed its standard output", { isFault: false });
    try {
      for await (const line of readLines(this.#streams.input)) this.#receive(line);
    } catch (error) {
      end = error instanceof RpcEnded ? error : new RpcEnded(messageOf(error), { isFault: true });
      throw end;
    } finally {
      this.#ended = end;
      for (const { reject } of this.#waiting.values()) reject(end);
      this.#waiting.clear();
    }
  }

  /** Rejects with `RpcError` or `RpcEnded`. */
  request(method: string, params: object): Promise<unknown> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    this.#send({ id, method, params });
    return promise;
  }

  notify(method: string, params: object): void {
    if (!this.#ended) this.#send({ method, params });
  }

  #send(message: object): void {
    const line = JSON.stringify({ jsonrpc: "2.0", ...message });
    const bytes = new TextEncoder().encode(`${line}\n`);
    // A failed write means that the other side has ended, which `run` reports.
    this.#written = this.#written.then(() => this.#streams.write(bytes)).catch(() => undefined);
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    const message = tryJson(line);
    if (!isObject(message)) return this.#ignore(line);
    const { id, method, params } = message;
    if (typeof method !== "string") return this.#onResponse(message, line);
    if (id === undefined) return this.#handlers.notified(method, params);
    void this.#answer(id, method, params);
  }

  #onResponse({ id, result, error }: JsonObject, line: string): void {
    const waiter = typeof id === "number" ? this.#waiting.get(id) : undefined;
    if (!waiter) return this.#ignore(line);
    this.#waiting.delete(Number(id));
    if (!isObject(error)) return waiter.resolve(result);
    waiter.reject(new RpcError(Number(error["code"]), describeError(error)));
  }

  async #answer(id: unknown, method: string, params: unknown): Promise<void> {
    const refuse = (code: number, message: string) => this.#send({ id, error: { code, message } });
    if (this.#incoming >= INCOMING_MAX) return refuse(INTERNAL_ERROR, "Too many requests at once");
    this.#incoming++;
    try {
      const running = this.#handlers.requested(method, params);
      if (!running) return refuse(METHOD_NOT_FOUND, `Method not found: ${method}`);
      this.#send({ id, result: await running ?? null });
    } catch (error) {
      refuse(INTERNAL_ERROR, messageOf(error));
    } finally {
      this.#incoming--;
    }
  }

  #ignore(line: string): void {
    const shown = cleanLine(line).slice(0, SHOWN_CHARS);
    this.#handlers.ignored(shown);
    if (++this.#badLines < BAD_LINES_MAX) return;
    const reason = `It does not speak JSON-RPC; it wrote, for example: ${shown}`;
    throw new RpcEnded(reason, { isFault: true });
  }
}

/** The error's message, with the details that some agents put beside a general one. */
function describeError({ message, data }: JsonObject): string {
  const { details = typeof data === "string" ? data : undefined } = isObject(data) ? data : {};
  const text = typeof details === "string" ? `${message}: ${details}` : String(message);
  return cleanLine(text).slice(0, 1_000);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The longest line. An agent sends whole files in one, but never this much. */
export const LINE_CHARS_MAX = 16 * 1024 * 1024;

type LineReader = AsyncIterable<Uint8Array>;

/** Yields each line. Throws at a line that is too long: the rest of it could be anything. */
export async function* readLines(input: LineReader): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [], length = 0;
  for await (const chunk of input) {
    const [first = "", ...more] = decoder.decode(chunk, { stream: true }).split("\n");
    for (const [at, text] of [first, ...more].entries()) {
      if (at > 0) {
        yield parts.join("");
        parts = [];
        length = 0;
      }
      parts.push(text);
      length += text.length;
      if (length > LINE_CHARS_MAX) throw new Error("It wrote a line of more than 16 MiB");
    }
  }
  if (length > 0) yield parts.join("");
}
