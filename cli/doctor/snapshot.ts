/**
 * The doctor's snapshot of the daemon: its health, peers and messages. Parts that could not be read
 * are undefined.
 */

import type { Clock } from "kit/core/clock.ts";
import { ApiError, type WireResponse } from "kit/http/client.ts";
import { timeout } from "kit/core/timeout.ts";
import { FileRefusal } from "kit/host/file_errors.ts";
import { listDeliveries, listMachines, listPeers, listPush } from "protocol/generated/endpoints.ts";
import type { Health } from "protocol/api/events.ts";
import { type Env, InvalidPath } from "../../daemon/host/paths.ts";
import { ConfigError, type DaemonClient, DaemonUnreachable } from "../client/daemon_client.ts";
import { unlessRejected } from "../client/failures.ts";
import { readSettings } from "../client/settings.ts";
import { runningDaemon, type RuntimeInfo } from "../../daemon/host/runtime_file.ts";
import { mustGetHealth } from "../client/daemon_process.ts";

/** Number of the newest waiting messages that are fetched, in order to count them per peer. */
export const QUEUED_MAX = "500";

/**
 * Time limit for the daemon's answer. A healthy daemon answers in milliseconds, or within a second
 * while it is very busy.
 */
const DAEMON_MS_MAX = 5_000;

export type DeliveryAudit = WireResponse<typeof listDeliveries>;
export type Machines = WireResponse<typeof listMachines>;
export type PushDevices = WireResponse<typeof listPush>["subscriptions"];
export type Peers = WireResponse<typeof listPeers>["peers"];

/** A part is absent when it could not be read. */
export interface MeshSnapshot {
  readonly runtimeInfo?: RuntimeInfo | undefined;
  readonly settings?: ReturnType<typeof readSettings>;
  /** The mistakes in the configuration, one line each. */
  readonly configErrors: readonly string[];
  readonly daemon?: DaemonClient;
  readonly health?: Health;
  /** True if a program that is not a daemon answers at the daemon's address. */
  readonly isAddressTaken?: boolean;
  readonly peers?: Peers;
  readonly audit?: DeliveryAudit;
  readonly machines?: Machines;
  /** The devices that get pushes; absent unless a person asks. */
  readonly push?: PushDevices;
  /** The reason why a request failed although the daemon is reachable; absent if none failed. */
  readonly refusal?: string;
}

export async function takeSnapshot(
  env: Env,
  clock: Clock,
  find: () => DaemonClient,
): Promise<MeshSnapshot> {
  const config = trySettings(env);
  const runtimeInfo = readRuntimeInfo(env);
  // Without valid settings or a readable `daemon.json`, the daemon cannot be asked. The checks of
  // the configuration and the state directory report the reason.
  if (runtimeInfo === "unreadable") return config;
  if (!config.settings) return { ...config, runtimeInfo };
  const daemon = find();
  // When a stopped or stuck daemon does not answer, all parts that it would return stay absent.
  const answers = await timeout(clock, DAEMON_MS_MAX, queryDaemon(daemon));
  return { ...config, runtimeInfo, daemon, ...answers };
}

function readRuntimeInfo(env: Env): RuntimeInfo | "unreadable" | undefined {
  try {
    return runningDaemon(env);
  } catch (error) {
    if (error instanceof FileRefusal || error instanceof InvalidPath) return "unreadable";
    throw error;
  }
}

function trySettings(env: Env): Pick<MeshSnapshot, "settings" | "configErrors"> {
  try {
    return { settings: readSettings(env), configErrors: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [head = "", ...lines] = error.message.split("\n").map((line) => line.trim());
    return { configErrors: lines.length > 0 ? lines : [head] };
  }
}

async function queryDaemon(daemon: DaemonClient): Promise<Partial<MeshSnapshot>> {
  let health: Health | undefined;
  try {
    health = await mustGetHealth(daemon);
    const { peers } = await daemon.call(listPeers, { query: { subagents: "false" } });
    const counted = await daemon.call(listDeliveries, { query: { limit: "1" } });
    const query = { state: "queued", limit: QUEUED_MAX } as const;
    const { deliveries } = await daemon.call(listDeliveries, { query });
    const audit = { ...counted, deliveries };
    return { health, peers, audit, ...await queryMachines(daemon), ...await queryPush(daemon) };
  } catch (error) {
    if (error instanceof DaemonUnreachable && !health) return { isAddressTaken: error.isTaken };
    if (!(error instanceof DaemonUnreachable || error instanceof ApiError)) throw error;
    return { ...(health && { health }), refusal: error.message };
  }
}

/** Empty if no person runs the doctor, and if the daemon is older than this program. */
async function queryPush({ call }: DaemonClient): Promise<Pick<MeshSnapshot, "push">> {
  const isHidden = (error: unknown) =>
    error instanceof ApiError && [403, 404].includes(error.status);
  const answer = await unlessRejected(isHidden, () => call(listPush, {}));
  return answer ? { push: answer.subscriptions } : {};
}

/** Empty if the daemon is older than this program, and does not know machines. */
async function queryMachines({ call }: DaemonClient): Promise<Pick<MeshSnapshot, "machines">> {
  const isUnknown = (error: unknown) => error instanceof ApiError && error.status === 404;
  const machines = await unlessRejected(isUnknown, () => call(listMachines, {}));
  return machines ? { machines } : {};
}
