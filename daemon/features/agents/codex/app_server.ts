/** Codex's shared server: JSON-RPC in WebSocket frames, over a socket in Codex's folder. */

import { join } from "node:path";
import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { VERSION } from "kit/http/contract.ts";
import { timeout } from "kit/core/timeout.ts";
import { tryJson } from "kit/core/text.ts";
import type { Reason } from "kit/core/reasons.ts";
import { checkSocket } from "../../../host/trusted_socket.ts";

/**
 * How long opening a socket may take. A local socket opens at once, unless its owner has stopped
 * accepting connections.
 */
const OPEN_MS_MAX = 2_000;
/**
 * How long an answer may take. Answers take milliseconds, or more while the server starts threads.
 */
const ANSWER_MS_MAX = 5_000;

/** Why the server cannot be used. In all of these cases, not one byte of a message was sent. */
export type Unreachable =
  | "no_server" // There is no socket, because no terminal has started the shared server.
  // Another user may listen there, because the socket or a folder above it is not ours alone.
  | "foreign_socket"
  | "connection_refused"
  | "connect_timeout"
  | "server_unknown"; // The server's handshake is not Codex's.

/**
 * The reply to a call. `refused` has the server's message. `lost` means that no answer came, so
 * that the effect of the call is unclear.
 */
export type Reply =
  | { readonly state: "answered"; readonly result: unknown }
  | { readonly state: "refused"; readonly message: string }
  | { readonly state: "lost"; readonly reason: Reason };

const RpcMessage = z.looseObject({
  id: z.number().optional(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});
const InitializeResult = z.looseObject({ userAgent: z.string() });

/**
 * The path of the shared server's socket in a Codex folder. It is a link to a socket with a shorter
 * path.
 */
export function socketPath(codex_home: string): string {
  return join(codex_home, "app-server-control", "app-server-control.sock");
}

/** A connection to the shared server; dispose it to close. */
export class AppServer implements Disposable {
  /** The server's release, e.g. `0.169.0`. */
  readonly version: string;
  readonly #connection: ServerConnection;

  private constructor(connection: ServerConnection, version: string) {
    this.#connection = connection;
    this.version = version;
  }

  /** Connects and completes the handshake. */
  static async connect(codex_home: string, clock: Clock): Promise<AppServer | Unreachable> {
    // Connects to the target of the link, because the link's own path may exceed the kernel's limit
    // for sockets (108 bytes).
    const found = unlessMissing(() => Deno.realPathSync(socketPath(codex_home)));
    const checked = found === undefined ? undefined : checkSocket(found);
    if (!checked || checked.state === "missing") return "no_server";
    if (checked.state === "refused") {
      return checked.code === "no_socket" ? "no_server" : "foreign_socket";
    }
    const connection = new ServerConnection(checked.path, clock);
    const opened = await connection.opened();
    const connected = opened === "open" ? await initialize(connection) : opened;
    if (typeof connected !== "string") return connected;
    connection[Symbol.dispose]();
    return connected;

    async function initialize(connection: ServerConnection): Promise<AppServer | Unreachable> {
      const clientInfo = { name: "agent-mesh", title: "Agent Mesh", version: VERSION };
      // The queue of a thread is part of the experimental API.
      const capabilities = { experimentalApi: true };
      const reply = await connection.call("initialize", { clientInfo, capabilities });
      const { data } = InitializeResult.safeParse(
        reply.state === "answered" ? reply.result : undefined,
      );
      const version = /^\S+\/(\d+\.\d+\.\S+)/.exec(data?.userAgent ?? "")?.[1];
      if (version === undefined) return "server_unknown";
      connection.notify("initialized");
      return new AppServer(connection, version);
    }
  }

  call(method: string, params: Readonly<Record<string, unknown>>): Promise<Reply> {
    return this.#connection.call(method, params);
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }
}

/** A WebSocket over a unix socket, with one pending promise per request. */
class ServerConnection implements Disposable {
  readonly #clock: Clock;
  readonly #http: Deno.HttpClient;
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (reply: Reply) => void>();
  readonly #open = Promise.withResolvers<"open" | "connection_refused">();
  #lastId = 0;

  constructor(path: string, clock: Clock) {
    this.#clock = clock;
    this.#http = Deno.createHttpClient({ proxy: { transport: "unix", path } });
    this.#socket = new WebSocket("ws://localhost/", { client: this.#http });
    this.#socket.onopen = () => this.#open.resolve("open");
    this.#socket.onmessage = ({ data }) => this.#receive(data);
    this.#socket.onerror = (event) => event.preventDefault(); // A close event follows.
    this.#socket.onclose = () => {
      this.#open.resolve("connection_refused");
      for (const settle of this.#pending.values()) settle({ state: "lost", reason: "hung_up" });
      this.#http.close();
    };
  }

  async opened(): Promise<"open" | Unreachable> {
    return await timeout(this.#clock, OPEN_MS_MAX, this.#open.promise) ?? "connect_timeout";
  }

  async call(method: string, params: unknown): Promise<Reply> {
    if (this.#socket.readyState !== WebSocket.OPEN) return { state: "lost", reason: "hung_up" };
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#pending.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const reply = await timeout(this.#clock, ANSWER_MS_MAX, promise);
    this.#pending.delete(id);
    return reply ?? { state: "lost", reason: "no_answer" };
  }

  notify(method: string): void {
    this.#socket.send(JSON.stringify({ method }));
  }

  /**
   * Handles answers only, because the server's own requests and notifications are meant for the
   * terminals.
   */
  #receive(frame: unknown): void {
    const { data } = RpcMessage.safeParse(typeof frame === "string" ? tryJson(frame) : undefined);
    if (data?.id === undefined || data.method !== undefined) return;
    const { error, result } = data;
    const reply: Reply = error
      ? { state: "refused", message: error.message }
      : { state: "answered", result };
    this.#pending.get(data.id)?.(reply);
  }

  [Symbol.dispose](): void {
    if (this.#socket.readyState <= WebSocket.OPEN) this.#socket.close();
  }
}

function unlessMissing<T>(operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
