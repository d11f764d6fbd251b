/** Frames on several sockets at once: handshakes, verbs and receipts, in any order and damaged. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { CLOSE } from "../../../daemon/features/messages/websocket/frames.ts";
import { type FakeSocket, world } from "../../support/world.ts";
import { damagedRecord, hostileJson, hostileText } from "../hostile.ts";
import type { Count, OpenTarget, Target } from "../target.ts";

const INPUTS = 150;
const CODES: ReadonlySet<number> = new Set(Object.values(CLOSE));
const NAMES = ["ada", "bob", "telegram"];
const FIELDS = ["request_id", "circle", "peer_id", "capabilities", "role", "metadata", "toPeer"];
const ID = /\b[a-z]+-[0-9a-f]{12}\b/g;
const IDS_MAX = 200;
const PENDING_S = 120;

const FRAMES: readonly Record<string, unknown>[] = [
  { type: "connect", display_name: "ada", backend: "sdk", capabilities: ["delivery_receipts"] },
  { type: "connect", display_name: "telegram", backend: "sdk", capabilities: ["inbox_surface"] },
  { type: "delivery_ack", delivery_id: "qd-000000000001", status: "accepted" },
  {
    type: "delivery_ack",
    delivery_id: "x",
    status: "pushed",
    surface_ref: "1",
    surface_refs: ["1"],
  },
  { type: "status", status: "busy", turn_state: "working" },
  { type: "chat_turn", role: "user", text: "[mesh notif-000000000001] Hi", turn_id: "t" },
  { type: "subagent", agent_id: "s", agent_type: "explore", phase: "started" },
  { type: "pong", ping_id: "1" },
  { type: "ask", request_id: "r", to_peer: "bob", text: "Hi" },
  { type: "ask", request_id: "r", to_peer: "sam", text: "Hi", question: { kind: "text" } },
  { type: "notify", request_id: "r", to_peer: "ada", text: "Hi" },
  { type: "ack", request_id: "r", correlation_id: "ask-000000000001", message: "Yes" },
  { type: "decline", request_id: "r", correlation_id: "ask-000000000001", reason: "No" },
  { type: "answer", request_id: "r", correlation_id: "ask-000000000001", option_id: "yes" },
];

export const SOCKETS: Target = { name: "frames on sockets", inputs: INPUTS, open: openSockets };

function openSockets(count: Count): Promise<OpenTarget> {
  const w = world({ settings: { "human.name": "sam" } });
  const ids = ["ask-000000000001"];
  const sockets: FakeSocket[] = [];
  const socketOf = async (at: number) => {
    const slot = at % NAMES.length;
    const open = sockets[slot];
    if (open && open.closed === undefined) return open;
    const socket = sockets[slot] = w.socket();
    await socket.connect({ display_name: NAMES[slot], capabilities: ["delivery_receipts"] });
    return socket;
  };
  const property = fc.asyncProperty(fc.array(framesOf(ids), { maxLength: 12 }), async (steps) => {
    for (const { at, text } of steps) {
      const socket = await socketOf(at);
      const before = socket.frames.length;
      await socket.send(text);
      const answers = socket.frames.slice(before);
      count(`frame ${answers.find(({ type }) => type === "error") ? "refused" : "taken"}`);
      for (const [id] of JSON.stringify(answers).matchAll(ID)) {
        if (ids.length < IDS_MAX) ids.push(id);
      }
      assert.ok(!JSON.stringify(answers).includes('"internal"'), JSON.stringify(answers));
      if (socket.closed) assert.ok(CODES.has(socket.closed.code), String(socket.closed.code));
    }
    assert.deepEqual(w.logged.filter((line) => line.includes('"level":"error"')), []);
  });
  return Promise.resolve({
    property,
    async verify() {
      for (const socket of sockets) await socket.drop();
      await w.tick(PENDING_S);
      assert.equal((await w.fetch("/health")).status, 200);
      assert.deepEqual((await w.clock.during(w.daemon.deliveryAudit.audit())).unaccounted, []);
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  });
}

function framesOf(ids: readonly string[]) {
  const id = fc.nat().map((at) => ids[at % ids.length] ?? "");
  const value = fc.oneof(id, fc.constantFrom(...NAMES), hostileJson);
  const frame = fc.constantFrom(...FRAMES).chain((sample) => damagedRecord(sample, FIELDS, value));
  const text = fc.oneof(
    { weight: 9, arbitrary: frame.map((given) => JSON.stringify(given)) },
    { weight: 1, arbitrary: hostileText },
  );
  return fc.record({ at: fc.nat(NAMES.length - 1), text });
}
