/** A tunnel that its other end closes, while the confirmation does not reach it. */

import assert from "node:assert/strict";
import { MultiplexedConnection } from "kit/net/tunnel/multiplexed.ts";
import { SwiftClock } from "../../../support/swift_clock.ts";

Deno.test("a tunnel that its other end has begun to close ends within 2 s", async () => {
  const clock = new SwiftClock();
  const closed: string[] = [];
  const connection = {
    open: true,
    buffered: 0,
    send: () => undefined,
    close: (_: number, reason: string) => void closed.push(reason),
  };
  const tunnel = new MultiplexedConnection(connection, { clock });
  tunnel.tick(clock.monotonic());
  connection.open = false;
  tunnel.tick(clock.monotonic());
  await clock.advance(1999);
  tunnel.tick(clock.monotonic());
  assert.deepEqual(closed, []);
  await clock.advance(1);
  tunnel.tick(clock.monotonic());
  assert.deepEqual(closed, ["no_pong"]);
});
