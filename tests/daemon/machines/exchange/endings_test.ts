/**
 * How messages and asks between two machines end: each side learns of it, and nothing is in doubt.
 */

import assert from "node:assert/strict";
import { ackAsk, cancelAsk, getAsk, openAsk } from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import {
  MemoryNetwork,
  type NetworkedWorld,
  pass,
} from "../../../support/machines/memory_network.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";
import type { FakeSocket } from "../../../support/world.ts";

/** Two machines that know each other, with a peer each: `web@laptop` and `api@buildbox`. */
async function twoMachines() {
  const network = new MemoryNetwork();
  const laptop = network.join("laptop");
  const buildbox = network.join("buildbox");
  const machines = [laptop, buildbox];
  const web = await connectPeer(laptop, "web");
  const api = await connectPeer(buildbox, "api");
  await pass(machines, 3);
  return {
    bus: network.bus,
    laptop,
    buildbox,
    web,
    api,
    pass: (seconds = 2) => pass(machines, seconds),
    async [Symbol.asyncDispose]() {
      for (const machine of machines) await machine[Symbol.asyncDispose]();
    },
  };
}

interface ConnectedPeer {
  readonly socket: FakeSocket;
  readonly peer_id: string;
}

async function connectPeer(machine: NetworkedWorld, display_name: string): Promise<ConnectedPeer> {
  const socket = machine.socket();
  const frame = await socket.connect({ display_name, circle: "work" });
  assert.ok(frame?.type === "connected");
  return { socket, peer_id: frame.peer_id };
}

async function ask({ call }: NetworkedWorld, to_peer = "api@buildbox"): Promise<string> {
  const body = { from_peer: "web", to_peer, text: "Which port?" };
  return (await call(openAsk, { body })).correlation_id ?? "";
}

/** The id that an ask has on the machine of its recipient. */
function idThere({ daemon: { asks } }: NetworkedWorld, peer_id: string): string {
  const [open] = asks.pending({ peer_id, name: "api" }, "inbound");
  assert.ok(open);
  return open.correlation_id;
}

/** The peer leaves for good. */
function leave({ post }: NetworkedWorld, { peer_id }: ConnectedPeer): Promise<Response> {
  return post(`/peers/${peer_id}/offline`, { terminal: true });
}

async function stagesOf({ call }: NetworkedWorld, trace_id: string): Promise<string[]> {
  const { stages } = await call(getTrace, { params: { trace_id } });
  return stages.map(({ stage }) => stage);
}

Deno.test("an ask that its recipient follows up on, before it got it, is closed for that reason", async () => {
  await using two = await twoMachines();
  await two.api.socket.drop();
  const id = await ask(two.laptop);
  await two.pass();
  const reply_to = idThere(two.buildbox, two.api.peer_id);
  const body = { from_peer: two.api.peer_id, to_peer: two.web.peer_id, text: "On what?", reply_to };
  await two.buildbox.call(openAsk, { body });
  await two.pass();
  assert.equal((await two.laptop.call(getAsk, { params: { id } })).close_reason, "reply_to");
});

Deno.test("an ask to a peer that leaves is closed for that reason at its origin", async () => {
  await using two = await twoMachines();
  await two.api.socket.drop();
  const id = await ask(two.laptop);
  await two.pass();
  await leave(two.buildbox, two.api);
  await two.pass();
  assert.equal((await two.laptop.call(getAsk, { params: { id } })).close_reason, "peer_retired");
});

Deno.test("a message that is dropped with the queue of its peer is dropped at its origin", async () => {
  await using two = await twoMachines();
  await two.api.socket.drop();
  const body = { from_peer: "web", to_peer: "api@buildbox", text: "Deployed" };
  const { delivery_id } = await two.laptop.call(notifyPeer, { body });
  await two.pass();
  await leave(two.buildbox, two.api);
  await two.pass();
  assert.ok((await stagesOf(two.laptop, delivery_id)).includes("dropped"));
});

Deno.test("a message that waits for another machine is accounted for", async () => {
  await using two = await twoMachines();
  two.bus.setReachable(two.laptop.daemon_id, false);
  await ask(two.laptop);
  await two.pass(1);
  const { deliveryAudit } = two.laptop.daemon;
  const { counts, unaccounted } = await two.laptop.clock.during(deliveryAudit.audit());
  assert.deepEqual([counts["queued"], unaccounted], [1, []]);
});

Deno.test("a disk that is full while the bus is lost does not end the connection", async () => {
  await using two = await twoMachines();
  using faults = new SqliteFaults();
  faults.arm({ fault: "full", at: "any", after: 0, endsTransaction: false });
  two.bus.setReachable(two.laptop.daemon_id, false);
  assert.ok(faults.hit);
  two.bus.setReachable(two.laptop.daemon_id, true);
  await ask(two.laptop);
  await two.pass();
  assert.equal(two.api.socket.of("ask").length, 1);
});

Deno.test("an answer that came late is in the trace of its peer, who has left", async () => {
  await using two = await twoMachines();
  const id = await ask(two.laptop);
  await two.pass();
  const there = idThere(two.buildbox, two.api.peer_id);
  two.bus.setReachable(two.laptop.daemon_id, false);
  await two.laptop.call(cancelAsk, { params: { id }, body: { peer_id: "web" } });
  await two.buildbox.call(ackAsk, { body: { correlation_id: there, message: "8377" } });
  await leave(two.buildbox, two.api);
  two.bus.setReachable(two.laptop.daemon_id, true);
  await two.pass(60);
  assert.ok((await stagesOf(two.buildbox, there)).includes("answer_late"));
});
