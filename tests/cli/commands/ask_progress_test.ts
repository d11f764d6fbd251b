/** `mesh ask`: the progress that `--wait` shows, and asks without a recipient. */

import assert from "node:assert/strict";
import { answeringDaemon, PEER, refusal } from "../../support/cli/answering_daemon.ts";

const ID = "ask-000000000001";
const OPENED = {
  correlation_id: ID,
  trace_id: ID,
  to_peer_id: PEER.peer_id,
  to_peer_name: "api",
  delivery_state: "sent",
};
const ANSWERED = {
  correlation_id: ID,
  status: "resolved",
  outcome: "answered",
  reply: "Port 8080",
  close_reason: "ack_with_msg",
  option_id: null,
  reply_attachments: [],
  responder: "api",
  closed_at: "2030-01-01T00:00:00.000Z",
};

/** After so many waits the answer comes even if the trace was not read. */
const WAITS_MAX = 2000;

function stage(name: string, second: number, detail: string | null = null) {
  const ts = `2030-01-01T00:00:0${second}.000Z`;
  return { seq: second, stage: name, status: "ok", ts, peer_id: PEER.peer_id, detail };
}

/** A daemon that answers the ask once the trace was read this many times. */
function progressFixture(traces: readonly (readonly ReturnType<typeof stage>[])[]) {
  let reads = 0, waits = 0;
  let end = () => {};
  const events = new ReadableStream<Uint8Array>({
    cancel: () => void (end = () => {}),
    start(controller) {
      end = () => controller.close();
      const send = (type: string, data: unknown) =>
        controller.enqueue(
          new TextEncoder().encode(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`),
        );
      send("ready", { last: 0 });
      send("delivery", { to_peer_id: "peer-of-another-ask" });
      for (const _ of traces.slice(1)) send("delivery", { to_peer_id: PEER.peer_id });
    },
  });
  const p = answeringDaemon({
    "POST /ask": () => OPENED,
    "GET /events/stream": () =>
      new Response(events, { headers: { "content-type": "text/event-stream" } }),
    [`GET /traces/${ID}`]: () => {
      const stages = traces[reads++] ?? [];
      return { trace_id: ID, kind: "ask", stages };
    },
    [`POST /asks/${ID}/wait`]: () => {
      const isAnswered = reads >= traces.length || ++waits > WAITS_MAX;
      return isAnswered ? ANSWERED : { status: "pending" };
    },
  });
  return {
    mesh: p.mesh,
    /** Ends the stream first, because the server waits for its open responses. */
    async [Symbol.asyncDispose]() {
      end();
      await p[Symbol.asyncDispose]();
    },
  };
}

Deno.test("in a terminal --wait shows each proved step in one line, then the answer", async () => {
  const created = stage("created", 0);
  const sent = [created, stage("attempting", 0, "native"), stage("sent", 0)];
  await using p = progressFixture([sent, [...sent, stage("seen", 3)]]);
  const { code, out, err } = await p.mesh(["ask", "api", "Which?", "--wait"], { progress: true });
  assert.equal(code, 0);
  assert.equal(out, "answered by api:\nPort 8080\n");
  const [line, followUp] = err.split("\n");
  assert.equal(line, "sent to api → seen by api, 3s → waiting for its answer");
  assert.equal(followUp, `Follow up: mesh ask api "…" --reply-to ${ID} --wait`);
});

Deno.test("the progress says why an ask still waits, and survives a refused trace", async () => {
  const queued = [stage("created", 0), stage("queued", 0, "no_transport")];
  await using p = progressFixture([queued]);
  const { err } = await p.mesh(["ask", "api", "Which?", "--wait"], { progress: true });
  assert.match(err, /^queued: no transport reaches it now/);
  await using refused = answeringDaemon({
    "POST /ask": () => OPENED,
    "GET /events/stream": () => refusal(403, { error: "loopback_only", detail: "No" }),
    [`POST /asks/${ID}/wait`]: () => ANSWERED,
  });
  const done = await refused.mesh(["ask", "api", "Which?", "--wait"], { progress: true });
  assert.deepEqual([done.code, done.err.startsWith("Follow up: ")], [0, true]);
});

Deno.test("--wait shows no progress with --json, or where no person looks", async () => {
  for (const [more, progress] of [[["--json"], true], [[], false]] as const) {
    await using p = answeringDaemon({
      "POST /ask": () => OPENED,
      [`POST /asks/${ID}/wait`]: () => ANSWERED,
    });
    const { code, err } = await p.mesh(["ask", "api", "Which?", "--wait", ...more], { progress });
    assert.deepEqual([code, err], [0, ""]);
  }
});

Deno.test("a routed ask names no recipient, and prints how the peer was chosen", async () => {
  const routing = {
    arm: "least_busy",
    routed_to: "api",
    routed_to_peer_id: PEER.peer_id,
    confidence: 0.5,
    fallback: false,
    fallback_reason: null,
  };
  await using p = answeringDaemon({
    "POST /ask": ({ body }) =>
      Object(body).dry_run ? { ...OPENED, correlation_id: null, routing } : { ...OPENED, routing },
  });
  const { out } = await p.mesh(["ask", "--route", "Who can?", "--fallback", "web"]);
  assert.equal(out, `${ID}  sent to api\nchosen by least_busy, confidence 0.50\n`);
  const body = Object(p.received[0]?.body);
  assert.partialDeepStrictEqual(body, { text: "Who can?", fallback_to: "web", dry_run: false });
  assert.equal("to_peer" in body, false);
  const dry = await p.mesh(["ask", "--route", "Who can?", "--dry-run"]);
  assert.match(dry.out, /^would ask api\n/);
});

Deno.test("a routed ask with a peer, and routing options without --route, are wrong usage", async () => {
  await using p = answeringDaemon();
  const cases: [string[], RegExp][] = [
    [["ask", "--route", "api", "Who can?"], /--route chooses the peer; leave out "api"/],
    [["ask", "api", "Who?", "--fallback", "web"], /belong to --route/],
    [["ask", "api"], /The text is missing: mesh ask PEER TEXT/],
  ];
  for (const [args, expected] of cases) {
    const { code, err } = await p.mesh(args);
    assert.equal(code, 2);
    assert.match(err, expected);
  }
});

const WAITING = {
  ...PEER,
  display_name: "api",
  turn_state: "awaiting_input",
  pane_id: "%3",
  waits_for: {
    kind: "permission",
    since: "2030-01-01T00:00:00.000Z",
    source: "hook",
    detail: null,
    resets_at: null,
  },
};
const SENTENCE = "api waits for its user in its terminal: mesh attach api";

/** A daemon with a peer that waits at a dialog, and an ask that is never answered. */
function waitingFixture() {
  const stream = new TransformStream<Uint8Array, Uint8Array>();
  const writer = stream.writable.getWriter();
  void writer.write(new TextEncoder().encode('event: ready\ndata: {"last":0}\n\n'));
  let reads = 0;
  const p = answeringDaemon({
    "POST /ask": () => OPENED,
    "GET /events/stream": () =>
      new Response(stream.readable, { headers: { "content-type": "text/event-stream" } }),
    [`GET /traces/${ID}`]: () => ({ trace_id: ID, kind: "ask", stages: [stage("created", 0)] }),
    [`GET /peers/${PEER.peer_id}`]: () => {
      reads++;
      return WAITING;
    },
    [`POST /asks/${ID}/wait`]: () => reads > 0 ? ANSWERED : { status: "pending" },
  });
  return {
    mesh: p.mesh,
    async [Symbol.asyncDispose]() {
      await writer.close().catch(() => undefined);
      await p[Symbol.asyncDispose]();
    },
  };
}

for (const progress of [true, false]) {
  Deno.test(`--wait names the dialog that the recipient stands at, ${progress ? "on" : "without"} a terminal`, async () => {
    await using p = waitingFixture();
    const { code, out, err } = await p.mesh(["ask", "api", "Which?", "--wait"], { progress });
    assert.deepEqual([code, out], [0, "answered by api:\nPort 8080\n"]);
    assert.equal(err.split("\n")[0], SENTENCE);
  });
}

Deno.test("a wait that ends with --json names what the recipient waits for", async () => {
  await using p = answeringDaemon({
    "POST /ask": () => OPENED,
    [`GET /peers/${PEER.peer_id}`]: () => WAITING,
    [`POST /asks/${ID}/wait`]: () => ({ status: "pending" }),
  });
  const args = ["ask", "api", "Which?", "--wait", "--timeout", "0", "--json"];
  const { code, out, err } = await p.mesh(args);
  assert.deepEqual([code, JSON.parse(out).status], [1, "pending"]);
  assert.equal(err.split("\n")[0], SENTENCE);
});
