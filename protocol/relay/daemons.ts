/** Machines behind the relay: contracts, and the interface through which features reach them. */

import * as z from "zod";
import { atRelay, contract } from "protocol/contract.ts";
import { Instant } from "kit/core/schema.ts";
import { Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";

export const DaemonId = z.string().regex(
  /^dm-[0-9a-f]{12}$/,
  "Must be dm- and 12 lowercase hex digits",
);

/** A connected machine. */
export const Machine = z.object({
  daemon_id: z.string(),
  machine: z.string(),
  connected_at: Instant,
  version: z.string(),
  /** The capabilities that its daemon reports in `GET /health`, such as `ask_pull_delivery`. */
  capabilities: z.record(z.string(), z.boolean()),
});
export type Machine = z.output<typeof Machine>;

/** A request to the daemon of one machine. */
export interface MachineRequest {
  readonly method: string;
  /** Begins with a slash and includes the query. */
  readonly path: `/${string}`;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Aborts the request and the body of its response, at both ends of the tunnel. */
  readonly signal?: AbortSignal;
  /** Maximum time to the head of the response. The body may take longer. */
  readonly timeout_ms: number;
  /** If set, the whole body is read within `timeout_ms`, up to this size. */
  readonly whole_bytes_max?: number;
  /**
   * `browser`: a page of the relay sent the request, and a person has signed in to that page. Only
   * such a request may act for the human (contract 2). `program`, the default, is used for MCP,
   * shares and programs.
   */
  readonly origin?: "browser" | "program";
  /** The token of the paired device that sends the request; its daemon checks it. */
  readonly device?: string | undefined;
}

/** The operations on machines that features may use. A namespace sees only its own machines. */
export interface Machines {
  /** The connected machines, in order of their ids. */
  list(namespace: string): Machine[];
  /**
   * Sends a request once, to exactly this daemon. Throws one of the `UNREACHABLE` refusals if the
   * daemon did not respond. If the daemon itself refuses, returns that refusal as a `Response`.
   */
  request(namespace: string, daemon_id: string, request: MachineRequest): Promise<Response>;
}

/** A connected machine of a namespace. */
export function findMachine(
  machines: Pick<Machines, "list">,
  namespace: string,
  daemon_id: string,
): Machine | undefined {
  return machines.list(namespace).find((machine) => machine.daemon_id === daemon_id);
}

/** Statuses of responses that have no body and therefore no media type. */
export const NO_BODY_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

/** Why a machine did not respond. `may_have_been_delivered` is false only if that is proven. */
export const UNREACHABLE = ["unknown_machine", "machine_offline", "timed_out"] as const;
export type Unreachable = Problem<(typeof UNREACHABLE)[number]>;

export function isUnreachable(error: unknown): error is Unreachable {
  return error instanceof Refusal && UNREACHABLE.some((code) => code === error.code);
}

/** The sessions of signed-in browsers. */
export interface Sessions {
  /** The namespace of the session that a request belongs to. Undefined if it belongs to none. */
  namespaceOf(request: Request): string | undefined;
  /** Throws if the request's `x-mesh-form-token` does not belong to the request's session. */
  refuseOtherSession(request: Request): void;
}

/** A browser that was paired with one machine; only the machine knows if its token counts. */
export interface PairedBrowser {
  readonly namespace: string;
  readonly token: string;
  /** A token that its pages send with each call. Other pages do not know it. */
  readonly form_token: string;
}

export interface PairedBrowsers {
  /** The paired browser of a request about a machine. */
  get(request: Request, daemon_id: string): PairedBrowser | undefined;
  /** True if the request's form token is that of this browser. */
  isFormOf(request: Request, browser: PairedBrowser): boolean;
}

export const listDaemons = contract({
  id: "relay.daemons",
  method: "GET",
  path: "/api/v1/daemons",
  summary: "List the machines that are connected under this secret",
  ...atRelay,
  returns: z.object({ daemons: z.array(Machine) }),
  fails: ["no_relay_secret", "wrong_form_token"],
});

export const connectTunnel = contract({
  id: "relay.tunnel",
  method: "GET",
  path: "/ws/daemon",
  summary: "The WebSocket by which a daemon connects and receives requests",
  ...atRelay,
  returns: z.string(),
  fails: ["no_relay_secret", "upgrade_required", "too_many_daemons", "too_many_requests"],
});

/** A browser's request to one machine. The path after the id is the path at the daemon. */
export const proxyContracts = ([
  ["GET", "Read from one machine; for pages of the relay"],
  ["POST", "Post to one machine; for pages of the relay"],
  ["PATCH", "Change something on one machine; for pages of the relay"],
  ["DELETE", "Delete something on one machine; for pages of the relay"],
] as const).map(([method, summary]) =>
  contract({
    id: `relay.machine_${method.toLowerCase()}`,
    method,
    path: "/m/:daemon_id/*",
    summary,
    ...atRelay,
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
  })
);

export const getRelayMetrics = contract({
  id: "relay.metrics",
  method: "GET",
  path: "/metrics",
  summary: "Metrics for Prometheus, for programs on the relay's own machine",
  ...atRelay,
  returns: z.string(),
  responseType: "text/plain",
  fails: ["not_found"],
});
