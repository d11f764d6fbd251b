/** Responses that are read whole: ones that stop, are aborted, or never end. */

import assert from "node:assert/strict";
import { Refusal } from "kit/core/problem.ts";
import { packMessage } from "kit/net/tunnel/packing.ts";
import { DaemonClient } from "../../../relay/daemons/daemon_client.ts";
import { catchUnhandledErrors } from "../../../relay/app/main.ts";
import { ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import {
  daemonId,
  NAMESPACE,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";

const ANSWER_SECONDS_MAX = 10;
const utf8 = new TextEncoder();
const AGENT = { peer_id: "peer-1", display_name: "web", status: "online" };

/** A daemon that answers look-ups, and begins every other response, which the test continues. */
async function startRequest(r: RelayWorld) {
  const address = RELAY.replace("https", "wss");
  const daemon = ScriptedDaemon.openSocket(r.openSocket, {
    address,
    secret: SECRET,
    daemon_id: daemonId(1),
  });
  const begun: number[] = [];
  daemon.on = (frame) => {
    if (frame.type !== "request") return;
    const { id, path } = frame as { id: number; path: string };
    daemon.sendFrame({ type: "response", id, status: 200, headers: [], body: true });
    if (!path.startsWith("/peers/")) return void begun.push(id);
    daemon.sendChunk(id, utf8.encode(JSON.stringify(AGENT)));
    daemon.sendFrame({ type: "end", id });
  };
  await r.clock.settle();
  return { daemon, begun };
}

function asker(r: RelayWorld): DaemonClient {
  const { signal } = new AbortController();
  const caller = { namespace: NAMESPACE, daemon_id: daemonId(1), asker: "mcp-1", signal };
  return new DaemonClient({ machines: r.relay.machines, ...caller });
}

async function refusal(asking: Promise<unknown>): Promise<[string, unknown]> {
  const error: unknown = await asking.then(() => undefined, (error) => error);
  assert.ok(error instanceof Refusal, String(error));
  return [error.code, (error.fields as Record<string, unknown>)["may_have_been_delivered"]];
}

Deno.test("a machine that stops inside of its response times out [c9.tunnel.concurrent]", async () => {
  await using r = relayWorld();
  const { daemon, begun } = await startRequest(r);
  const result = refusal(asker(r).notify(AGENT.peer_id, "Hello"));
  await r.clock.settle();
  daemon.sendChunk(begun[0] ?? 0, utf8.encode(`{"delivery_id": `));
  await r.tick(ANSWER_SECONDS_MAX);
  assert.deepEqual(await result, ["timed_out", true]);
  assert.equal(daemon.of("cancel").length, 1);
});

Deno.test("losing a machine inside of its response is machine_offline, not a 500 [c9.tunnel.lost]", async () => {
  await using r = relayWorld();
  const { begun } = await startRequest(r);
  const result = refusal(asker(r).notify(AGENT.peer_id, "Hello"));
  await r.clock.settle();
  assert.equal(begun.length, 1);
  r.connections.at(-1)?.[1].cut();
  assert.deepEqual(await result, ["machine_offline", true]);
});

Deno.test("a look-up that fails inside of its response has delivered nothing", async () => {
  await using r = relayWorld();
  await startRequest(r);
  const result = refusal(asker(r).health());
  await r.clock.settle();
  r.connections.at(-1)?.[1].cut();
  assert.deepEqual(await result, ["machine_offline", false]);
});

Deno.test("a response beyond its size limit is refused and not read further [c9.tunnel.bounds]", async () => {
  await using r = relayWorld();
  const { daemon, begun } = await startRequest(r);
  const result = refusal(r.ask(1, "/health", { whole_bytes_max: 10 }));
  await r.clock.settle();
  daemon.sendChunk(begun[0] ?? 0, utf8.encode("eleven bytes"));
  assert.deepEqual(await result, ["bad_daemon_answer", undefined]);
  await r.clock.settle();
  assert.equal(daemon.of("cancel").length, 1);
});

const BODILESS = [204, 205, 304];
for (const status of BODILESS) {
  Deno.test(`an answer of ${status} is complete even if its body is aborted [c9.tunnel.bad-frames]`, async () => {
    await using r = relayWorld();
    const { daemon } = await startRequest(r);
    daemon.on = (frame) => {
      if (frame.type !== "request") return;
      const { id } = frame as { id: number };
      const head = { type: "response", id, status, headers: [], body: true };
      const cancel = { type: "cancel", id, why: "no more", taken: true };
      daemon.sendBytes(packMessage([JSON.stringify(head), JSON.stringify(cancel)]));
    };
    const [answer, whole] = await Promise.all([
      r.ask(1, "/health"),
      r.ask(1, "/health", { whole_bytes_max: 10 }),
    ]);
    assert.deepEqual([answer.status, whole.status], [status, status]);
  });
}

Deno.test("a response to HEAD has no body, even if the machine's body fails", async () => {
  await using r = relayWorld();
  const { daemon } = await startRequest(r);
  daemon.on = (frame) => {
    if (frame.type !== "request") return;
    const { id } = frame as { id: number };
    const head = { type: "response", id, status: 200, headers: [["etag", "x"]], body: true };
    const cancel = { type: "cancel", id, why: "no more", taken: true };
    daemon.sendBytes(packMessage([JSON.stringify(head), JSON.stringify(cancel)]));
  };
  r.sessions.set("mesh=me", NAMESPACE);
  const headers = { "cookie": "mesh=me", "sec-fetch-site": "same-origin" };
  const answer = await r.fetch(`/m/${daemonId(1)}/health`, { method: "HEAD", headers });
  assert.deepEqual([answer.status, answer.headers.get("etag")], [200, "x"]);
});

Deno.test("an unhandled rejection is logged and does not end the relay", () => {
  const result: unknown[] = [];
  const reason = new Error("nobody waits");
  const disconnect = () => {
    const promise = Promise.resolve();
    const kind = "unhandledrejection";
    const failed = new PromiseRejectionEvent(kind, { promise, reason, cancelable: true });
    return globalThis.dispatchEvent(failed);
  };
  {
    using _faults = catchUnhandledErrors({
      error: (_what, fields) => void result.push(fields?.["error"]),
    });
    assert.equal(disconnect(), false);
    const thrown = new ErrorEvent("error", { error: reason, cancelable: true });
    assert.equal(globalThis.dispatchEvent(thrown), false);
  }
  assert.deepEqual(result, [reason, reason]);
});

Deno.test("a response of several chunks is joined", async () => {
  await using r = relayWorld();
  const { daemon, begun } = await startRequest(r);
  const result = r.ask(1, "/health", { whole_bytes_max: 10 });
  await r.clock.settle();
  const id = begun[0] ?? 0;
  for (const piece of ["one ", "two"]) daemon.sendChunk(id, utf8.encode(piece));
  daemon.sendFrame({ type: "end", id });
  assert.equal(await (await result).text(), "one two");
});
