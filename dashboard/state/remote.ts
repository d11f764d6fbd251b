/** Peers of other machines, and the machines that they are grouped by. */

import type { Message, Network, OtherMachine, Peer } from "./records.ts";

/** True if the peer runs on another machine, which the bus leads to. */
export function isRemote({ transport }: { readonly transport: string }): boolean {
  return transport === "bus";
}

/** The shown name of a peer, and its address: a remote peer's ends with `@` and its machine. */
export function withShownName(peer: Peer): Peer {
  return isRemote(peer) ? { ...peer, name: peer.display_name } : peer;
}

/** A machine as known by the peers that it shares. */
export interface RemoteGroup {
  readonly daemon_id: string;
  readonly name: string;
  /** Undefined until the machines are loaded. */
  readonly machine: OtherMachine | undefined;
  readonly peers: readonly Peer[];
}

export interface Groups {
  /** The peers of this machine. */
  readonly own: readonly Peer[];
  /** A group for each other machine: online ones first, then by name. */
  readonly others: readonly RemoteGroup[];
}

/** The peers by machine, in the order in which they are given. */
export function groupsOf(peers: readonly Peer[], machines: readonly OtherMachine[]): Groups {
  const remote = Map.groupBy(peers.filter(isRemote), ({ daemon_id }) => daemon_id);
  const known = new Map(machines.map((machine) => [machine.daemon_id, machine]));
  const ids = [...new Set([...known.keys(), ...remote.keys()])];
  const others = ids.map((daemon_id): RemoteGroup => {
    const members = remote.get(daemon_id) ?? [];
    const machine = known.get(daemon_id);
    const name = machine?.name ?? members[0]?.machine ?? daemon_id;
    return { daemon_id, name, machine, peers: members };
  });
  return { own: peers.filter((peer) => !isRemote(peer)), others: others.toSorted(byStatus) };
}

/** True if the list of peers has machines as a level. */
export function hasOthers(peers: readonly Peer[], network: Network | null | undefined): boolean {
  return (network?.machines.length ?? 0) > 0 || peers.some(isRemote);
}

function byStatus(a: RemoteGroup, b: RemoteGroup): number {
  return Number(isOffline(a)) - Number(isOffline(b)) || a.name.localeCompare(b.name);
}

/** A machine that is not known yet counts as online: its peers are there. */
export function isOffline({ machine }: RemoteGroup): boolean {
  return machine?.status === "offline";
}

/** The smallest shown difference of clocks: ages do not show a smaller one. */
const CLOCK_MS_MAX = 2000;

/** The difference of the other clock, such as `ahead by 5 min`; undefined if it is small. */
export function clockDifference(
  ahead_ms: number | null,
  duration: (seconds: number) => string,
): string | undefined {
  if (ahead_ms === null || Math.abs(ahead_ms) <= CLOCK_MS_MAX) return undefined;
  return `${ahead_ms > 0 ? "ahead" : "behind"} by ${duration(Math.abs(ahead_ms) / 1000)}`;
}

/** A time of a round trip: `0.4 ms`, `12 ms`, `1.5 s`. */
export function latency(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** A recipient of waiting messages, and their number. */
export interface Recipient {
  readonly peer_id: string;
  readonly name: string;
  readonly count: number;
}

/** The recipients among these peers; the recipient of most messages is first. */
export function recipientsAmong(
  peers: readonly Peer[],
  messages: readonly Pick<Message, "to_peer_id">[],
): Recipient[] {
  const counts = Map.groupBy(messages, ({ to_peer_id }) => to_peer_id);
  return peers.map(({ peer_id, name }) => ({
    peer_id,
    name,
    count: counts.get(peer_id)?.length ?? 0,
  })).filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count || a.name.localeCompare(b.name));
}
