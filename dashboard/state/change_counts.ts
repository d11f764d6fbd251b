/**
 * The numbers of changed lines in peers' folders, for the cards that a person sees. Each number
 * costs a run of git, so it is read once for a seen card and again when a turn has ended, one card
 * at a time.
 */

import { type Signal, signal } from "@preact/signals";
import { ApiError } from "kit/http/client.ts";
import * as at from "protocol/generated/endpoints.ts";
import { call, RELAYED } from "./calls.ts";
import type { Peer } from "./records.ts";
import { isRemote } from "./remote.ts";
import { sessionState } from "./session.ts";

export interface ChangeCounts {
  readonly added: number;
  readonly removed: number;
}

interface Known {
  /** Undefined until it is read, and for a folder without changes that can be read. */
  readonly counts: Signal<ChangeCounts | undefined>;
  /** True if a read is due or under way, or the last one is of the current turn. */
  isRead: boolean;
  wasWorking: boolean;
}

const known = new Map<string, Known>();
/** The end of the reads so far. */
let last = Promise.resolve();

export function changeCountsOf(peer_id: string): Signal<ChangeCounts | undefined> {
  return entryOf(peer_id).counts;
}

/** A card is seen: reads its numbers unless they are known. */
export function readChangeCounts(peer: Peer): void {
  const { peer_id, path, role, turn_state } = peer;
  const isHere = !RELAYED && !isRemote(peer) && path !== null && role !== "human";
  // The daemon would refuse any other page.
  if (!isHere || sessionState.value !== "human") return;
  const entry = entryOf(peer_id);
  const isWorking = turn_state === "working";
  const hasEnded = entry.wasWorking && !isWorking;
  entry.wasWorking = isWorking;
  if (entry.isRead && !hasEnded) return;
  entry.isRead = true;
  last = last.then(() => read(peer_id, entry));
}

async function read(peer_id: string, entry: Known): Promise<void> {
  try {
    const request = { params: { id: peer_id }, query: { limit: "0" } };
    const { state, added, removed } = await call(at.readChanges, request);
    const hasChanges = state === "ok" && added + removed > 0;
    entry.counts.value = hasChanges ? { added, removed } : undefined;
  } catch (error) {
    entry.counts.value = undefined;
    // Without an answer, the next view of the card tries again.
    if (!(error instanceof ApiError)) entry.isRead = false;
  }
}

function entryOf(peer_id: string): Known {
  const entry = known.get(peer_id) ??
    { counts: signal(undefined), isRead: false, wasWorking: false };
  known.set(peer_id, entry);
  return entry;
}
