/** Fills a daemon's database with messages through the product's stores, while no daemon runs. */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { jsonLog } from "kit/core/log.ts";
import { EventLog } from "../../../../daemon/data/event_log.ts";
import { Database, type Tx } from "kit/data/sqlite.ts";
import { beginTrace } from "kit/http/traceparent.ts";
import { readIdentity } from "../../../../daemon/app/identity.ts";
import { migrations } from "../../../../daemon/app/migrations/migrations.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import { type IdCodec, keyedIdCodec } from "../../../../daemon/features/messages/id_codec.ts";
import * as ledger from "../../../../daemon/features/messages/ledger/ledger.ts";
import * as log from "../../../../daemon/features/messages/log/store.ts";
import { all } from "../../../../daemon/features/peers/store.ts";
import { textOf } from "./texts.ts";

const ROWS_OF_COMMIT = 5000;
/** The oldest message is this old. It is younger than what retention deletes by age. */
const HISTORY_MS = 20 * DAY_MS;

/** Content of a filled database. */
export interface Mix {
  /** Messages in the database after the fill. */
  readonly count: number;
  /** The largest `count` of the same fill. */
  readonly count_max: number;
  /** Every message is an ask that nobody has answered; otherwise every second one was answered. */
  readonly open?: boolean;
}

interface Party {
  readonly peer_id: string;
  readonly name: string;
}

/** Adds messages between the stored peers until there are `count`. Returns their last number. */
export function fillMessages(path: string, { count, count_max, open = false }: Mix): number {
  let now = systemClock.now();
  const clock = { ...systemClock, now: () => now };
  const silent = jsonLog(systemClock, "error", () => undefined);
  using db = new Database(path, migrations, silent, clock);
  const idCodec = keyedIdCodec(readIdentity(db, randomIds).number_key);
  db.define("seq_of", (ident) => idCodec.seq(String(ident)));
  const events = new EventLog(db, clock, randomIds, silent);
  const peers = all(db);
  const from_ms = now - HISTORY_MS;
  let seq = ledger.lastSeq(db);
  while (seq < count) {
    db.transactNow((tx) => {
      for (const end = Math.min(count, seq + ROWS_OF_COMMIT); seq < end;) {
        seq++;
        now = Math.floor(from_ms + HISTORY_MS * seq / (count_max + 1));
        const message = messageOf(seq, { idCodec, peers, now, open });
        insert(tx, message, now);
        report(events, message);
      }
      log.saveCursor(tx, { seq, event: events.last });
    });
  }
  db.transactNow((tx) => log.saveCursor(tx, { seq, event: events.last }));
  return seq;
}

function messageOf(
  seq: number,
  { idCodec, peers, now, open }: {
    idCodec: IdCodec;
    peers: readonly Party[];
    now: number;
    open: boolean;
  },
): StoredMessage {
  const from = at(peers, seq), to = at(peers, seq * 7 + 1 + Math.floor(seq / peers.length));
  const isAsk = open || seq % 2 === 0;
  const ident = idCodec.ident(seq);
  return {
    seq,
    delivery_id: `${isAsk ? "qd" : "notif"}-${ident}`,
    kind: isAsk ? "ask" : "notify",
    correlation_id: isAsk ? `ask-${ident}` : null,
    item_id: null,
    from_peer_id: from.peer_id,
    from_peer_name: from.name,
    to_peer_id: to.peer_id,
    to_peer_name: to.name,
    circle: "bench",
    text: textOf(seq),
    attachments: [],
    chain: null,
    voice: "peer",
    unverified: false,
    sent_by: null,
    urgent: false,
    reply_to: null,
    question: null,
    traceparent: beginTrace(randomIds),
    state: "accepted",
    transport: "websocket",
    repeatable: false,
    attempts: 1,
    created_at: now,
    attempted_at: now,
    sent_at: null,
    accepted_at: now,
    seen_at: null,
    settled_at: null,
    expires_at: null,
    reason: null,
    close_reason: null,
    outcome: null,
    closed_at: open || !isAsk ? null : now,
    proof: null,
  };
}

function at(peers: readonly Party[], index: number): Party {
  const found = peers[index % peers.length];
  if (!found) throw new Error("The database has no peers; connect some before the fill");
  return found;
}

/** Stores a message as a daemon does: its row, its answer and its words. */
function insert(tx: Tx, message: StoredMessage, now: number): void {
  const { seq, kind, correlation_id, text, closed_at, to_peer_name } = message;
  const opening = { reply_delivery: "push", origin: null, parent_id: null, routing: null } as const;
  ledger.insert(tx, message, kind === "ask" ? opening : undefined);
  const reply = closed_at === null ? null : textOf(seq * 13 + 5);
  log.index(tx, { seq, text, reply });
  if (reply === null || correlation_id === null) return;
  ledger.closeAsk(tx, {
    correlation_id,
    close_reason: "ack_with_msg",
    outcome: "answered",
    reply,
    reply_voice: "peer",
    reply_attachments: [],
    answer: null,
    responder: to_peer_name,
  }, now);
}

/** Appends the events of a message. */
function report(events: EventLog, message: StoredMessage): void {
  const { correlation_id, from_peer_id, from_peer_name, to_peer_id, to_peer_name } = message;
  const parties = { from_peer_id, from: from_peer_name, to_peer_id, to: to_peer_name };
  if (correlation_id === null) {
    const { delivery_id, state: delivery_state } = message;
    return events.append("notification", { ...parties, delivery_id, delivery_state });
  }
  events.append("ask", { ...parties, correlation_id, reply_delivery: "push" });
  if (message.closed_at === null) return;
  events.append("ack", {
    correlation_id,
    close_reason: "ack_with_msg",
    outcome: "answered",
    from_peer_id: to_peer_id,
    from: to_peer_name,
    to_peer_id: from_peer_id,
    to: from_peer_name,
  });
}
