/** A file system that is really full: requests are refused, and it goes on when there is room. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { until } from "../../support/waiting.ts";

/** Room for a new database, and little more. */
const SIZE = "6m";
const PIECE = new Uint8Array(65_536);

async function run(...command: string[]): Promise<boolean> {
  const [program = "", ...args] = command;
  const { success } = await new Deno.Command(program, { args, stderr: "null" }).output();
  return success;
}

/** A small file system in memory. */
async function mount(path: string): Promise<AsyncDisposable | undefined> {
  if (!await run("mount", "-t", "tmpfs", "-o", `size=${SIZE},mode=700`, "tmpfs", path)) return;
  return { [Symbol.asyncDispose]: async () => void await run("umount", path) };
}

async function mayMount(): Promise<boolean> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return false;
  using folder = temporary();
  await using mounted = await mount(folder.path);
  return mounted !== undefined;
}

/** Leaves no room, not even for a page. */
function fill(path: string): void {
  for (const piece of [PIECE, PIECE.subarray(0, 4096), PIECE.subarray(0, 1)]) {
    try {
      for (;;) writeFileSync(path, piece, { flag: "a" });
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ENOSPC") throw error;
    }
  }
}

async function post({ base }: RealDaemon, path: string, body: unknown) {
  const response = await fetch(base + path, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, ...await response.json() };
}

const may = await mayMount();

Deno.test({
  name: "a daemon on a full file system refuses, and continues by itself when there is room" +
    (may ? "" : ": only root may mount one, and not in every container"),
  ignore: !may,
  async fn() {
    using folder = temporary();
    await using _mounted = await mount(folder.path);
    await using daemon = await RealDaemon.start(folder.path);
    await post(daemon, "/peers", { name: "api", path: "/work", backend: "sdk" });
    const notify = (number: number) =>
      post(daemon, "/notify", {
        from_peer: `web-${number}`,
        to_peer: "api",
        text: `${number} ${"x".repeat(50_000)}`,
      });
    fill(join(folder.path, "filler"));
    const accepted: string[] = [];
    let refused: { status: number; error: string } | undefined;
    for (let number = 0; !refused; number++) { // The log of the database has some room left.
      const answer = await notify(number);
      if (answer.status === 200) accepted.push(answer.delivery_id);
      else refused = answer;
    }
    assert.deepEqual([refused.status, refused.error], [503, "storage_failed"]);
    const storage = async () => (await (await fetch(`${daemon.base}/health`)).json()).storage;
    assert.equal((await storage()).reason, "database or disk is full");
    Deno.removeSync(join(folder.path, "filler"));
    await until("the daemon to write again", async () => (await storage()).status !== "failing");
    const { delivery_id } = await notify(-1);
    for (const id of [...accepted, delivery_id]) {
      const response = await fetch(`${daemon.base}/messages/${id}`);
      await response.body?.cancel();
      assert.equal(response.status, 200, `${id} is lost`);
    }
  },
});
