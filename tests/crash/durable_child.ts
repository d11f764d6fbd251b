/** Inserts rows without end, and prints each number once `durable()` resolves for it. */

import { systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";

const log = jsonLog(systemClock, "error", (line) => {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
});
const path = Deno.args[0] ?? "";
const db = new Database(path, ["create table rows (id integer unique) strict"], log, systemClock);
const encoder = new TextEncoder();
let next = 0;
await Promise.all(Array.from({ length: 16 }, async () => {
  for (;;) {
    const id = ++next;
    db.transact((tx) => void tx.insert("insert into rows (id) values (:id)", { id }));
    await db.whenDurable();
    Deno.stdout.writeSync(encoder.encode(`${id}\n`));
  }
}));
