/** A client of a daemon's API that works through the tunnel. It serves apps and guests. */

import * as z from "zod";
import { Problem } from "protocol/problems.ts";
import { tryJson } from "kit/core/text.ts";
import { isUnreachable, type Machines } from "protocol/relay/daemons.ts";

/** Time limit for the response to a request that the daemon answers at once. */
export const ANSWER_MS_MAX = 10_000;
/** Size limit of a response. A list of some thousand peers or asks fits. */
export const ANSWER_BYTES_MAX = 8_388_608;

const SHORT_LENGTH_MAX = 255;
const LINE_LENGTH_MAX = 1000;
/** The daemon has the same limit. */
const DESCRIPTION_LENGTH_MAX = 2000;
const PATH_LENGTH_MAX = 4096;

/** A text for models and guests: one line of limited length, without invisible characters. */
function oneLine(length_max: number) {
  return z.string().transform((text) =>
    text.slice(0, length_max).toWellFormed().replaceAll(/[\p{C}\u2028\u2029]+/gu, " ")
  );
}

/** The parts of a daemon's responses that are used here. Other versions may have other fields. */
const nullishText = z.string().nullish();
/** An id, a name or a state that is inserted into a sentence. */
const shortLine = oneLine(SHORT_LENGTH_MAX);
const nullishLine = shortLine.nullish();
const Health = z.object({
  version: shortLine.default("unknown"),
  capabilities: z.object({ ask_pull_delivery: z.boolean().default(false) }).prefault({}),
});
const Peer = z.object({
  peer_id: shortLine,
  display_name: shortLine,
  circle: nullishLine,
  backend: nullishLine,
  role: nullishLine,
  status: shortLine,
  turn_state: nullishLine,
  description: oneLine(DESCRIPTION_LENGTH_MAX).nullish(),
  model: nullishLine,
  path: oneLine(PATH_LENGTH_MAX).nullish(),
  addressable: z.boolean().default(true),
  transport: nullishLine,
});
export type Peer = z.output<typeof Peer>;
const Peers = z.object({ peers: z.array(Peer) });
/** A peer that the daemon reaches over its own bus: the grant is for the daemon's machine alone. */
const isElsewhere = ({ transport }: Peer) => transport === "bus";

const AskResponse = z.object({ correlation_id: shortLine });
const NotifyResponse = z.object({
  delivery_id: shortLine,
  delivery_state: shortLine,
  delivered: z.boolean(),
  queued: z.boolean(),
});
const WaitResponse = z.union([
  z.object({
    status: z.literal("resolved"),
    outcome: nullishLine,
    reply: nullishText,
    close_reason: nullishLine,
    responder: nullishLine,
  }),
  z.object({ status: z.literal("pending") }),
]);
const PendingResponse = z.object({
  asks: z.array(z.object({
    correlation_id: shortLine,
    from_peer_id: nullishLine,
    from_peer_name: shortLine,
    to_peer_id: shortLine,
    text: z.string(),
    created_at: shortLine,
  })),
});
const ErrorResponse = z.object({
  error: z.string().transform((code) => /^\w{1,64}$/.test(code) ? code : "refused"),
  detail: oneLine(LINE_LENGTH_MAX).default(""),
});

const ROLES = ["agent", "orchestrator"];

/** True if apps and guests may write to this peer. They may not write to humans and services. */
export function isAgent({ role }: Pick<Peer, "role">): boolean {
  return ROLES.includes(role ?? "agent");
}

/** The daemon to call, and the sender in whose name it is called (specification 4, rule 2). */
interface DaemonTarget {
  readonly machines: Machines;
  readonly namespace: string;
  readonly daemon_id: string;
  /** The sender of all messages that the client sends. */
  readonly asker: string;
  readonly signal: AbortSignal;
}

/** Error codes that mean, despite a 5xx status, that the daemon has not accepted the request. */
const NOT_TAKEN_ERRORS = ["storage_failed", "shutting_down"];

/** A refusal or failure that the daemon returned. */
export class DaemonError extends Error {
  override readonly name = "DaemonError";
  readonly status: number;
  readonly code: string;
  readonly detail: string;

  constructor(status: number, { error, detail }: { error: string; detail: string }) {
    super(`${error}: ${detail}`);
    this.status = status;
    this.code = error;
    this.detail = detail;
  }

  /** True if the daemon may have accepted the request before it failed. */
  get mayHaveBeenTaken(): boolean {
    return this.status >= 500 && !NOT_TAKEN_ERRORS.includes(this.code);
  }
}

interface DaemonRequest<S extends z.ZodType> {
  readonly method: "GET" | "POST";
  readonly path: `/${string}`;
  readonly schema: S;
  readonly json?: unknown;
  readonly timeout_ms?: number;
}

export class DaemonClient {
  readonly #target: DaemonTarget;
  #hasSent = false;

  constructor(target: DaemonTarget) {
    this.#target = target;
  }

  /** True if a message was sent. If an error occurs while this is false, nothing was delivered. */
  get hasSent(): boolean {
    return this.#hasSent;
  }

  health() {
    return this.#request({ method: "GET", path: "/health", schema: Health });
  }

  async peers(circle: string | undefined): Promise<Peer[]> {
    const query = new URLSearchParams({ listed: "true", ...(circle !== undefined && { circle }) });
    const path = `/peers?${query}` as const;
    const { peers } = await this.#request({ method: "GET", path, schema: Peers });
    return peers.filter((peer) => !isElsewhere(peer));
  }

  /** The peer with exactly this id. Refuses names, although the daemon would accept them. */
  async mustBePeer(peer_id: string): Promise<Peer> {
    const unknown = () => new Problem("unknown_peer", { peer: peer_id });
    const path = `/peers/${pathSegment(peer_id, unknown)}` as const;
    const peer = await this.#request({ method: "GET", path, schema: Peer });
    if (peer.peer_id !== peer_id || isElsewhere(peer)) throw unknown();
    return peer;
  }

  /** As `mustBePeer`, but only for agents, because other peers are not listed. */
  async mustBeAgent(peer_id: string): Promise<Peer> {
    const peer = await this.mustBePeer(peer_id);
    if (!isAgent(peer)) throw new Problem("unknown_peer", { peer: peer_id });
    return peer;
  }

  /**
   * Sends an ask whose reply the daemon keeps until it is fetched. Throws `daemon_too_old` if the
   * daemon does not support that (specification 4, rule 8).
   */
  async ask(peer_id: string, text: string) {
    const agentCheck = this.mustBeAgent(peer_id);
    agentCheck.catch(() => undefined); // If the daemon itself fails, its error takes precedence.
    const { version, capabilities } = await this.health();
    const { daemon_id } = this.#target;
    if (!capabilities.ask_pull_delivery) {
      throw new Problem("daemon_too_old", { daemon_id, version });
    }
    await agentCheck;
    const json = { ...this.#message(peer_id, text), reply_delivery: "pull" };
    return await this.#send({ path: "/ask", json, schema: AskResponse });
  }

  async notify(peer_id: string, text: string) {
    await this.mustBeAgent(peer_id);
    const json = this.#message(peer_id, text);
    return await this.#send({ path: "/notify", json, schema: NotifyResponse });
  }

  wait(request_id: string, seconds: number) {
    const unknown = () => new Problem("unknown_request", {});
    const path = `/asks/${pathSegment(request_id, unknown)}/wait` as const;
    const json = { peer_id: this.#target.asker, timeout_seconds: seconds };
    const timeout_ms = seconds * 1000 + ANSWER_MS_MAX;
    return this.#request({ method: "POST", path, json, schema: WaitResponse, timeout_ms });
  }

  /** The open asks of this asker. A registered peer with the same name has its own asks. */
  async pending() {
    const { asker } = this.#target;
    const query = new URLSearchParams({ peer_id: asker, direction: "outbound" });
    const path = `/asks/pending?${query}` as const;
    const { asks } = await this.#request({ method: "GET", path, schema: PendingResponse });
    return asks.filter(({ from_peer_id, from_peer_name }) =>
      !from_peer_id && from_peer_name === asker
    );
  }

  #message(to_peer: string, text: string) {
    return { from_peer: this.#target.asker, to_peer, text };
  }

  #send<S extends z.ZodType>(request: Omit<DaemonRequest<S>, "method">): Promise<z.output<S>> {
    this.#hasSent = true;
    return this.#request({ method: "POST", ...request });
  }

  async #request<S extends z.ZodType>(request: DaemonRequest<S>): Promise<z.output<S>> {
    const { schema, timeout_ms = ANSWER_MS_MAX, ...rest } = request;
    const { status, json } = await this.#exchange({ ...rest, timeout_ms });
    const errorBody = ErrorResponse.safeParse(json);
    if (status >= 400 && errorBody.success) throw new DaemonError(status, errorBody.data);
    const parsed = schema.safeParse(json);
    if (status === 200 && parsed.success) return parsed.data;
    throw new Problem("bad_daemon_answer", { daemon_id: this.#target.daemon_id });
  }

  async #exchange({ json, ...request }: Omit<DaemonRequest<z.ZodType>, "schema">) {
    const { machines, namespace, daemon_id, signal } = this.#target;
    try {
      const response = await machines.request(namespace, daemon_id, {
        timeout_ms: ANSWER_MS_MAX,
        whole_bytes_max: ANSWER_BYTES_MAX,
        ...request,
        signal,
        ...(json !== undefined && {
          headers: { "content-type": "application/json" },
          body: JSON.stringify(json),
        }),
      });
      return { status: response.status, json: tryJson(await response.text()) };
    } catch (error) {
      throw this.#hasSent ? error : asNotDelivered(error);
    }
  }
}

/** Encodes an id for a path. Refuses `.`, `..` and malformed text, which cannot be ids. */
function pathSegment(id: string, unknown: () => Problem): string {
  if (/^\.{1,2}$/.test(id) || !id.isWellFormed()) throw unknown();
  return encodeURIComponent(id);
}

/** Marks an error as not delivered. For errors that occur before any message was sent. */
function asNotDelivered(error: unknown): unknown {
  if (!isUnreachable(error)) return error;
  return new Problem(error.code, { ...error.fields, may_have_been_delivered: false });
}
