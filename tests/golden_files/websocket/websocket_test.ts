/** The page about `/ws`: its examples match the schemas, and its session happens on a real daemon. */

import assert from "node:assert/strict";
import {
  CLOSE,
  Connect,
  FRAME_BYTES_MAX,
  Inbound,
  Outbound,
} from "../../../daemon/features/messages/websocket/frames.ts";
import { SETTINGS } from "../../../daemon/app/config.ts";
import { TEXT_BYTES_MAX } from "kit/core/schema.ts";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { until } from "../../support/waiting.ts";
import { readGolden } from "../gen.ts";
import { CLIENT_FRAMES, DAEMON_FRAMES } from "./examples.ts";
import { VERBS } from "./page.ts";
import { type Connection, type Frame, runSession } from "./session.ts";

const PAGE = readGolden("docs/websocket.md");

Deno.test("each example of a client's frame is accepted by its schema, and by its verb's", () => {
  for (const [type, { example }] of Object.entries(CLIENT_FRAMES)) {
    const frame = { type, ...example };
    assert.deepEqual(type === "connect" ? Connect.parse(frame) : Inbound.parse(frame), frame);
    const verb = Object.entries(VERBS).find(([name]) => name === type)?.[1];
    verb?.body.parse({ ...example, from_peer: "api" });
  }
});

Deno.test("each example of a daemon's frame has exactly the fields of its schema", () => {
  for (const [type, { example }] of Object.entries(DAEMON_FRAMES)) {
    const frame = { type, ...example };
    assert.deepEqual(Object.keys(Outbound.parse(frame)).sort(), Object.keys(frame).sort(), type);
  }
});

Deno.test("every frame and every close code is on the page", () => {
  const types = [...Inbound.options, ...Outbound.options].map(({ shape }) => shape.type.value);
  for (const type of ["connect", ...types]) {
    assert.match(PAGE, new RegExp(`^### \`${type}\`$`, "m"));
  }
  for (const code of Object.values(CLOSE)) assert.match(PAGE, new RegExp(`^\\| ${code} \\|`, "m"));
});

Deno.test("the limits on the page are those in force", () => {
  const number = (value: unknown) => Number(value).toLocaleString("en");
  const setting = (key: keyof typeof SETTINGS) => number(SETTINGS[key].parse(undefined));
  assert.equal(FRAME_BYTES_MAX, 1024 * 1024);
  assert.ok(PAGE.includes(`${number(TEXT_BYTES_MAX)} bytes`));
  assert.ok(PAGE.includes(`${setting("daemon.limits.pair_per_minute")} messages a minute`));
  assert.ok(PAGE.includes(`after ${setting("daemon.limits.hops")} hops`));
  assert.ok(PAGE.includes(`${setting("daemon.queue.max_per_peer")} messages may wait`));
});

/** A client on a real socket. */
async function connectTo(base: string): Promise<Connection & Disposable> {
  const socket = new WebSocket(base.replace("http", "ws") + "/ws");
  const received: Frame[] = [];
  socket.onmessage = ({ data }) => void received.push(JSON.parse(data));
  await new Promise((resolve) => socket.onopen = resolve);
  return {
    send: (frame) => Promise.resolve(socket.send(JSON.stringify(frame))),
    next: (type) =>
      until(`a frame ${type}`, () => {
        while (received.length > 0) {
          const frame = received.shift();
          if (frame?.["type"] === type) return frame;
        }
        return undefined;
      }),
    [Symbol.dispose]: () => socket.close(),
  };
}

/** A session without what differs from run to run: ids, traces. */
function withoutIds(text: string): string {
  return text.replaceAll(/\b([a-z]+)-[0-9a-f]{12}\b/g, "$1-…")
    .replaceAll(/00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]/g, "…");
}

Deno.test("the session on the page happens on a real daemon as it is written", async () => {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  using api = await connectTo(daemon.base);
  using web = await connectTo(daemon.base);
  const steps = await runSession(api, web);
  const page = withoutIds(PAGE);
  for (const { about, frames } of steps) {
    assert.ok(page.includes(about));
    for (const { frame } of frames) {
      const line = withoutIds(JSON.stringify(frame));
      assert.ok(page.includes(line), `not on the page: ${line}`);
    }
  }
});
