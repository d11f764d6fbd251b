/** What apps and guests ask of a daemon through the tunnel, and how its refusals come back. */

import * as z from "zod";
import { Problem } from "kit/core/problem.ts";
import { tryJson } from "kit/core/text.ts";
import { isUnreachable, type Machines } from "./contract.ts";

/** How long a daemon may take for what it has at hand. */
export const ANSWER_MS_MAX = 10_000;
/** What one answer may take of our memory: a list of some thousand peers, or of asks. */
const ANSWER_BYTES_MAX = 8_388_608;

const WORD_LENGTH_MAX = 255;
const LINE_LENGTH_MAX = 1000;
/** As long as a daemon takes one. */
const DESCRIPTION_LENGTH_MAX = 2000;
const PATH_LENGTH_MAX = 4096;

/** One line of bounded length, in which nothing is hidden: models and guests read it. */
function oneLine(length_max: number) {
  return z.string().transform((text) =>
    text.slice(0, length_max).toWellFormed().replaceAll(/[\p{C}\u2028\u2029]+/gu, " ")
  );
}

/** A daemon's answers, as far as they matter here: an older or newer one may say more, or less. */
const maybe = z.string().nullish();
/** An id, a name or a state, which stands between words of ours. */
const word = oneLine(WORD_LENGTH_MAX);
const maybeWord = word.nullish();
const Health = z.object({
  version: word.default("unknown"),
  capabilities: z.object({ ask_pull_delivery: z.boolean().default(false) }).prefault({}),
});
const Peer = z.object({
  peer_id: word,
  display_name: word,
  circle: maybeWord,
  backend: maybeWord,
  role: maybeWord,
  status: word,
  turn_state: maybeWord,
  description: oneLine(DESCRIPTION_LENGTH_MAX).nullish(),
  model: maybeWord,
  path: oneLine(PATH_LENGTH_MAX).nullish(),
  addressable: z.boolean().default(true),
});
export type Peer = z.output<typeof Peer>;
const Peers = z.object({ peers: z.array(Peer) });
const Asked = z.object({ correlation_id: word });
const Notified = z.object({
  delivery_id: word,
  delivery_state: word,
  delivered: z.boolean(),
  queued: z.boolean(),
});
const Waited = z.union([
  z.object({
    status: z.literal("resolved"),
    outcome: maybeWord,
    reply: maybe,
    close_reason: maybeWord,
    responder: maybeWord,
  }),
  z.object({ status: z.literal("pending") }),
]);
const Pending = z.object({
  asks: z.array(z.object({
    correlation_id: word,
    from_peer_id: maybeWord,
    from_peer_name: word,
    to_peer_id: word,
    text: z.string(),
    created_at: word,
  })),
});
const RefusedBody = z.object({
  error: z.string().transform((code) => /^\w{1,64}$/.test(code) ? code : "refused"),
  detail: oneLine(LINE_LENGTH_MAX).default(""),
});

const ROLES = ["agent", "orchestrator"];

/** Whether strangers may write to it at all: to no human, and to no service. */
export function isAgent({ role }: Pick<Peer, "role">): boolean {
  return ROLES.includes(role ?? "agent");
}

/** Who asks which daemon: that one and no other (specification 4, rule 2). */
export interface Way {
  readonly machines: Machines;
  readonly namespace: string;
  readonly daemon_id: string;
  /** The sender of all that is said. */
  readonly asker: string;
  readonly signal: AbortSignal;
}

/** Errors by which a daemon says that it took nothing, though it is at fault itself. */
const TOOK_NOTHING = ["storage_failed", "shutting_down"];

/** A daemon's own refusal. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  readonly code: string;
  readonly detail: string;

  constructor(status: number, { error, detail }: { error: string; detail: string }) {
    super(`${error}: ${detail}`);
    this.status = status;
    this.code = error;
    this.detail = detail;
  }

  /** Whether the daemon may have taken the request before it failed. */
  get may_have_been_taken(): boolean {
    return this.status >= 500 && !TOOK_NOTHING.includes(this.code);
  }
}

interface Asking<S extends z.ZodType> {
  readonly method: "GET" | "POST";
  readonly path: `/${string}`;
  readonly answers: S;
  readonly json?: unknown;
  readonly timeout_ms?: number;
}

export class Daemon {
  readonly #way: Way;
  #has_said = false;

  constructor(way: Way) {
    this.#way = way;
  }

  /** Whether a message was sent on its way: what fails before that delivers nothing. */
  get has_said(): boolean {
    return this.#has_said;
  }

  health() {
    return this.#ask({ method: "GET", path: "/health", answers: Health });
  }

  async peers(circle: string | undefined): Promise<Peer[]> {
    const query = new URLSearchParams({ listed: "true", ...(circle !== undefined && { circle }) });
    const path = `/peers?${query}` as const;
    return (await this.#ask({ method: "GET", path, answers: Peers })).peers;
  }

  /** The peer of exactly this id: a name that the daemon would know is none (rule 1). */
  async mustBePeer(peer_id: string): Promise<Peer> {
    const unknown = () => new Problem("unknown_peer", { peer: peer_id });
    const path = `/peers/${segment(peer_id, unknown)}` as const;
    const peer = await this.#ask({ method: "GET", path, answers: Peer });
    if (peer.peer_id !== peer_id) throw unknown();
    return peer;
  }

  /** The same, if it is an agent: nobody else is in discovery, so that nobody else is a target. */
  async mustBeAgent(peer_id: string): Promise<Peer> {
    const peer = await this.mustBePeer(peer_id);
    if (!isAgent(peer)) throw new Problem("unknown_peer", { peer: peer_id });
    return peer;
  }

  /**
   * A task, whose reply is kept until it is fetched. A daemon that would push the reply to nobody
   * is too old, and gets none (rule 8).
   */
  async ask(peer_id: string, text: string) {
    const looking = this.mustBeAgent(peer_id);
    looking.catch(() => undefined); // What is wrong with the daemon itself is told first.
    const { version, capabilities } = await this.health();
    const { daemon_id } = this.#way;
    if (!capabilities.ask_pull_delivery) {
      throw new Problem("daemon_too_old", { daemon_id, version });
    }
    await looking;
    const json = { ...this.#message(peer_id, text), reply_delivery: "pull" };
    return await this.#say({ path: "/ask", json, answers: Asked });
  }

  async notify(peer_id: string, text: string) {
    await this.mustBeAgent(peer_id);
    const json = this.#message(peer_id, text);
    return await this.#say({ path: "/notify", json, answers: Notified });
  }

  wait(request_id: string, seconds: number) {
    const unknown = () => new Problem("unknown_request", {});
    const path = `/asks/${segment(request_id, unknown)}/wait` as const;
    const json = { peer_id: this.#way.asker, timeout_seconds: seconds };
    const timeout_ms = seconds * 1000 + ANSWER_MS_MAX;
    return this.#ask({ method: "POST", path, json, answers: Waited, timeout_ms });
  }

  /** What this asker waits for; a peer that took its name is another. */
  async pending() {
    const { asker } = this.#way;
    const query = new URLSearchParams({ peer_id: asker, direction: "outbound" });
    const path = `/asks/pending?${query}` as const;
    const { asks } = await this.#ask({ method: "GET", path, answers: Pending });
    return asks.filter(({ from_peer_id, from_peer_name }) =>
      !from_peer_id && from_peer_name === asker
    );
  }

  #message(to_peer: string, text: string) {
    return { from_peer: this.#way.asker, to_peer, text };
  }

  #say<S extends z.ZodType>(saying: Omit<Asking<S>, "method">): Promise<z.output<S>> {
    this.#has_said = true;
    return this.#ask({ method: "POST", ...saying });
  }

  async #ask<S extends z.ZodType>(asking: Asking<S>): Promise<z.output<S>> {
    const { answers, timeout_ms = ANSWER_MS_MAX, ...asked } = asking;
    const { status, json } = await this.#exchange({ ...asked, timeout_ms });
    const refused = RefusedBody.safeParse(json);
    if (status >= 400 && refused.success) throw new Refused(status, refused.data);
    const read = answers.safeParse(json);
    if (status === 200 && read.success) return read.data;
    throw new Problem("bad_daemon_answer", { daemon_id: this.#way.daemon_id });
  }

  async #exchange({ json, ...request }: Omit<Asking<z.ZodType>, "answers">) {
    const { machines, namespace, daemon_id, signal } = this.#way;
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
    } catch (fault) {
      throw this.#has_said ? fault : withoutMessage(fault);
    }
  }
}

/** An id within a path: what a path would read as a step, or cannot hold, is the id of nothing. */
function segment(id: string, unknown: () => Problem): string {
  if (/^\.{1,2}$/.test(id) || !id.isWellFormed()) throw unknown();
  return encodeURIComponent(id);
}

/** Whatever became of a look-up, no message was on its way with it. */
function withoutMessage(fault: unknown): unknown {
  if (!isUnreachable(fault)) return fault;
  return new Problem(fault.code, { ...fault.fields, may_have_been_delivered: false });
}
