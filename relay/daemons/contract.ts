/** The machines behind the relay: what is told of them, and how the other rooms reach them. */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";
import { Instant } from "kit/core/schema.ts";
import { Problem } from "kit/core/problem.ts";

export const DaemonId = z.string().regex(
  /^dm-[0-9a-f]{12}$/,
  "A daemon id is dm- and 12 lowercase hex digits",
);

/** A daemon that is connected now. */
export const Machine = z.object({
  daemon_id: z.string(),
  machine: z.string(),
  connected_at: Instant,
  version: z.string(),
  /** What it can do, as its own `GET /health` says, `ask_pull_delivery` among it. */
  capabilities: z.record(z.string(), z.boolean()),
});
export type Machine = z.output<typeof Machine>;

/** A request for one machine's daemon. */
export interface MachineRequest {
  readonly method: string;
  /** Begins with a slash, and has its query with it. */
  readonly path: `/${string}`;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Gives the request up, on both ends of the tunnel, its answer's body included. */
  readonly signal?: AbortSignal;
  /** How long the head of the answer may take; its body may take longer. */
  readonly timeout_ms: number;
  /** The answer is wanted whole, in that same time, and no longer than this. */
  readonly whole_bytes_max?: number;
  /**
   * `browser`: a page of the relay's own, of somebody who signed in, asks. Only that is a door of
   * the human (contract 2); MCP, shares and programs are `program`, and so is what says nothing.
   */
  readonly origin?: "browser" | "program";
}

/** What the other rooms may do with machines. A namespace sees its own, and nothing else. */
export interface Machines {
  /** Those that are connected now, in order of their ids. */
  list(namespace: string): Machine[];
  /**
   * The answer of exactly this daemon: never another's, never repeated. Refuses with one of
   * `UNREACHABLE`; whatever the daemon itself answers, a refusal too, is a `Response`.
   */
  request(namespace: string, daemon_id: string, request: MachineRequest): Promise<Response>;
}

/** Why a machine did not answer; `fields.may_have_been_delivered` is false only if it is proved. */
export const UNREACHABLE = ["unknown_machine", "machine_offline", "timed_out"] as const;
export type Unreachable = Problem<(typeof UNREACHABLE)[number]>;

export function isUnreachable(error: unknown): error is Unreachable {
  return error instanceof Problem && UNREACHABLE.some((code) => code === error.code);
}

/** Whose browser it is: the room of keys knows. */
export interface Sessions {
  /** The namespace that this request's cookie signed in to; undefined without one. */
  namespaceOf(request: Request): string | undefined;
  /** Refuses a request whose `x-mesh-form-token` is not of the session that it comes with. */
  refuseOtherSession(request: Request): void;
}

export const listDaemons = contract({
  id: "relay.daemons",
  method: "GET",
  path: "/api/v1/daemons",
  summary: "The machines that are connected under this secret",
  access: "public",
  tunnel: "never",
  returns: z.object({ daemons: z.array(Machine) }),
  fails: ["no_relay_secret", "wrong_form_token"],
});

export const connectTunnel = contract({
  id: "relay.tunnel",
  method: "GET",
  path: "/ws/daemon",
  summary: "The tunnel: a daemon dials in, and answers what comes through",
  access: "public",
  tunnel: "never",
  returns: z.string(),
  fails: ["no_relay_secret", "upgrade_required", "too_many_daemons", "too_many_requests"],
});

/** What a browser says to one machine; the path after its id is the daemon's own. */
const proxyContract = {
  path: "/m/:daemon_id/*",
  access: "public",
  tunnel: "never",
  returns: z.unknown(),
  fails: [
    ...UNREACHABLE,
    "not_signed_in",
    "foreign_page",
    "not_found",
    "not_for_embedding",
    "wrong_form_token",
    "body_too_large",
    "bad_daemon_answer",
  ],
} as const;

export const proxyGet = contract({
  ...proxyContract,
  id: "relay.machine_get",
  method: "GET",
  summary: "Read from one machine, from a page of the relay",
});

export const proxyPost = contract({
  ...proxyContract,
  id: "relay.machine_post",
  method: "POST",
  summary: "Post to one machine, from a page of the relay",
});

export const proxyPatch = contract({
  ...proxyContract,
  id: "relay.machine_patch",
  method: "PATCH",
  summary: "Change something on one machine, from a page of the relay",
});

export const proxyDelete = contract({
  ...proxyContract,
  id: "relay.machine_delete",
  method: "DELETE",
  summary: "Delete something on one machine, from a page of the relay",
});

export const getRelayMetrics = contract({
  id: "relay.metrics",
  method: "GET",
  path: "/metrics",
  summary: "Numbers for Prometheus, for programs on the relay's own machine",
  access: "public",
  tunnel: "never",
  returns: z.string(),
  responseType: "text/plain",
  fails: ["not_found"],
});
