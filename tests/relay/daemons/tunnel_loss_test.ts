import assert from "node:assert/strict";
import { STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";
import { isUnreachable } from "protocol/relay/daemons.ts";
import { ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import {
  daemonId,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";

type Action = (daemon: ScriptedDaemon, id: number) => void;
const head: Action = (daemon, id) =>
  daemon.sendFrame({ type: "response", id, status: 200, headers: [], body: true });
const piece: Action = (daemon, id) => daemon.sendChunk(id, new Uint8Array(10));
const end: Action = (daemon, id) => daemon.sendFrame({ type: "end", id });

/** The ways in which the tunnel is lost. */
const DISCONNECTS: Readonly<Record<string, (r: RelayWorld, daemon: ScriptedDaemon) => void>> = {
  "the network is cut": (r) => r.connections.at(-1)?.[1].cut(),
  "the daemon closes it": (_r, daemon) => daemon.close(),
  "a newer connection takes its place": (r) => void openSocket(r),
  "the daemon breaks a rule": (_r, daemon) => daemon.sendFrame({ type: "response" }),
  "the relay shuts down": (r) => r.relay.shutDown(),
};

// deno-fmt-ignore
const STEPS: readonly (readonly [when: string, actions: readonly Action[], expectedOutcome: string])[] = [
  ["before anything was answered", [],                 "machine_offline, may have been delivered"],
  ["after the head",               [head],             "broken off"],
  ["within the body",              [head, piece],      "broken off"],
  ["after the end",                [head, piece, end], "10 bytes"],
];

function openSocket(r: RelayWorld): ScriptedDaemon {
  const address = RELAY.replace("https", "wss");
  return ScriptedDaemon.openSocket(r.openSocket, {
    address,
    secret: SECRET,
    daemon_id: daemonId(1),
  });
}

/** The error that the caller receives. */
async function outcome(asking: Promise<Response>): Promise<string> {
  let response: Response;
  try {
    response = await asking;
  } catch (error) {
    assert.ok(isUnreachable(error), String(error));
    const maybe = error.fields.may_have_been_delivered ? "may have been" : "was not";
    return `${error.code}, ${maybe} delivered`;
  }
  return await response.bytes().then(({ length }) => `${length} bytes`, () => "broken off");
}

for (const [cutName, disconnect] of Object.entries(DISCONNECTS)) {
  for (const [when, actions, expectedOutcome] of STEPS) {
    Deno.test(`${when}, ${cutName}: ${expectedOutcome} [c9.tunnel.lost]`, async () => {
      await using r = relayWorld();
      const daemon = openSocket(r);
      await daemon.whenOpened;
      await r.clock.settle();
      const answered = outcome(r.ask(1, "/ask", { method: "POST", body: "{}" }));
      await r.clock.settle();
      const [request] = daemon.of("request");
      for (const action of actions) action(daemon, request?.id ?? 0);
      await r.clock.settle();
      disconnect(r, daemon);
      await r.clock.settle();
      assert.equal(await answered, expectedOutcome);
      assert.equal(r.relay.machines.requests, 0);
      assert.equal(r.relay.machines.held_bytes, 0);
    });
  }
}

Deno.test("losing the tunnel cancels the source of an upload", async () => {
  await using r = relayWorld();
  const daemon = openSocket(r);
  await daemon.whenOpened;
  await r.clock.settle();
  let left = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.enqueue(new Uint8Array(STREAM_WINDOW_BYTES)),
    cancel: () => void (left = true),
  });
  const answered = outcome(r.ask(1, "/attachments", { method: "POST", body }));
  await r.clock.settle();
  r.connections[0]?.[1].cut();
  assert.equal(await answered, "machine_offline, may have been delivered");
  await r.clock.settle();
  assert.equal(left, true);
});

Deno.test("an aborted upload is cancelled at the daemon and not ended as complete", async () => {
  await using r = relayWorld();
  const daemon = openSocket(r);
  await daemon.whenOpened;
  await r.clock.settle();
  let count = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (++count > 2) controller.error(new Error("the browser left"));
      else controller.enqueue(new Uint8Array(10));
    },
  });
  const answered = outcome(r.ask(1, "/attachments", { method: "POST", body }));
  await r.clock.settle();
  assert.equal(daemon.of("end").length, 0);
  assert.deepEqual(daemon.of("cancel").map(({ why }) => why), ["the body was aborted"]);
  assert.equal(await answered, "machine_offline, may have been delivered");
});

Deno.test("a response head with an invalid header closes the tunnel and fails no route", async () => {
  for (const value of ["a\r\nset-cookie: x=1", "\u20ac", "\0"]) {
    await using r = relayWorld();
    const daemon = openSocket(r);
    await daemon.whenOpened;
    await r.clock.settle();
    const answered = outcome(r.ask(1, "/health"));
    await r.clock.settle();
    const id = daemon.of("request")[0]?.id ?? 0;
    const headers = [["content-type", value]];
    daemon.sendFrame({ type: "response", id, status: 200, headers, body: false });
    assert.equal(await answered, "machine_offline, may have been delivered");
    assert.equal(daemon.closed?.code, 4002);
  }
});
