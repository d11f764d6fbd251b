/** A program as a peer of Agent Mesh: it is asked, it asks, and it survives lost connections. */

import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { Connection, type Frame, type SocketClass } from "./connection.ts";
import { findDaemon } from "./daemon.ts";
import { Deliveries } from "./deliveries.ts";
import {
  AskEnded,
  AskTimeout,
  MeshClosed,
  MeshError,
  MeshRefused,
  MeshUnreachable,
} from "./errors.ts";
import {
  type Answer,
  type Ask,
  type Message,
  type Reply,
  toAsk,
  toMessage,
  toReply,
} from "./messages.ts";
import { Replies } from "./replies.ts";
import { Verbs } from "./verbs.ts";

export { AskEnded, AskTimeout, MeshClosed, MeshError, MeshRefused, MeshUnreachable };
export type { Answer, Ask, Message, Reply };

export interface MeshPeerOptions {
  /** The peer's name: 1 to 64 letters, digits, `.`, `_` or `-`. */
  readonly name: string;
  readonly circle?: string;
  /** `service` for a program that peers of every circle find by its name; `agent` by default. */
  readonly role?: "agent" | "service";
  /** The folder in which the program works; by default the current one. */
  readonly path?: string;
  /** The daemon's address; by default that of the running daemon of this user. */
  readonly url?: string;
  /** By default `MESH_DAEMON__AUTH_TOKEN`, else `daemon.auth_token` of the configuration. */
  readonly token?: string;
  /** A secret that makes a restarted program the same peer; by default one for this process. */
  readonly clientId?: string;
  /** A file that keeps the `clientId`; it is written if it does not exist. */
  readonly clientIdFile?: string;
  /** Time for which `connect` waits for a daemon; 10 seconds by default. */
  readonly connectTimeoutMs?: number;
  /** The class to connect with. Node.js before 22 has no `WebSocket`; pass that of the package `ws`. */
  readonly WebSocket?: SocketClass;
}

export interface SendOptions {
  /** Look up the name in this circle only. */
  readonly circle?: string;
  /** Ids of uploaded files. */
  readonly attachments?: readonly string[];
}
export interface AskOptions extends SendOptions {
  /** The earlier ask that this one continues. */
  readonly replyTo?: string;
  /** Time to wait for the answer; no limit by default. */
  readonly timeoutMs?: number;
}

const CONNECT_MS = 10_000;

export class MeshPeer {
  readonly #connection: Connection;
  readonly #verbs: Verbs;
  readonly #deliveries: Deliveries;
  readonly #replies: Replies;
  readonly #ready = new Future<void>();
  readonly #closed = new Future<MeshError>();
  #connected: Frame = {};

  /** Connects to the daemon. Rejects with `MeshUnreachable` or `MeshClosed`. */
  static async connect(options: MeshPeerOptions): Promise<MeshPeer> {
    const { clientIdFile, clientId = await keptId(clientIdFile) } = options;
    const peer = new MeshPeer(options, clientId);
    const timeout_ms = options.connectTimeoutMs ?? CONNECT_MS;
    const timer = setTimeout(() => {
      const why = peer.#connection.lastError || "No daemon answers";
      peer.#connection.end(new MeshUnreachable(`${why} (waited ${timeout_ms} ms)`));
    }, timeout_ms);
    try {
      void peer.#connection.open();
      await peer.#ready.promise;
      return peer;
    } finally {
      clearTimeout(timer);
    }
  }

  private constructor(options: MeshPeerOptions, clientId: string) {
    const { WebSocket: socketClass = globalThis.WebSocket } = options;
    if (!socketClass) {
      throw new MeshError(
        "This runtime has no WebSocket: pass that of the package ws as WebSocket",
      );
    }
    const find = () => findDaemon(options);
    const hello = (token: string | undefined) => connectFrame(options, clientId, token);
    this.#connection = new Connection(find, hello, socketClass, {
      up: (frame) => this.#up(frame),
      down: () => undefined,
      frame: (frame) => this.#receive(frame),
      ended: (error) => this.#ended(error),
    });
    const send = (frame: Frame) => this.#connection.send(frame);
    this.#verbs = new Verbs(send);
    this.#deliveries = new Deliveries(send);
    this.#replies = new Replies();
    this.#deliveries.handle("ack", (frame) => this.#replies.take(toReply(frame), frame));
    this.#ready.promise.catch(() => undefined);
  }

  /** The peer's name. The daemon adds a number if the name is taken. */
  get name(): string {
    return String(this.#connected["display_name"]);
  }

  get peerId(): string {
    return String(this.#connected["peer_id"]);
  }

  /** Resolves with the reason when the connection has ended for good. */
  get closed(): Promise<MeshError> {
    return this.#closed.promise;
  }

  /** Sets the handler of asks. Earlier asks wait for it. */
  onAsk(handler: (ask: Ask) => Answer | Promise<Answer>): this {
    this.#deliveries.handle("ask", (frame) => this.#answer(toAsk(frame), handler));
    return this;
  }

  /** Sets the handler of notifications and broadcasts. Earlier messages wait for it. */
  onNotify(handler: (message: Message) => void | Promise<void>): this {
    this.#deliveries.handle("notify", (frame) => handler(toMessage(frame)));
    this.#deliveries.handle("broadcast", (frame) => handler(toMessage(frame)));
    return this;
  }

  /** Sets the handler of replies that no `ask` waits for, for example after its timeout. */
  onReply(handler: (reply: Reply) => void): this {
    this.#replies.onLate = handler;
    return this;
  }

  /**
   * Asks a peer and waits for its answer. Rejects with `AskEnded` if there will be none, with
   * `MeshRefused` if the daemon refuses it, and with `AskTimeout`.
   */
  async ask(to: string, text: string, options: AskOptions = {}): Promise<Reply> {
    const { replyTo: reply_to } = options;
    const fields = {
      ...sendFields(to, text, options),
      ...(reply_to !== undefined && { reply_to }),
    };
    const expected = this.#replies.expect();
    try {
      const { correlation_id } = await this.#verbs.call("ask", fields);
      return await expected.reply(String(correlation_id), options.timeoutMs);
    } finally {
      expected.forget();
    }
  }

  /** Sends a peer a message that needs no answer. Resolves once the daemon has stored it. */
  async notify(to: string, text: string, options: SendOptions = {}): Promise<{
    readonly deliveryId: string;
    /** The state of the message, such as `sent` or `queued`. */
    readonly state: string;
  }> {
    const result = await this.#verbs.call("notify", sendFields(to, text, options));
    return { deliveryId: String(result["delivery_id"]), state: String(result["delivery_state"]) };
  }

  /** Ends the connection. Unhandled messages come again when this peer connects again. */
  close(): void {
    this.#connection.end(new MeshClosed("The peer was closed"));
  }

  #up(frame: Frame): void {
    this.#connected = frame;
    this.#verbs.resend();
    this.#ready.resolve();
  }

  #receive(frame: Frame): void {
    if (frame["type"] === "result") this.#verbs.result(frame);
    else if (frame["delivery_id"] !== undefined) this.#deliveries.take(frame);
    else if (frame["type"] === "peer_update") {
      const { name } = frame["peer"] as { name: string };
      this.#connected = { ...this.#connected, display_name: name };
    }
  }

  #ended(error: MeshError): void {
    this.#verbs.end(error);
    this.#replies.end(error);
    this.#ready.reject(error);
    this.#closed.resolve(error);
  }

  async #answer(ask: Ask, handler: (ask: Ask) => Answer | Promise<Answer>): Promise<void> {
    const { correlationId: correlation_id } = ask;
    try {
      const answer = await this.#run(ask, handler);
      await this.#verbs.call(answer.verb, { correlation_id, ...answer.fields });
    } catch (error) {
      // The ask was answered on a lost connection, or nobody waits for the answer any more.
      const isOver = error instanceof MeshRefused &&
        ["already_closed", "unknown_ask"].includes(error.code);
      if (!isOver) throw error;
    }
  }

  /** The verb that the handler's answer means. */
  async #run(
    ask: Ask,
    handler: (ask: Ask) => Answer | Promise<Answer>,
  ): Promise<{ verb: "ack" | "answer" | "decline"; fields: Frame }> {
    try {
      const answer = await handler(ask);
      if (typeof answer !== "object") return { verb: "ack", fields: { message: answer ?? "" } };
      const { option: option_id, text: message } = answer;
      return { verb: "answer", fields: { option_id, ...(message !== undefined && { message }) } };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { verb: "decline", fields: { reason: reason.trim() || "The handler failed" } };
    }
  }
}

/** A promise with its `resolve` and `reject`. Node.js 20 lacks `Promise.withResolvers`. */
class Future<T> {
  resolve: (value: T) => void = () => undefined;
  reject: (error: unknown) => void = () => undefined;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

function connectFrame(
  { name, circle, role, path = process.cwd() }: MeshPeerOptions,
  client_id: string,
  auth_token: string | undefined,
): Frame {
  return {
    type: "connect",
    display_name: name,
    backend: "sdk",
    path,
    circle,
    role,
    auth_token,
    capabilities: ["delivery_receipts"],
    metadata: { client_id },
  };
}

function sendFields(to_peer: string, text: string, { circle, attachments }: SendOptions): Frame {
  return { to_peer, text, ...(circle && { circle }), ...(attachments && { attachments }) };
}

/** The id in the file, which is made if it does not exist; without a file, one for this process. */
async function keptId(file: string | undefined): Promise<string> {
  const id = crypto.randomUUID();
  if (file === undefined) return id;
  try {
    await writeFile(file, `${id}\n`, { mode: 0o600, flag: "wx" });
    return id;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    return (await readFile(file, "utf8")).trim();
  }
}
