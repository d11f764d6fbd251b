/**
 * Kills the daemon as soon as a new wake is stored in a phase, after some microseconds; or once the
 * wake is over, if the phase was too short to be seen.
 */

import { DatabaseSync } from "node:sqlite";

const [path = "", phase = "", pid = "", delay_us = "0"] = Deno.args;
const database = new DatabaseSync(path, { readOnly: true });
const latest = database.prepare(
  "select seq, state, ended_at is not null as is_over from wakes order by seq desc limit 1",
);
const before = latest.get()?.["seq"];

Deno.stdout.writeSync(new TextEncoder().encode("ready\n"));
// Without a pause: some phases last less than a millisecond.
for (;;) {
  const { seq, state, is_over } = latest.get() ?? {};
  if (seq !== before && (state === phase || is_over === 1)) break;
}
const until = performance.now() + Number(delay_us) / 1000;
while (performance.now() < until);
Deno.kill(Number(pid), "SIGKILL");
