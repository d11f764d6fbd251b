/** Subscriptions for edited files. */

import assert from "node:assert/strict";
import { formatInstant } from "kit/core/local_time.ts";
import { join } from "node:path";
import { ENTRIES_MAX } from "../../../../daemon/host/edited_files.ts";
import { addPeer, connectPeer } from "../../../support/daemon/peer_clients.ts";
import { readSubscription, subscribe } from "../../../support/daemon/schedules.ts";
import { until } from "../../../support/waiting.ts";
import { world } from "../../../support/world.ts";

/** A daemon with @ada, who listens, and with @web, whose folder is real. */
async function fixture() {
  const w = world({ settings: { "human.name": "sam" } });
  const folder = Deno.makeTempDirSync();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "web", { path: folder });
  return {
    w,
    folder,
    told: () => ada.of("notify").map(({ text }) => text ?? ""),
    /** Writes a file as if it were written now. */
    edit(path: string) {
      Deno.mkdirSync(join(folder, path, ".."), { recursive: true });
      Deno.writeTextFileSync(join(folder, path), "");
      Deno.utimeSync(join(folder, path), w.clock.now() / 1000, w.clock.now() / 1000);
    },
    /** Ticks until the state is reached: scans run beside the ticks. */
    async ticksUntil(what: string, isReached: () => boolean | Promise<boolean>) {
      await until(what, async () => (await w.tick(1), await isReached()));
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      Deno.removeSync(folder, { recursive: true });
    },
  };
}

Deno.test("an edit of a file in a peer's folder is reported, with its path and time [4.when.files]", async () => {
  await using at = await fixture();
  const { w, folder, told, edit, ticksUntil } = at;
  edit("src/before.ts");
  const { subscription_id: id, condition } = await subscribe(w, "file:web/src/**/*.ts edited");
  assert.equal(condition, "file:web/src/**/*.ts edited");
  await w.tick(10);
  edit("src/deep/a.ts");
  edit("src/b.md");
  await ticksUntil("a message", () => told().length > 0);
  assert.deepEqual(told(), [
    `Subscription ${id}: Edited in ${JSON.stringify(folder)}: "src/deep/a.ts" at ` +
    `${formatInstant("2030-01-01T00:00:10Z")}. The file system says when, but not who edited it.`,
  ]);
  assert.equal((await readSubscription(w, id)).state, "fired");
});

Deno.test("a folder of too many files ends the subscription, and its subscriber is notified [4.when.files]", async () => {
  await using at = await fixture();
  const { w, folder, told, ticksUntil } = at;
  for (let file = 0; file <= ENTRIES_MAX; file++) {
    Deno.openSync(join(folder, `${file}`), { write: true, create: true }).close();
  }
  const { subscription_id: id } = await subscribe(w, "file:web/* edited");
  await ticksUntil("a message", () => told().length > 0);
  assert.match(told()[0] ?? "", /has ended without a message: .* too many files to watch \*$/);
  assert.equal((await readSubscription(w, id)).state, "failed");
});
