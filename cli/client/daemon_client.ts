/** The client of the local daemon: finds its address, sends the token, and resolves the sender. */

import { briefClock, type Clock, stopwatch } from "kit/core/clock.ts";
import {
  ApiError,
  type Call,
  plainClient,
  type PlainRequest,
  type PlainResponse,
} from "kit/http/client.ts";
import { messageOf } from "kit/core/text.ts";
import { askBlocking, identifyCaller, listInbox } from "protocol/generated/endpoints.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { paneOf } from "../../daemon/host/terminal_addresses.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { listenerAt } from "../../daemon/host/sockets/own_listener.ts";
import { unlessRejected } from "./failures.ts";
import { ANSWER_MS_MAX, sendLocally } from "./local_http.ts";

/**
 * Set by the launcher to the address of a daemon that it has sent the command to and that gave no
 * complete answer. The command then sends nothing, since the daemon may have run it.
 */
const UNANSWERED_VARIABLE = "MESH_UNANSWERED";

/** The name of a caller that is neither a peer nor a person. */
const ANONYMOUS_SENDER = "cli";

/** The configuration is invalid; the message has one line per mistake. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Nothing answers at the daemon's address, or a program that is not the daemon answers. */
export class DaemonUnreachable extends Error {
  override readonly name = "DaemonUnreachable";
  /** True if another program listens at the address, so that no daemon can start there. */
  readonly isTaken: boolean;

  constructor(url: string, cause: unknown, { isTaken = false } = {}) {
    const found = isTaken
      ? `The program that answers at ${url} is not a mesh daemon`
      : url.endsWith(":0")
      ? "No daemon is running"
      : `No daemon answers at ${url}`;
    super(found, { cause });
    this.isTaken = isTaken;
  }
}

export function isUnreachable(error: unknown): error is DaemonUnreachable {
  return error instanceof DaemonUnreachable;
}

interface RequestOptions {
  readonly method?: "GET" | "POST";
  readonly headers?: Record<string, string>;
  readonly body?: ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal;
}

export interface DaemonClient {
  /** The process in whose name it calls. */
  readonly pid: number;
  /**
   * The daemon's address, for display only. While no daemon runs, this is the configured address.
   */
  readonly url: string;
  /**
   * The daemon's address, safe to send secrets to. Throws `DaemonUnreachable` if another user's
   * program listens there.
   */
  trustedUrl(): string;
  readonly call: Call;
  /** Sends a request that has no JSON contract, such as the event stream or an upload. */
  get(path: string, init?: RequestOptions): Promise<Response>;
}

/** The sender of a command; `peer` is sent as `from_peer`. */
export interface Sender {
  readonly peer: string;
  readonly identifiedBy: "given" | "process" | "session" | "pane" | "human" | "anonymous";
}

/** The settings that a client needs. */
export interface ClientSettings {
  /** The address while no daemon runs. */
  readonly url: string;
  readonly token: string | undefined;
}

/** The address of a daemon that listens on this host and port. */
export function toUrl(host: string, port: number): string {
  const connectHost = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${connectHost.includes(":") ? `[${connectHost}]` : connectHost}:${port}`;
}

interface ClientOptions {
  readonly clock: Clock;
  /** The machine whose daemon is called through the local one; undefined for the local one. */
  readonly machine?: string | undefined;
  /** Called after each request with one line on it, for `--verbose`. */
  readonly onRequest?: (line: string) => void;
}

/** `interactive` says that a person uses this terminal. The daemon verifies this by our pid. */
export function createDaemonClient(
  env: Env,
  interactive: boolean,
  { url: configured, token }: ClientSettings,
  options?: ClientOptions,
): DaemonClient {
  const report = options?.onRequest
    ? reporter(options.clock, options.onRequest)
    : <R>(_: LoggedRequest, response: Promise<R>) => response;
  // Read on each call, because a restarted daemon may use another port.
  const currentUrl = () => runningDaemon(env)?.url ?? configured;
  const trustedUrl = () => runningDaemon(env)?.url ?? mustBeOwnListener(configured);
  const { pid } = Deno;
  const machine = options?.machine;
  const prefix = machine === undefined ? "" : `/machines/${encodeURIComponent(machine)}/call`;
  const headers = {
    ...(token && { authorization: `Bearer ${token}` }),
    ...(interactive && terminalHeader(pid)),
  };
  return {
    pid,
    get url() {
      return currentUrl();
    },
    trustedUrl,
    call: async (contract, input) => {
      const unanswered = env[UNANSWERED_VARIABLE];
      if (unanswered) throw new DaemonUnreachable(unanswered, undefined);
      const url = `${trustedUrl()}${prefix}`;
      const send = (request: PlainRequest) => report(request, callDaemon(url, request));
      try {
        return await plainClient(url, send, headers)(contract, input);
      } catch (error) {
        if (error instanceof SyntaxError) {
          throw new DaemonUnreachable(url, error, { isTaken: true });
        }
        throw error;
      }
    },
    get: async (path, init = {}) => {
      const url = trustedUrl();
      const allHeaders = { ...headers, ...init.headers };
      const request = new Request(`${url}${prefix}${path}`, { ...init, headers: allHeaders });
      return await report(request, reach(url, request, () => fetch(request)));
    },
  };
}

/** The header by which a process that runs in a terminal names itself. */
export function terminalHeader(pid: number): Record<string, string> {
  return { "x-mesh-terminal": String(pid) };
}

/**
 * Returns the sender named by `--from`. Without the flag, returns the peer that runs this command.
 * Without such a peer, returns the human if a person uses the terminal, or `cli`. Another machine
 * knows no process and no pane of this one.
 */
export async function resolveSender(
  { call, pid }: Pick<DaemonClient, "call" | "pid">,
  env: Env,
  { from, interactive, machine }: {
    readonly from: string | undefined;
    readonly interactive: boolean;
    readonly machine?: string | undefined;
  },
): Promise<Sender> {
  if (from !== undefined) return { peer: from, identifiedBy: "given" };
  const { peer_id, proof } = machine === undefined ? await identifySelf(call, pid, env) : NOBODY;
  if (peer_id !== null && proof !== "none") return { peer: peer_id, identifiedBy: proof };
  const human = interactive ? await getHumanPeer(call) : undefined;
  if (human !== undefined) return { peer: human, identifiedBy: "human" };
  return { peer: ANONYMOUS_SENDER, identifiedBy: "anonymous" };
}

const NOBODY = { peer_id: null, proof: "none" } as const;

/** The nearest peer at or above this process; without one, the peer that its environment names. */
async function identifySelf(call: Call, pid: number, env: Env) {
  // Codex's shared server runs the commands of all its sessions.
  const session = env["CODEX_THREAD_ID"] || undefined;
  const query = { pid: String(pid), session, ...paneOf(env) };
  return await call(identifyCaller, { query });
}

function getHumanPeer(call: Call): Promise<string | undefined> {
  return undefinedOnRefusal("no_human", async () => {
    const { human_peer_id } = await call(listInbox, { query: { limit: "1", here: "true" } });
    return human_peer_id;
  });
}

/** Runs `work`; undefined when the daemon refuses it with this code. */
export function undefinedOnRefusal<A>(
  code: string,
  work: () => Promise<A>,
): Promise<A | undefined> {
  const isRefusal = (error: unknown) => error instanceof ApiError && error.problem.error === code;
  return unlessRejected(isRefusal, work);
}

type LoggedRequest = Pick<PlainRequest | Request, "method" | "url">;

/** Reports each request in one line: method, address, status and time. */
function reporter(clock: Clock, report: (line: string) => void) {
  return async <R extends PlainResponse>(
    request: LoggedRequest,
    responding: Promise<R>,
  ): Promise<R> => {
    const elapsedMs = stopwatch(clock);
    const name = `${request.method} ${request.url}`;
    try {
      const response = await responding;
      report(`${name} → ${response.status} in ${Math.round(elapsedMs())} ms`);
      return response;
    } catch (error) {
      report(`${name} → ${messageOf(error)} after ${Math.round(elapsedMs())} ms`);
      throw error;
    }
  };
}

async function callDaemon(url: string, request: PlainRequest): Promise<PlainResponse> {
  const deadline = { clock: briefClock, ms: ANSWER_MS_MAX + heldMs(request) };
  const { status, text } = await reach(url, request, () => sendLocally({ ...request, deadline }));
  return { ok: status >= 200 && status < 300, status, json: async () => await JSON.parse(text) };
}

/** Time for which the request lets the daemon hold it, in milliseconds. */
function heldMs({ url, body }: PlainRequest): number {
  if (!url.pathname.endsWith(askBlocking.path)) return 0;
  return Number(JSON.parse(body ?? "{}").timeout_seconds ?? 0) * 1000;
}

/** Sends a request. Throws `DaemonUnreachable` for a connection that fails without an abort. */
async function reach<R>(
  url: string,
  { signal }: Pick<PlainRequest | Request, "signal">,
  send: () => Promise<R>,
): Promise<R> {
  try {
    return await send();
  } catch (error) {
    throw signal?.aborted ? error : new DaemonUnreachable(url, error);
  }
}

/**
 * Throws `DaemonUnreachable` when another user's program listens at the configured address, because
 * that program would receive the token. The check is not needed when `daemon.json` names a running
 * daemon.
 */
function mustBeOwnListener(url: string): string {
  if (listenerAt(new URL(url)) !== "not_ours") return url;
  const cause = new Error("another user's program listens there");
  throw new DaemonUnreachable(url, cause, { isTaken: true });
}
