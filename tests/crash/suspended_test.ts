/** A daemon that is suspended and goes on: nothing is lost, done twice, or taken for dead. */

import assert from "node:assert/strict";
import { suspend } from "./suspension.ts";

const SECONDS = 3;

Deno.test("a suspended daemon continues as if nothing had happened", {
  ignore: Deno.build.os === "windows", // It has no SIGSTOP.
}, async () => {
  assert.deepEqual(await suspend(SECONDS), {
    unanswered: 0,
    undelivered: 0,
    delivered_twice: 0,
    peers_lost: 0,
    fired_twice: 0,
  });
});
