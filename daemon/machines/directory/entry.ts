/** A machine's entry in the directory: the peers that it shares; and why an entry is refused. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { tryJson } from "kit/core/text.ts";
import { sharedHuman, sharedPeer } from "../../features/peers/remote/schemas.ts";
import { SHARED_PEERS_MAX } from "../../features/peers/remote/shared_peers.ts";

/** The version of the format. A machine refuses entries of other versions. */
const VERSION = 1;

export const Run = z.string().regex(/^[0-9a-f]{16}$/);

export const Entry = z.object({
  version: z.literal(VERSION),
  /** When the machine made the entry, by its clock. */
  at: Instant,
  mesh_version: z.string().max(64),
  peers: z.array(sharedPeer()).max(SHARED_PEERS_MAX),
  human: sharedHuman().nullable(),
  /** The run of the daemon; absent in entries of versions without heartbeats. */
  run: Run.optional(),
  /** Counts the entries and heartbeats that the run has sent. */
  seq: z.number().int().nonnegative().default(0),
  /** Counts the changes of content in this run. A heartbeat names the last revision. */
  revision: z.number().int().nonnegative().default(0),
  /** True if the machine supports heartbeats; other machines need whole entries. */
  beats: z.boolean().default(false),
  /** True if the machine is leaving: the last entry of a run. */
  leaves: z.boolean().default(false),
});
export type Entry = z.output<typeof Entry>;

/** For reading: its peers are parsed singly, as only a newer mesh may know the fields of a peer. */
const ReadEntry = Entry.extend({ peers: z.array(z.unknown()).max(SHARED_PEERS_MAX) });
const Version = z.object({ version: z.number() });

type ParsedEntry =
  | { readonly ok: true; readonly entry: Entry; readonly skipped: number }
  | { readonly ok: false; readonly reason: "malformed" | "unknown_version" };

export function toBytes(entry: Omit<Entry, "version">): Uint8Array {
  const text = JSON.stringify(z.encode(Entry, { version: VERSION, ...entry }));
  return new TextEncoder().encode(text);
}

/** Reads an entry. `skipped` counts its peers that cannot be read. */
export function fromBytes(bytes: Uint8Array): ParsedEntry {
  const given = tryJson(new TextDecoder().decode(bytes));
  const parsed = ReadEntry.safeParse(given);
  if (!parsed.success) {
    const version = Version.safeParse(given).data?.version;
    const isOther = version !== undefined && version !== VERSION;
    return { ok: false, reason: isOther ? "unknown_version" : "malformed" };
  }
  const peers = parsed.data.peers.flatMap((peer) => sharedPeer().safeParse(peer).data ?? []);
  const skipped = parsed.data.peers.length - peers.length;
  return { ok: true, entry: { ...parsed.data, peers }, skipped };
}

/** The meaning of each reason, with the way out. */
// deno-fmt-ignore
const REFUSALS = {
  not_readable:    ["It is not an entry that this machine made for this network", "join the machine again, with the network secret of this one"],
  malformed:       ["Its content cannot be read", "update the mesh on both machines"],
  unknown_version: ["It has a format that this version does not know", "update the mesh on both machines"],
  outdated:        ["It is older than an earlier entry", "if it stays so, check the clock of that machine"],
  peers_skipped:   ["Some of its peers cannot be read, and are left out", "update the mesh on this machine"],
  peer_id_taken:   ["Some of its peers have ids that belong to another machine, and are left out", "if its state was copied from another machine, run `mesh machines renew-identity` there"],
} as const;

export type EntryRefusal = keyof typeof REFUSALS;

export function describe(reason: EntryRefusal): { readonly detail: string; readonly hint: string } {
  const [detail, hint] = REFUSALS[reason];
  return { detail, hint };
}
