/** The outcome of a kill storm: the database and the clients, beside what was acknowledged. */

import { DatabaseSync } from "node:sqlite";
import { FakeClock } from "../support/clock.ts";
import { world } from "../support/world.ts";
import type { Client } from "./client.ts";

export interface Clients {
  /** Sends receipts: messages may be repeated, and it drops those it knows. */
  readonly withReceipts: Client;
  /** Sends no receipts: it must get each message at most once. */
  readonly withoutReceipts: Client;
  /** Is never connected; the last run leases its queue. */
  readonly absent: Client;
}

/** Messages and replies that the daemon has answered with 200, and so must never lose. */
export interface AcknowledgedMessages {
  /** The 12 digits of each message, and the name of its recipient. */
  readonly messages: Map<string, string>;
  /** The text of each reply, by its ask. */
  readonly replies: Map<string, string>;
}

/** Report of the last run. */
export interface FinalReport {
  readonly counts: Record<string, number>;
  /** Messages from the leases of the absent client, in order. */
  readonly leased: readonly string[];
}

/** Longer than the daemon waits for a proof. */
const LATER_SECONDS = 31;

export interface Outcome {
  readonly kills: number;
  readonly acknowledged: number;
  /** Acknowledged messages or replies that are not in the database. */
  readonly lost: number;
  /** Acknowledged, but delivered neither to the client with receipts nor by a lease. */
  readonly undelivered: number;
  /** Repeated messages that the client with receipts dropped by their id; these are allowed. */
  readonly repeats: number;
  /** Applied twice by the client with receipts, under another id, or leased twice. */
  readonly applied_twice: number;
  /** Sent more than once to the client without receipts. */
  readonly sent_twice: number;
  /** Applied after a later message of the same sender. */
  readonly out_of_order: number;
  /** Sent without a proof, and not reported as unproved. */
  readonly unlisted: number;
  /** Rows in no state, or counted twice. */
  readonly unaccounted: number;
  readonly integrity: string;
  readonly slowest_start_ms: number;
}

interface StormContext {
  readonly clients: Clients;
  readonly acknowledged: AcknowledgedMessages;
  readonly finalReport: FinalReport;
}

export async function evaluate(path: string, context: StormContext) {
  const {
    clients: { withReceipts, withoutReceipts },
    acknowledged: { messages, replies },
    finalReport,
  } = context;
  const rows = rowsOf(path);
  const idents = [...messages.keys()];
  const received = new Set([...withReceipts.received.keys()].map(identOf));
  const leased = new Set(finalReport.leased);
  const counted_total = Object.values(finalReport.counts).reduce((sum, count) => sum + count, 0);
  const undelivered_messages = idents.filter((ident) =>
    messages.get(ident) === "careful" && !received.has(ident)
  );
  const notLeased = idents.filter((ident) => messages.get(ident) === "away" && !leased.has(ident));
  const appliedTexts = new Set(withReceipts.appliedContents);
  const undeliveredReplies = [...replies.keys()].filter((id) => !appliedTexts.has(`end of ${id}`));
  return {
    acknowledged: messages.size + replies.size,
    lost: idents.filter((ident) => !rows.idents.has(ident)).length +
      [...replies].filter(([id, reply]) => rows.replies.get(identOf(id)) !== reply).length,
    undelivered: undelivered_messages.length + undeliveredReplies.length +
      notLeased.filter((ident) => rows.states.get(ident) !== "dropped").length, // Its ask was answered.
    repeats: [...withReceipts.received.values()].reduce((sum, { times }) => sum + times - 1, 0),
    applied_twice: withReceipts.appliedContents.length - appliedTexts.size +
      finalReport.leased.length -
      leased.size,
    sent_twice: [...withoutReceipts.received.values()].filter(({ times }) => times > 1).length,
    out_of_order: outOfOrder(withReceipts.appliedContents) +
      outOfOrder(withoutReceipts.appliedContents),
    unlisted: await countUnlisted(path),
    unaccounted: Math.abs(rows.count - counted_total) + (rows.count - rows.idents.size),
    integrity: rows.integrity,
  };
}

function rowsOf(path: string) {
  using db = new DatabaseSync(path);
  const rows = db.prepare("select ident, state, reply from messages").all();
  return {
    count: rows.length,
    idents: new Set(rows.map(({ ident }) => String(ident))),
    states: new Map(rows.map(({ ident, state }) => [String(ident), String(state)])),
    replies: new Map(rows.map(({ ident, reply }) => [String(ident), reply])),
    integrity: String(db.prepare("pragma integrity_check").get()?.["integrity_check"]),
  };
}

/** Each text begins with its sender and a rising number. */
function outOfOrder(applied: readonly string[]): number {
  const last = new Map<string, string>();
  let count = 0;
  for (const text of applied) {
    const [, from = "", number = ""] = /^(\d+-\d+) (\d{6}) /.exec(text) ?? [];
    if (number === "") continue;
    if ((last.get(from) ?? "") >= number) count++;
    last.set(from, number);
  }
  return count;
}

/** Opens the database half a minute later with a test clock; counts what is not reported. */
async function countUnlisted(path: string): Promise<number> {
  await using later = world({ db_path: path, clock: new FakeClock(new Date().toISOString()) });
  using db = new DatabaseSync(path);
  await later.tick(LATER_SECONDS);
  const sent = db.prepare(
    "select count(*) as count from messages where state = 'sent' and not repeatable",
  ).get();
  const { unproved } = await later.clock.during(later.daemon.deliveryAudit.audit());
  return Number(sent?.["count"]) - unproved;
}

/** The 12 digits that all ids of a message share. */
export function identOf(id: string): string {
  return id.split("-")[1] ?? "";
}
