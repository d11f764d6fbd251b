/** Compares the message tables of the machines after a storm. */

import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { listDeliveries } from "protocol/messages/contract.ts";
import { identOf } from "../verification.ts";
import type { StormPeer } from "./storm_peer.ts";

const Row = z.object({
  ident: z.string(),
  /** The id of the other machine. */
  daemon_id: z.string(),
  /** At its origin. */
  delivery_id: z.string(),
  text: z.string(),
  state: z.string(),
  reason: z.string().nullable(),
  ask_state: z.string().nullable(),
  close_reason: z.string().nullable(),
  reply: z.string().nullable(),
  stages: z.string().nullable(),
});
type Row = z.output<typeof Row>;

const ROWS = `select ident, daemon_id, delivery_id, text, state, reason, ask_state, close_reason,
    reply, (select group_concat(stage, ' ') from stages where stages.ident = messages.ident) stages
  from remote_messages join messages using (seq)
  where remote_messages.sent = :sent and text like :prefix`;

const ENDED: ReadonlySet<string> = new Set(["failed", "expired", "dropped"]);
const PROVED: ReadonlySet<string> = new Set(["accepted", "seen", ...ENDED]);

/** Each count but the first two must be zero. */
export interface LedgerCounts {
  accepted: number;
  answers: number;
  /** Accepted, and not in the ledger of its origin. */
  lost_at_origin: number;
  /** Not in the ledger of its recipient, and not ended with a reason. */
  lost_on_the_way: number;
  /** In the ledger of its recipient more than once, or handed to the client under two ids. */
  twice: number;
  /** At its recipient, but unknown to its origin. */
  invented: number;
  /** Its recipient's client has not got it. */
  undelivered: number;
  /** An answer that was accepted, and neither arrived nor was reported as late. */
  answers_lost: number;
  /** Both sides tell the story differently. */
  traces_differ: number;
  out_of_order: number;
  unaccounted: number;
}

/** Number of peers that aren't done, link entries and open messages, over all machines. */
export function underWay(peers: readonly StormPeer[]): number {
  return peers.reduce((sum, { machine, isDone }) => {
    using db = open(machine.state);
    const count = (sql: string) => Number(db.prepare(sql).get()?.["n"]);
    return sum + (isDone ? 0 : 1) + count("select count(*) n from link_entries") + count(
      "select count(*) n from messages where state in ('queued', 'attempting', 'sent')",
    );
  }, 0);
}

/** Compares the ledgers for the messages of one seed; `complain` gets each failure in a line. */
export async function compare(
  peers: readonly StormPeer[],
  seed: number,
  complain: (line: string) => void,
): Promise<LedgerCounts> {
  const found: LedgerCounts = {
    accepted: 0,
    answers: 0,
    lost_at_origin: 0,
    lost_on_the_way: 0,
    twice: 0,
    invented: 0,
    undelivered: 0,
    answers_lost: 0,
    traces_differ: 0,
    out_of_order: 0,
    unaccounted: 0,
  };
  const fail = (what: keyof LedgerCounts, row: unknown) => {
    found[what]++;
    complain(`seed ${seed}: ${what}: ${JSON.stringify(row)}`);
  };
  const ledgers = peers.map((peer) => ({ peer, ...read(peer.machine.state, seed) }));
  for (const { peer, sent } of ledgers) {
    const idents = new Set(sent.map(({ ident }) => ident));
    found.accepted += peer.accepted.size;
    for (const id of peer.accepted) {
      if (!idents.has(identOf(id))) fail("lost_at_origin", { machine: peer.machine.name, id });
    }
    for (const row of sent) {
      const there = ledgers.find((other) => other.peer.machine.id === row.daemon_id);
      const copies = there?.received.filter((copy) =>
        copy.delivery_id === row.delivery_id && copy.daemon_id === peer.machine.id
      ) ?? [];
      compareOne(row, copies, fail);
    }
  }
  for (const { peer, received } of ledgers) {
    for (const row of received) {
      const origin = ledgers.find((other) => other.peer.machine.id === row.daemon_id);
      const known = origin?.sent.find(({ delivery_id }) => delivery_id === row.delivery_id);
      if (!known) fail("invented", row);
      checkAnswer(peer, row, known, fail);
    }
    checkClient(peer, received, fail);
    const { unaccounted } = await peer.machine.call(listDeliveries, { query: {} });
    for (const row of unaccounted) fail("unaccounted", row);
    found.answers += peer.answered.size;
  }
  return found;
}

type Fail = (what: keyof LedgerCounts, row: unknown) => void;

function compareOne(row: Row, copies: readonly Row[], fail: Fail): void {
  const [copy] = copies;
  if (copies.length > 1) fail("twice", row);
  if (!copy) {
    if (!ENDED.has(row.state) || row.reason === null) fail("lost_on_the_way", row);
    return;
  }
  // An ask that was closed before it was delivered is dropped; its origin is told how it closed.
  const wasClosedFirst = copy.ask_state === "closed" && copy.state === "dropped";
  const told = PROVED.has(copy.state) && !wasClosedFirst ? copy.state : "accepted";
  const isToldTruly = row.state === told || (wasClosedFirst && row.state === "dropped");
  const isTraced = copy.state !== "accepted" || hasStage(row, "accepted_there");
  if (!isToldTruly || !isTraced || !hasStage(copy, "accepted_there")) {
    fail("traces_differ", { origin: row, copy });
  }
  if (row.ask_state !== copy.ask_state) fail("traces_differ", { origin: row, copy });
  const isSameEnd = row.close_reason === copy.close_reason && row.reply === copy.reply;
  if (!isSameEnd && !hasStage(copy, "answer_late")) fail("traces_differ", { origin: row, copy });
}

function checkAnswer(peer: StormPeer, row: Row, origin: Row | undefined, fail: Fail): void {
  const answer = peer.answered.get(`ask-${row.ident}`);
  if (answer === undefined) return;
  if (origin?.reply !== answer && !hasStage(row, "answer_late")) fail("answers_lost", row);
}

function checkClient(peer: StormPeer, received: readonly Row[], fail: Fail): void {
  const { client, machine } = peer;
  const applied = new Set(client.appliedContents);
  if (applied.size !== client.appliedContents.length) fail("twice", { client: client.name });
  for (const row of received) {
    if (!ENDED.has(row.state) && !applied.has(row.text)) fail("undelivered", row);
  }
  const last = new Map<string, number>();
  for (const text of client.appliedContents) {
    const [seed, from = "", number] = text.split(" ");
    if (Number.isNaN(Number(seed))) continue; // An answer.
    if ((last.get(from) ?? 0) >= Number(number)) fail("out_of_order", { at: machine.name, text });
    last.set(from, Number(number));
  }
}

function hasStage({ stages }: Row, stage: string): boolean {
  return stages?.split(" ").includes(stage) ?? false;
}

function read(state: string, seed: number) {
  using db = open(state);
  const statement = db.prepare(ROWS);
  const rows = (sent: number) => z.array(Row).parse(statement.all({ sent, prefix: `${seed} %` }));
  return { sent: rows(1), received: rows(0) };
}

function open(state: string): DatabaseSync {
  return new DatabaseSync(`${state}/mesh.db`, { readOnly: true });
}
