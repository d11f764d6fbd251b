/** Finds the daemon, carries the token and the terminal's proof, and says who speaks. */

import { type Call, client, Refused } from "kit/http/client.ts";
import { messageOf } from "kit/core/text.ts";
import { peerByPane } from "../../daemon/features/peers/contract.ts";
import { listInbox } from "../../daemon/features/inbox/contract.ts";
import { readConfig } from "../../daemon/app/config.ts";
import { configPath, type Env, readTextOrNothing } from "../../daemon/host/paths.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { listenerAt } from "../../daemon/host/sockets/own_listener.ts";

/** The name of a caller that is neither a peer nor a person. */
const NOBODY = "cli";

/** The configuration holds mistakes; its message has a line for each. */
export class Misconfigured extends Error {
  override readonly name = "Misconfigured";
}

/** Nothing answers, or what answers is no daemon of ours. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  constructor(url: string, cause: unknown) {
    super(url.endsWith(":0") ? "No daemon is up" : `No daemon answers at ${url}`, { cause });
  }
}

interface Sending {
  readonly method?: "GET" | "POST";
  readonly headers?: Record<string, string>;
  readonly body?: ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal;
}

export interface Daemon {
  /** Where it is, or would be: to be shown. */
  readonly url: string;
  /** Where to send what is secret. Throws where no daemon of ours is there. */
  address(): string;
  readonly call: Call;
  /** For what is no contract of JSON: the stream, uploads. */
  get(path: string, init?: Sending): Promise<Response>;
}

/** Who speaks, as the daemon is told in `from_peer`. */
export interface Sender {
  readonly peer: string;
  readonly known: "given" | "pane" | "human" | "nobody";
}

export function readSettings(env: Env): ReturnType<typeof readConfig> {
  try {
    return readConfig(env, readTextOrNothing);
  } catch (fault) {
    const why = messageOf(fault);
    throw new Misconfigured(why, { cause: configPath(env) });
  }
}

/** `person`: somebody sits at this terminal, which the daemon verifies by our pid. */
export function findDaemon(env: Env, person: boolean): Daemon {
  const config = readSettings(env);
  const token = config["daemon.auth_token"]?.reveal();
  const configured = addressOf(config["daemon.host"], config["daemon.port"]);
  // Looked up each time: a daemon that was restarted meanwhile may be at another port.
  const find = () => runningDaemon(env)?.url ?? configured;
  const address = () => runningDaemon(env)?.url ?? ours(configured);
  const headers = {
    ...(token && { authorization: `Bearer ${token}` }),
    ...(person && { "x-mesh-terminal": String(Deno.pid) }),
  };
  return {
    get url() {
      return find();
    },
    address,
    call: async (contract, given) => {
      const url = address();
      try {
        return await client(url, (request) => reach(url, request), headers)(contract, given);
      } catch (fault) {
        if (fault instanceof SyntaxError) throw new Unreachable(url, fault);
        throw fault;
      }
    },
    get: async (path, init = {}) => {
      const url = address();
      const all = { ...headers, ...init.headers };
      return await reach(url, new Request(new URL(path, url), { ...init, headers: all }));
    },
  };
}

/** `--from`; else the peer of this tmux pane; else the human at a terminal; else `cli`. */
export async function senderOf(
  { call }: Pick<Daemon, "call">,
  env: Env,
  { from, person }: { from: string | undefined; person: boolean },
): Promise<Sender> {
  if (from !== undefined) return { peer: from, known: "given" };
  const peer = await peerOfPane(call, env);
  if (peer !== undefined) return { peer, known: "pane" };
  const human = person ? await humanOf(call) : undefined;
  if (human !== undefined) return { peer: human, known: "human" };
  return { peer: NOBODY, known: "nobody" };
}

async function peerOfPane(call: Call, env: Env): Promise<string | undefined> {
  const pane_id = env["TMUX_PANE"];
  // `$TMUX` is socket,server pid,session; a socket's path may itself hold commas.
  const tmux_socket = env["TMUX"]?.replace(/,[^,]*,[^,]*$/, "");
  if (!pane_id || !tmux_socket) return undefined;
  return await unless("no_pane_peer", async () => {
    const { peer_id } = await call(peerByPane, { params: { pane_id }, query: { tmux_socket } });
    return peer_id;
  });
}

function humanOf(call: Call): Promise<string | undefined> {
  return unless("no_human", async () => {
    const { human_peer_id } = await call(listInbox, { query: { limit: "1" } });
    return human_peer_id;
  });
}

/** Undefined when the daemon refuses with just this code. */
async function unless<A>(code: string, work: () => Promise<A>): Promise<A | undefined> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof Refused && fault.problem.error === code) return undefined;
    throw fault;
  }
}

async function reach(url: string, request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (fault) {
    if (request.signal.aborted) throw fault;
    throw new Unreachable(url, fault);
  }
}

/**
 * Without a running daemon's own word another user's program may be at our address, and would be
 * sent the token.
 */
function ours(url: string): string {
  if (listenerAt(new URL(url)) !== "not_ours") return url;
  throw new Unreachable(url, new Error("no program of this user listens there"));
}

function addressOf(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
