/** What `mesh doctor` hears from the daemon, as far as there is one and it answers us. */

import type { Clock } from "kit/core/clock.ts";
import { ApiError, type WireResponse } from "kit/http/client.ts";
import { timeout } from "kit/core/timeout.ts";
import { listDeliveries } from "../../daemon/features/messages/contract.ts";
import type { Health } from "../../daemon/api/events/contract.ts";
import { listPeers } from "../../daemon/features/peers/contract.ts";
import type { Env } from "../../daemon/host/paths.ts";
import {
  ConfigError,
  type DaemonClient,
  DaemonUnreachable,
  readSettings,
} from "../client/daemon_client.ts";
import { runningDaemon, type RuntimeInfo } from "../../daemon/host/runtime_file.ts";
import { mustGetHealth } from "../client/daemon_process.ts";

/** What waits is told by recipient from the newest so many. */
export const QUEUED_LISTED_MAX = "500";

/** A healthy daemon answers in milliseconds, and in a second while it is very busy. */
const DAEMON_MS_MAX = 5_000;

export type DeliveryAudit = WireResponse<typeof listDeliveries>;
export type Peers = WireResponse<typeof listPeers>["peers"];

/** Each part is undefined where it could not be had. */
export interface MeshSnapshot {
  readonly runtimeInfo: RuntimeInfo | undefined;
  readonly settings: ReturnType<typeof readSettings> | undefined;
  /** Each mistake of the configuration, in a line. */
  readonly configErrors: readonly string[];
  readonly daemon: DaemonClient | undefined;
  readonly health: Health | undefined;
  readonly peers: Peers | undefined;
  readonly audit: DeliveryAudit | undefined;
  /** Why the daemon told us no more than its health. */
  readonly refusal: string | undefined;
}

export async function takeSnapshot(
  env: Env,
  clock: Clock,
  find: () => DaemonClient,
): Promise<MeshSnapshot> {
  const unknownParts = {
    health: undefined,
    peers: undefined,
    audit: undefined,
    refusal: undefined,
  };
  const settingsRead = trySettings(env);
  const runtimeInfo = readRuntimeInfo(env);
  // Where the state directory is no use, its own findings say why.
  if (!settingsRead.settings || runtimeInfo === "unreadable") {
    return {
      runtimeInfo: toRuntimeInfo(runtimeInfo),
      ...settingsRead,
      daemon: undefined,
      ...unknownParts,
    };
  }
  const daemon = find();
  // A daemon that is stopped or stuck does not answer: then all parts of the answer are undefined.
  return {
    runtimeInfo,
    ...settingsRead,
    daemon,
    ...unknownParts,
    ...await timeout(clock, DAEMON_MS_MAX, queryDaemon(daemon)),
  };
}

type RuntimeInfoState = RuntimeInfo | "unreadable" | undefined;

function readRuntimeInfo(env: Env): RuntimeInfoState {
  try {
    return runningDaemon(env);
  } catch (error) {
    const { NotADirectory, PermissionDenied, IsADirectory } = Deno.errors;
    const kinds = [NotADirectory, PermissionDenied, IsADirectory];
    if (kinds.some((kind) => error instanceof kind)) return "unreadable";
    throw error;
  }
}

function toRuntimeInfo(state: RuntimeInfoState): RuntimeInfo | undefined {
  return state === "unreadable" ? undefined : state;
}

function trySettings(env: Env): Pick<MeshSnapshot, "settings" | "configErrors"> {
  try {
    return { settings: readSettings(env), configErrors: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [head = "", ...lines] = error.message.split("\n").map((line) => line.trim());
    return { settings: undefined, configErrors: lines.length > 0 ? lines : [head] };
  }
}

async function queryDaemon(daemon: DaemonClient): Promise<Partial<MeshSnapshot>> {
  let health: Health | undefined;
  try {
    health = await mustGetHealth(daemon);
    const { peers } = await daemon.call(listPeers, { query: {} });
    const query = { state: "queued", limit: QUEUED_LISTED_MAX } as const;
    return { health, peers, audit: await daemon.call(listDeliveries, { query }) };
  } catch (error) {
    if (error instanceof DaemonUnreachable) return health ? { health, refusal: error.message } : {};
    if (!(error instanceof ApiError)) throw error;
    return health ? { health, refusal: error.message } : { refusal: error.message };
  }
}
