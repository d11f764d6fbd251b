/** `mesh wait`: a script waits until a peer, a job or an ask is in a state. */

import assert from "node:assert/strict";
import { answeringDaemon, PEER, refusal } from "../../../support/cli/answering_daemon.ts";

const ID = PEER.peer_id;
const JOB = "work-000000000001", ASK = "ask-000000000001";

/** An event of the stream, by its type and data. */
type StreamEvent = readonly [type: string, data: Record<string, unknown>];

const READY: StreamEvent = ["ready", { last: 0 }];
const TURN: StreamEvent = ["turn", { type: "turn", peer_id: ID, turn_state: "idle" }];

/** A daemon whose stream holds these events, and whose record changes each time it is read. */
function changingDaemon(
  records: readonly Record<string, unknown>[],
  events: readonly StreamEvent[],
) {
  let reads = 0, end = () => {};
  const body = new ReadableStream<Uint8Array>({
    cancel: () => void (end = () => {}),
    start(controller) {
      end = () => controller.close();
      for (const [type, data] of events) {
        const frame = `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
        controller.enqueue(new TextEncoder().encode(frame));
      }
    },
  });
  const read = () => records[Math.min(reads++, records.length - 1)];
  const p = answeringDaemon({
    "GET /peers/api": () => PEER,
    [`GET /peers/${ID}`]: read,
    [`GET /jobs/${JOB}`]: read,
    [`GET /asks/${ASK}`]: read,
    "GET /events/stream": () =>
      new Response(body, { headers: { "content-type": "text/event-stream" } }),
  });
  return {
    reads: () => reads,
    wait: (condition: string, ...more: string[]) => p.mesh(["wait", "--for", condition, ...more]),
    async [Symbol.asyncDispose]() {
      end();
      await p[Symbol.asyncDispose]();
    },
  };
}

const WORKING = { ...PEER, turn_state: "working" };
const IDLE = { ...PEER, turn_state: "idle" };

Deno.test("a condition that holds already ends the wait at once", async () => {
  await using at = changingDaemon([IDLE], [READY]);
  const { code, out } = await at.wait("peer:api idle");
  assert.deepEqual([code, out], [0, `idle  ${ID}\n`]);
});

Deno.test("a wait ends with the event after which the condition holds", async () => {
  await using at = changingDaemon([WORKING, WORKING, IDLE], [READY, TURN, TURN]);
  assert.equal((await at.wait("peer:api idle")).code, 0);
  assert.equal(at.reads(), 3);
});

Deno.test("events of other peers are not looked at", async () => {
  const other: StreamEvent = ["turn", {
    type: "turn",
    peer_id: "peer-of-another",
    turn_state: "idle",
  }];
  await using at = changingDaemon([WORKING, IDLE], [READY, other, other, TURN]);
  assert.equal((await at.wait("peer:api idle")).code, 0);
  assert.equal(at.reads(), 2);
});

Deno.test("missed events are no reason to wait longer", async () => {
  await using at = changingDaemon([WORKING, IDLE], [READY, ["gap", { oldest: 9 }]]);
  assert.equal((await at.wait("peer:api idle")).code, 0);
});

Deno.test("a wait whose time is up exits with 1, and says the state", async () => {
  await using at = changingDaemon([WORKING], [READY]);
  const { code, out } = await at.wait("peer:api idle", "--timeout", "1", "--json");
  const { id, state, met, interrupted } = JSON.parse(out);
  assert.deepEqual([code, id, state, met, interrupted], [1, ID, "working", false, false]);
});

// deno-fmt-ignore
const HELD: readonly [condition: string, record: Record<string, unknown>][] = [
  ["peer:api idle",    { ...PEER, status: "online", turn_state: null }],
  ["peer:api working", { ...PEER, status: "busy", turn_state: null }],
  ["peer:api working", WORKING],
  ["peer:api blocked", { ...PEER, turn_state: "awaiting_input" }],
  ["peer:api online",  WORKING],
  ["peer:api offline", { ...IDLE, status: "offline" }],
  [`job:${JOB} ended`,  { job_id: JOB, state: "failed" }],
  [`ask:${ASK} closed`, { correlation_id: ASK, state: "closed" }],
];

for (const [condition, record] of HELD) {
  Deno.test(`"${condition}" holds for ${record["state"] ?? `${record["status"]}, ${record["turn_state"]}`}`, async () => {
    await using at = changingDaemon([record], [READY]);
    assert.equal((await at.wait(condition)).code, 0);
  });
}

// deno-fmt-ignore
const NOT_HELD: readonly [condition: string, record: Record<string, unknown>][] = [
  ["peer:api idle",     { ...IDLE, status: "offline" }],
  ["peer:api idle",     { ...PEER, turn_state: "awaiting_input" }],
  [`job:${JOB} ended`,  { job_id: JOB, state: "running" }],
  [`ask:${ASK} closed`, { correlation_id: ASK, state: "open" }],
];

for (const [condition, record] of NOT_HELD) {
  Deno.test(`"${condition}" does not hold for ${JSON.stringify(record).slice(-40)}`, async () => {
    await using at = changingDaemon([record], [READY]);
    assert.equal((await at.wait(condition, "--timeout", "0.1")).code, 1);
  });
}

Deno.test("an unknown condition is refused with the allowed conditions", async () => {
  await using p = answeringDaemon();
  for (const condition of ["api idle", "peer:api asleep", "job:work-1 idle", "peer: idle", ""]) {
    const { code, err } = await p.mesh(["wait", "--for", condition]);
    assert.equal(code, 2, condition);
    assert.match(err, /is no condition; allowed: peer:NAME idle\|working\|blocked/);
  }
  assert.match((await p.mesh(["wait"])).err, /Nothing to wait for: give --for/);
});

Deno.test("a peer that is not known ends the wait with the daemon's refusal", async () => {
  const detail = "Unknown peer: web";
  await using p = answeringDaemon({
    "GET /peers/web": () => refusal(404, { error: "unknown_peer", detail }),
  });
  const { code, err } = await p.mesh(["wait", "--for", "peer:web idle"]);
  assert.deepEqual([code, err.includes(detail)], [1, true]);
});
