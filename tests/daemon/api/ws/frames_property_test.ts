import assert from "node:assert/strict";
import fc from "fast-check";
import {
  CLOSE,
  Connect,
  FRAME_BYTES_MAX,
  Inbound,
} from "../../../../daemon/features/messages/websocket/frames.ts";
import { SwiftClock } from "../../../support/swift_clock.ts";
import { type FakeSocket, type World, world } from "../../../support/world.ts";
import { addPeer, ask } from "../../../support/daemon/peer_clients.ts";

const RUNS = 300;
const CODES: ReadonlySet<number> = new Set(Object.values(CLOSE));

/** A complete frame of each kind. */
const FRAMES: readonly Record<string, unknown>[] = [
  { type: "delivery_ack", delivery_id: "qd-000000000001", status: "accepted" },
  { type: "delivery_ack", delivery_id: "notif-1", status: "failed", error_class: "x", detail: "y" },
  { type: "delivery_ack", delivery_id: "x", status: "pushed", surface_ref: 1, surface_refs: [1] },
  { type: "status", status: "busy", turn_state: "working" },
  { type: "chat_turn", role: "user", text: "Hi", turn_id: "t" },
  { type: "pong", ping_id: "1" },
  { type: "ask", request_id: "r", to_peer: "bob", text: "Hi" },
  { type: "notify", request_id: "r", to_peer: "bob", text: "Hi" },
  { type: "ack", request_id: "r", correlation_id: "ask-000000000001", message: "Yes" },
  { type: "decline", request_id: "r", correlation_id: "ask-000000000001", reason: "No" },
  { type: "connect", display_name: "ada", backend: "sdk" },
];
const CONNECT = {
  type: "connect",
  display_name: "ada",
  backend: "sdk",
  path: "/work",
  circle: "main",
  role: "agent",
  peer_id: "peer-1",
  birth_certificate: "a.b.c",
  agent_pid: 7,
  auth_token: "t",
  capabilities: ["delivery_receipts"],
  model: "m",
  metadata: { a: 1 },
};
const KEYS = ["type", "request_id", "status", "to_peer", "toPeer", "__proto__", "constructor"];

/** Frames with a field that is missing, of another type, or one too many. */
const mutated = (frames: readonly Record<string, unknown>[]) =>
  fc.tuple(fc.constantFrom(...frames), fc.nat(), fc.jsonValue(), fc.constantFrom(...KEYS))
    .chain(([frame, at, value, more]) => {
      const keys = Object.keys(frame);
      const key = keys[at % keys.length] ?? "type";
      const { [key]: _, ...rest } = frame;
      return fc.constantFrom(frame, rest, { ...frame, [key]: value }, { ...frame, [more]: value });
    });

const anyText = (frames: readonly Record<string, unknown>[]) =>
  fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.json(),
    mutated(frames).map((frame) => JSON.stringify(frame)),
    mutated(frames).chain((frame) => {
      const text = JSON.stringify(frame);
      return fc.nat(text.length).map((length) => text.slice(0, length));
    }),
  );

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function connectedWorld(): Promise<World> {
  const w = world({ clock: new SwiftClock() });
  await addPeer(w, "bob");
  await ask(w, "x", "bob");
  return w;
}

/** No internal error, and no close code outside of the contract. */
function assertSound(w: World, { closed }: FakeSocket): void {
  assert.deepEqual(w.logged, []);
  if (closed) assert.ok(CODES.has(closed.code), String(closed.code));
}

Deno.test("any text on a socket is accepted, or answered with an error", async () => {
  await using w = await connectedWorld();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyText(FRAMES), { minLength: 1, maxLength: 5 }), async (texts) => {
      const socket = w.socket();
      await socket.connect({ display_name: `ada${++count}` });
      for (const text of texts) {
        const before = [socket.of("error").length, socket.of("result").length];
        await socket.send(text);
        const frame = Inbound.safeParse(parse(text));
        const verb = frame.success && "request_id" in frame.data;
        const since = [socket.of("error").length, socket.of("result").length]
          .map((length, index) => length - (before[index] ?? 0));
        assert.deepEqual(since, [frame.success ? 0 : 1, verb ? 1 : 0], text);
        assert.equal(socket.closed, undefined);
      }
      assertSound(w, socket);
      await socket.drop();
    }),
    { numRuns: RUNS },
  );
});

Deno.test("any first text on a socket completes the handshake, or is refused with a code of the contract", async () => {
  await using w = await connectedWorld();
  await fc.assert(
    fc.asyncProperty(anyText([CONNECT, ...FRAMES]), async (text) => {
      const socket = w.socket();
      await socket.send(text);
      for (let turn = 0; turn < 20 && socket.frames.length === 0; turn++) await w.clock.settle();
      const greeted = socket.of("connected").length === 1;
      if (!Connect.safeParse(parse(text)).success) assert.equal(greeted, false, text);
      if (greeted) assert.equal(socket.closed, undefined);
      else assert.deepEqual([socket.of("error").length, socket.closed !== undefined], [1, true]);
      assertSound(w, socket);
      await socket.drop();
    }),
    { numRuns: RUNS },
  );
});

Deno.test("twenty bad frames of any kind within a minute close the socket, and not one fewer", async () => {
  await using w = await connectedWorld();
  const bad = fc.string({ maxLength: 40 }).filter((text) =>
    !Inbound.safeParse(parse(text)).success
  );
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(bad, { minLength: 20, maxLength: 20 }), async (texts) => {
      const socket = w.socket();
      await socket.connect({ display_name: `eve${++count}` });
      for (const text of texts.slice(1)) await socket.send(text);
      const codes = [socket.closed?.code];
      await socket.send(texts[0] ?? "");
      codes.push(socket.closed?.code);
      assert.deepEqual(codes, [undefined, CLOSE.too_many_bad_frames]);
      assert.equal(socket.of("error").length, 20);
    }),
    { numRuns: 20 },
  );
});

Deno.test("a frame of more than 1 MiB is answered, and the socket stays open [c4.frame-size]", async () => {
  await using w = await connectedWorld();
  const socket = w.socket();
  await socket.connect({ display_name: "ada" });
  await socket.send(`{"type":"pong","ping_id":"${"1".repeat(FRAME_BYTES_MAX)}"}`);
  assert.equal(socket.of("error").length, 1);
  assert.equal(socket.closed, undefined);
});
