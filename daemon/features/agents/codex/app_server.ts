/** Codex's shared server: JSON-RPC in WebSocket frames, over a socket in Codex's folder. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { VERSION } from "kit/core/version.ts";
import { timeout } from "kit/core/timeout.ts";
import { tryJson } from "kit/core/text.ts";
import type { Reason } from "protocol/reasons.ts";
import { checkSocket } from "../../../host/trusted_socket.ts";
import type { localWebSocket } from "./local_web_socket.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** Maximum time to open a socket, which opens at once unless its owner accepts nothing. */
const OPEN_MS_MAX = 2_000;
/** Maximum time for an answer: usually milliseconds, more while the server starts threads. */
const ANSWER_MS_MAX = 5_000;
/** Time limit for the server to confirm the end of a connection. */
const CLOSE_MS_MAX = 1_000;

/**
 * The reply to a call. `refused` has the server's message. `unanswered` means that no answer came,
 * so the effect of the call is unclear.
 */
type Reply =
  | { readonly state: "answered"; readonly result: unknown }
  | { readonly state: "refused"; readonly message: string }
  | { readonly state: "unanswered"; readonly reason: Reason };

const RpcMessage = z.looseObject({
  id: z.number().optional(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});
const InitializeResult = z.looseObject({ userAgent: z.string() });

/** The shared server's socket in a Codex folder: a link to a socket with a shorter path. */
export function socketPath(codex_home: string): string {
  return join(codex_home, "app-server-control", "app-server-control.sock");
}

/**
 * A connection to the shared server: a WebSocket over a unix socket, with one pending promise per
 * request. Dispose it to close.
 */
export class AppServer implements Disposable {
  /** The server's release, e.g. `0.169.0`; empty before the handshake. */
  version = "";
  readonly #clock: Clock;
  readonly #socket: ReturnType<typeof localWebSocket>;
  readonly #pending = new Map<number, (reply: Reply) => void>();
  readonly #open = Promise.withResolvers<"open" | "connection_refused">();
  #cancelClose: () => void = () => undefined;
  #lastId = 0;

  private constructor(socket: ReturnType<typeof localWebSocket>, clock: Clock) {
    this.#clock = clock;
    this.#socket = socket;
    socket.onopen = () => this.#open.resolve("open");
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onerror = () => undefined; // A close event follows.
    socket.onclose = () => {
      this.#open.resolve("connection_refused");
      for (const settle of this.#pending.values()) {
        settle({ state: "unanswered", reason: "hung_up" });
      }
      this.#cancelClose();
    };
  }

  /** Connects and completes the handshake; returns the reason of a failure. */
  static async connect(codex_home: string, clock: Clock): Promise<AppServer | Reason> {
    // Connects to the target of the link, because the link's own path may exceed the kernel's limit
    // for sockets (108 bytes).
    const found = unlessMissing(() => Deno.realPathSync(socketPath(codex_home)));
    const checked = found === undefined ? undefined : checkSocket(found);
    if (!checked || checked.state === "missing") return "no_server";
    if (checked.state === "refused") {
      return checked.code === "no_socket" ? "no_server" : "foreign_socket";
    }
    // Loaded only here, because most daemons have no Codex.
    const { localWebSocket } = await import("./local_web_socket.ts");
    const server = new AppServer(localWebSocket(checked.path), clock);
    const failure = await server.#initialize();
    if (failure === undefined) return server;
    server[Symbol.dispose]();
    return failure;
  }

  /** Waits for the socket, and completes the handshake. */
  async #initialize(): Promise<Reason | undefined> {
    const opened = await timeout(this.#clock, OPEN_MS_MAX, this.#open.promise) ??
      "connect_timeout";
    if (opened !== "open") return opened;
    const clientInfo = { name: "agent-mesh", title: "Agent Mesh", version: VERSION };
    // The queue of a thread is part of the experimental API.
    const capabilities = { experimentalApi: true };
    const reply = await this.call("initialize", { clientInfo, capabilities });
    const userAgent = resultOf(InitializeResult, reply)?.userAgent ?? "";
    const version = /^\S+\/(\d+\.\d+\.\S+)/.exec(userAgent)?.[1];
    if (version === undefined) return "server_unknown";
    this.#socket.send(JSON.stringify({ method: "initialized" }));
    this.version = version;
    return undefined;
  }

  async call(method: string, params: Readonly<Record<string, unknown>>): Promise<Reply> {
    if (this.#socket.readyState !== WebSocket.OPEN) {
      return { state: "unanswered", reason: "hung_up" };
    }
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#pending.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const reply = await timeout(this.#clock, ANSWER_MS_MAX, promise);
    this.#pending.delete(id);
    return reply ?? { state: "unanswered", reason: "no_answer" };
  }

  /** Handles only answers. The server's own requests and notifications are for the terminals. */
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
    this.#socket.close();
    // A suspended server never confirms the close.
    if (this.#socket.readyState !== WebSocket.CLOSED) {
      this.#cancelClose = this.#clock.setTimer(CLOSE_MS_MAX, () => this.#socket.terminate());
    }
  }
}

/** The result of a call; undefined unless the server answered in this form. */
export function resultOf<T>(shape: z.ZodType<T>, reply: Reply): T | undefined {
  return reply.state === "answered" ? shape.safeParse(reply.result).data : undefined;
}
