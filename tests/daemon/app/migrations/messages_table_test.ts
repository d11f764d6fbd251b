/** The migration that rebuilds the table of messages: no row is lost, and no number is reused. */

import { temporary } from "../../../support/programs/child.ts";
import assert from "node:assert/strict";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import * as ledger from "../../../../daemon/features/messages/ledger/ledger.ts";
import { migrations } from "../../../../daemon/app/migrations/migrations.ts";
import { FakeClock } from "../../../support/clock.ts";

/** Index of the migration that rebuilds the table. */
const MESSAGES_MIGRATION = migrations.findIndex((sql) =>
  sql.includes("create table messages_next")
);
const clock = new FakeClock(), log = jsonLog(clock, "error", () => {});
const Row = z.record(z.string(), z.unknown());
const Chosen = z.object({ correlation_id: z.string(), seq: z.number() });

const ASK = `insert into messages (seq, ident, kind, correlation_id, from_peer_name, to_peer_id,
    to_peer_name, text, attachments, voice, traceparent, state, rung, created_at, ask_state,
    reply_delivery, reply_voice)
  values (:seq, 'a', 'ask', 'mine', 'ada', 'peer-b', 'bob', 'Why', '[]', 'peer', '00', 'sent',
    'pane', 1, 'open', 'push', 'human')`;

function file() {
  const folder = temporary();
  const path = `${folder.path}/mesh.db`;
  return {
    path,
    open: (upTo: number) => new Database(path, migrations.slice(0, upTo), log, clock),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const rowsOf = (db: Database) => db.all(Row, "select * from messages order by seq");

Deno.test("the rebuilt table holds every row, the ids that askers chose, and the last number", () => {
  using old = file();
  using before = old.open(MESSAGES_MIGRATION);
  before.transactNow((tx) => {
    for (const seq of [3, 4, 9]) tx.run(ASK, { seq });
    tx.run("insert into chosen_ids (correlation_id, seq) values ('mine', 4)");
    tx.run("delete from messages where seq = 9"); // As retention does.
  });
  const rows = rowsOf(before);
  before[Symbol.dispose]();
  using after = old.open(MESSAGES_MIGRATION + 1);
  assert.deepEqual(rowsOf(after), rows);
  assert.equal(ledger.lastSeq(after), 9);
  const chosen = () => after.all(Chosen, "select correlation_id, seq from chosen_ids");
  assert.deepEqual(chosen(), [{ correlation_id: "mine", seq: 4 }]);
  after.transactNow((tx) => ledger.remove(tx, [4]));
  assert.deepEqual(chosen(), []);
});

Deno.test("a rebuilt empty table has used no number", () => {
  using old = file();
  old.open(MESSAGES_MIGRATION)[Symbol.dispose]();
  using after = old.open(MESSAGES_MIGRATION + 1);
  assert.equal(ledger.lastSeq(after), 0);
});

Deno.test("the table rejects an unknown kind, voice or state", () => {
  using db = new Database(":memory:", migrations, log, clock);
  const insert = (column: string) =>
    db.transactNow((tx) => {
      tx.run(ASK, { seq: 1 });
      tx.run(`update messages set ${column} = 'else' where seq = 1`);
    });
  for (const column of ["kind", "voice", "state", "ask_state", "reply_delivery", "reply_voice"]) {
    assert.throws(() => insert(column), /CHECK/, column);
  }
});
