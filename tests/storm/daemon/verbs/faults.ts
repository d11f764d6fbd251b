/** Verbs of faults: statements that fail, power cuts within commits, lost answers, clock jumps. */

import assert from "node:assert/strict";
import { getHealth } from "protocol/api/events.ts";
import { runScheduler } from "../../../../daemon/app/scheduler.ts";
import { crash, crashAtCommit } from "../crashes.ts";
import type { KeyedRequest } from "../expectations.ts";
import type { Storm, Verb } from "../storm.ts";
import { identOf } from "../snapshot.ts";
import type { StoreFault } from "../../../support/storage/sqlite_faults.ts";
import { pickAsk } from "./accepted.ts";
import { flood } from "./messages.ts";

const HOUR_MS = 3_600_000;
/** Jumps of the clock: a leap second, a time zone, a night's sleep, a wrong date. */
const JUMPS_MS = [1000, HOUR_MS, 8 * HOUR_MS, 40 * 24 * HOUR_MS];

// deno-fmt-ignore
export const FAULT_VERBS: readonly Verb[] = [
  { name: "a statement fails",      weight: 24, run: (storm) => failStatement(storm, "any", 40) },
  { name: "a commit fails",         weight: 20, run: (storm) => failStatement(storm, "commit", 3) },
  { name: "the database is locked", weight: 8, run: (storm) => failStatement(storm, "begin", 3) },
  { name: "crash at a commit",      weight: 20, run: (storm) => crashAtCommit(storm, () => pickWork(storm)()) },
  { name: "crash at a tick",        weight: 6, run: (storm) => crashAtCommit(storm, () => storm.tick(61)) },
  { name: "send with a key",        weight: 10, run: sendWithKey },
  { name: "repeat with a key",      weight: 10, run: repeatWithKey },
  { name: "hang up on a request",   weight: 4, run: hangUp },
  { name: "race to answer",         weight: 10, run: raceToAnswer },
  { name: "receipts out of order",  weight: 6, run: receiptsOutOfOrder },
  { name: "the clock jumps",        weight: 4, run: jump },
];

/** Work of several commits, or of one. */
function pickWork(storm: Storm): () => Promise<unknown> {
  return storm.chance.pick([
    () => flood(storm),
    () => sendWithKey(storm),
    () => raceToAnswer(storm),
    () => storm.tick(),
    () => storm.actor().read(storm.chance),
    () => Promise.resolve(storm.adapter.releaseSlow()),
  ]);
}

/** Lets a statement fail during some work: the caller gets an error, and nothing was changed. */
async function failStatement(
  storm: Storm,
  at: "any" | "commit" | "begin",
  after_max: number,
): Promise<void> {
  const { chance, faults } = storm;
  const fault: StoreFault = at === "begin" ? "busy" : chance.pick(["full", "io_error"]);
  const after = chance.below(after_max);
  faults.arm({ at, fault, after, endsTransaction: chance.oneIn(2) });
  await pickWork(storm)();
  await storm.settle();
  faults.disarm();
  await storm.tick(); // Whatever was put off is made up for by now.
}

async function uptimeOf(w: Storm["w"]): Promise<number> {
  return (await w.call(getHealth, {})).uptime_seconds;
}

/** Sends a message with an idempotency key. */
async function sendWithKey(storm: Storm): Promise<void> {
  const { chance } = storm;
  const request: KeyedRequest = {
    key: `key-${storm.nextText().slice(-6)}`,
    path: chance.pick(["/ask", "/notify"]),
    body: { from_peer: "stranger", to_peer: storm.anyPeerName(), text: storm.nextText() },
    id: undefined,
  };
  storm.keyed.push(request);
  storm.keyedTexts.add(request.body.text);
  await sendAgain(storm, request);
}

/** Sends a request again whose answer has come or was lost: there is one message for it at most. */
async function repeatWithKey(storm: Storm): Promise<void> {
  if (storm.keyed.length > 0) await sendAgain(storm, storm.chance.pick(storm.keyed.slice(-5)));
}

async function sendAgain(storm: Storm, request: KeyedRequest): Promise<void> {
  const headers = { "idempotency-key": request.key };
  const isAnswerLost = storm.chance.oneIn(3);
  const answer = await storm.post(request.path, request.body, { headers });
  if (answer.http !== 200 || isAnswerLost) return;
  const id = String(answer["correlation_id"] ?? answer["delivery_id"]);
  assert.equal(id, request.id ?? id, `${request.key} has another message by now`);
  request.id = id;
  storm.accepted.set(identOf(id), request.body.text);
}

/** The caller is gone before its answer: the message is there whole, or not at all. */
async function hangUp(storm: Storm): Promise<void> {
  const abort = new AbortController();
  const body = { from_peer: storm.anyPeerName(), to_peer: storm.anyPeerName() };
  const request = { ...body, text: storm.nextText() };
  const path = storm.chance.pick(["/ask", "/notify"]);
  const asked = storm.post(path, request, { signal: abort.signal }).catch(() => undefined);
  for (let turn = storm.chance.below(4); turn > 0; turn--) {
    await new Promise((done) => setImmediate(done));
  }
  abort.abort();
  await asked;
}

/** Sends several answers to an ask at once: one ends it. A bare ack of a closed ask is allowed. */
async function raceToAnswer(storm: Storm): Promise<void> {
  const correlation_id = pickAsk(storm);
  const ask = correlation_id && storm.before.byIdent.get(identOf(correlation_id));
  if (!correlation_id || !ask) return;
  const asker = ask.from_peer_id ?? ask.from_peer_name;
  const wasOpen = ask.ask_state === "open";
  const bareAck = () => storm.post("/ack", { correlation_id });
  const answers = [
    () => storm.post("/ack", { correlation_id, message: "one" }),
    () => storm.post("/ack", { correlation_id, message: "two" }),
    bareAck,
    () => storm.post("/decline", { correlation_id, reason: "none" }),
    () => storm.post(`/asks/${correlation_id}/cancel`, { peer_id: asker }),
  ];
  const chosen = answers.filter(() => storm.chance.oneIn(2));
  const results = await Promise.all(chosen.map((send) => send()));
  const winners = results.filter(({ http }, index) => http === 200 && chosen[index] !== bareAck);
  assert.ok(winners.length <= (wasOpen ? 1 : 0), `${correlation_id}: ${JSON.stringify(winners)}`);
}

/** Receipts that were delayed: the last first, and some twice. */
async function receiptsOutOfOrder(storm: Storm): Promise<void> {
  const actor = storm.chance.pick(storm.actors);
  for (const delivery_id of actor.lastRead(4).toReversed()) {
    for (let times = storm.chance.below(3); times > 0; times--) {
      const status = storm.chance.pick(["accepted", "seen"]);
      await actor.sendReceipt(delivery_id, status);
    }
  }
}

/**
 * Sets the clock forwards or backwards, as a user, a time server or a suspension does. Meanwhile
 * the daemon's own loop runs: monotonic time goes on.
 */
async function jump(storm: Storm): Promise<void> {
  const { chance, runs, w } = storm;
  const ms = chance.pick(JUMPS_MS);
  const stop = new AbortController();
  let ticks = 0;
  const running = runScheduler({ ...w.daemon, shutdownSignal: stop.signal }, () => {
    ticks++;
    storm.tickOnce();
  });
  await w.clock.advance(chance.below(1000));
  const suspended = chance.oneIn(4);
  if (suspended) runs.clock.sleepMachine(ms);
  else runs.clock.step(chance.oneIn(2) ? ms : -ms);
  const uptime = await uptimeOf(w);
  await w.clock.advance(5000);
  stop.abort();
  await running;
  assert.ok(ticks >= 4, `In five seconds after the clock was set, there were ${ticks} ticks`);
  if (!storm.faults.hit) assert.equal(await uptimeOf(w) - uptime, 5, "The uptime jumps");
  storm.keyed.length = 0; // Keys are kept for a day.
  if (chance.oneIn(3)) await crash(storm, () => Promise.resolve());
  if (chance.oneIn(2)) await storm.tick();
}
