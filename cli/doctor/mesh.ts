/** What `mesh doctor` hears from the daemon, as far as there is one and it answers us. */

import type { Clock } from "kit/core/clock.ts";
import { Refused, type Wire } from "kit/http/client.ts";
import { timeout } from "kit/core/timeout.ts";
import { listDeliveries } from "../../daemon/features/messages/contract.ts";
import type { Health } from "../../daemon/api/events/contract.ts";
import { listPeers } from "../../daemon/features/peers/contract.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { type Daemon, Misconfigured, readSettings, Unreachable } from "../client/daemon_client.ts";
import { runningDaemon, type RuntimeInfo } from "../../daemon/host/runtime_file.ts";
import { healthOf } from "../client/lifecycle.ts";

/** What waits is told by recipient from the newest so many. */
export const WAITING_MAX = "500";

/** A healthy daemon answers in milliseconds, and in a second while it is very busy. */
const ANSWER_MS_MAX = 5_000;

export type Answer = Wire<typeof listDeliveries>;
export type Peers = Wire<typeof listPeers>["peers"];

/** Each part is undefined where it could not be had. */
export interface Mesh {
  readonly beacon: RuntimeInfo | undefined;
  readonly settings: ReturnType<typeof readSettings> | undefined;
  /** Each mistake of the configuration, in a line. */
  readonly mistakes: readonly string[];
  readonly daemon: Daemon | undefined;
  readonly health: Health | undefined;
  readonly peers: Peers | undefined;
  readonly answer: Answer | undefined;
  /** Why the daemon told us no more than its health. */
  readonly refused: string | undefined;
}

export async function hear(env: Env, clock: Clock, find: () => Daemon): Promise<Mesh> {
  const nothing = { health: undefined, peers: undefined, answer: undefined, refused: undefined };
  const read = settingsOf(env);
  const beacon = beaconOf(env);
  // Where the state directory is no use, its own findings say why.
  if (!read.settings || beacon === "unreadable") {
    return { beacon: unlessUnreadable(beacon), ...read, daemon: undefined, ...nothing };
  }
  const daemon = find();
  // A daemon that is stopped or stuck does not answer: then all parts of the answer are undefined.
  return {
    beacon,
    ...read,
    daemon,
    ...nothing,
    ...await timeout(clock, ANSWER_MS_MAX, ask(daemon)),
  };
}

type Look = RuntimeInfo | "unreadable" | undefined;

function beaconOf(env: Env): Look {
  try {
    return runningDaemon(env);
  } catch (fault) {
    const { NotADirectory, PermissionDenied, IsADirectory } = Deno.errors;
    const kinds = [NotADirectory, PermissionDenied, IsADirectory];
    if (kinds.some((kind) => fault instanceof kind)) return "unreadable";
    throw fault;
  }
}

function unlessUnreadable(look: Look): RuntimeInfo | undefined {
  return look === "unreadable" ? undefined : look;
}

function settingsOf(env: Env): Pick<Mesh, "settings" | "mistakes"> {
  try {
    return { settings: readSettings(env), mistakes: [] };
  } catch (fault) {
    if (!(fault instanceof Misconfigured)) throw fault;
    const [head = "", ...lines] = fault.message.split("\n").map((line) => line.trim());
    return { settings: undefined, mistakes: lines.length > 0 ? lines : [head] };
  }
}

async function ask(daemon: Daemon): Promise<Partial<Mesh>> {
  let health: Health | undefined;
  try {
    health = await healthOf(daemon);
    const { peers } = await daemon.call(listPeers, { query: {} });
    const query = { state: "queued", limit: WAITING_MAX } as const;
    return { health, peers, answer: await daemon.call(listDeliveries, { query }) };
  } catch (fault) {
    if (fault instanceof Unreachable) return health ? { health, refused: fault.message } : {};
    if (!(fault instanceof Refused)) throw fault;
    return health ? { health, refused: fault.message } : { refused: fault.message };
  }
}
