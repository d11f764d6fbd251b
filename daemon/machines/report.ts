/** Describes another machine for people. */

import type { Reader } from "kit/data/sqlite.ts";
import type { Links } from "./links/links.ts";
import type { Machine as PinnedMachine } from "./store.ts";
import { fingerprintOf } from "./trust/cards.ts";
import type { RemotePeers } from "../features/peers/remote/remote_peers.ts";
import type { Calls } from "./calls/calls.ts";
import type { Machine } from "protocol/machines.ts";
import type { MachineDirectory } from "./directory/machine_directory.ts";

/** The parts that know something of other machines. */
interface DescribingParts {
  readonly calls: Pick<Calls, "administrators" | "pings">;
  readonly directory: Pick<MachineDirectory, "isOnline" | "lastSeen">;
  readonly links: Pick<Links, "lossOf" | "waiting">;
  readonly remotePeers: Pick<RemotePeers, "countOf">;
}

export function describeMachine(
  db: Reader,
  { daemon_id, name, card, last_seen }: PinnedMachine,
  { calls, directory, links, remotePeers }: DescribingParts,
): Machine {
  const isOnline = directory.isOnline(daemon_id);
  const { clock_ahead_ms, latency_ms } = calls.pings.of(daemon_id);
  const { entries, oldest_at } = links.waiting(db, daemon_id);
  return {
    daemon_id,
    name,
    fingerprint: fingerprintOf(card),
    status: isOnline ? "online" : "offline",
    last_seen: directory.lastSeen(daemon_id) ?? last_seen,
    latency_ms: isOnline ? latency_ms : null,
    clock_ahead_ms,
    peers: remotePeers.countOf(daemon_id),
    waiting: entries,
    oldest_waiting_at: oldest_at,
    went_back: links.lossOf(db, daemon_id),
    may_administer: calls.administrators.includes(daemon_id),
  };
}
