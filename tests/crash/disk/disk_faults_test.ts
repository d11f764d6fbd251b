/** A disk that is full, read-only, failing or slow: clear refusals, no loss, and a recovery. */

import assert from "node:assert/strict";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { until } from "../../support/waiting.ts";
import { diskStorm } from "./disk_storm.ts";
import { FAULTS, FaultyDisk, obstacle } from "./faulty_disk.ts";

const FAULTS_OF_STORM = 9;
const SYNC_MS = 600;

const why_not = await obstacle();
const ignore = why_not !== undefined;
const reason = ignore ? `: ${why_not}` : "";

const REASONS = {
  full: "database or disk is full",
  read_only: "disk I/O error",
  broken: "disk I/O error",
} as const;

async function send({ base }: RealDaemon, path: string, body?: unknown) {
  const isForm = body instanceof FormData;
  const init = body === undefined ? {} : {
    method: "POST",
    body: isForm ? body : JSON.stringify(body),
  };
  const response = await fetch(base + path, init);
  return { status: response.status, ...await response.json() };
}

function form(): FormData {
  const made = new FormData();
  made.append("file", new File(["notes"], "notes.txt"));
  return made;
}

const NOTIFY = { from_peer: "web", to_peer: "api", text: "hello" };

async function recovers(daemon: RealDaemon): Promise<void> {
  await until(
    "the disk to be reported as sound",
    async () => (await send(daemon, "/health")).storage.status !== "failing",
  );
}

Deno.test({
  name: `a disk that is full, read-only or failing is refused clearly and recovered from${reason}`,
  ignore,
  async fn() {
    using folder = temporary();
    const disk = await FaultyDisk.make(folder.path);
    await using daemon = await disk.start();
    await send(daemon, "/peers", { name: "api", path: "/work", backend: "sdk" });
    for (const fault of FAULTS) {
      disk.become(fault);
      for (const [path, body] of [["/notify", NOTIFY], ["/attachments", form()]] as const) {
        const { status, error } = await send(daemon, path, body);
        assert.deepEqual([path, status, error], [path, 503, "storage_failed"], fault);
      }
      const { status: _, storage } = await send(daemon, "/health");
      assert.deepEqual([storage.status, storage.reason], ["failing", REASONS[fault]], fault);
      assert.equal((await send(daemon, "/peers")).peers.length, 1, "what is stored can be read");
      disk.become("sound");
      await recovers(daemon); // By itself: nothing is sent to it.
      assert.equal((await send(daemon, "/notify", NOTIFY)).status, 200, fault);
    }
    assert.match(disk.log, /The database can be written again.*"lost_lines":/);
  },
});

Deno.test({
  name: `messages accepted between failures of the disk are kept, and delivered once${reason}`,
  ignore,
  async fn() {
    using folder = temporary();
    const disk = await FaultyDisk.make(folder.path);
    const { accepted, refused, ...failures } = await diskStorm(disk, FAULTS_OF_STORM);
    assert.ok(accepted > 0 && refused > 0, `${accepted} accepted, ${refused} refused`);
    assert.deepEqual(failures, {
      unclear: 0,
      undelivered: 0,
      delivered_twice: 0,
      delivered_though_refused: 0,
      unsettled: 0,
      lost: 0,
    });
  },
});

Deno.test({
  name:
    `on a disk that cannot be written a daemon ends in order, and starts with a reason${reason}`,
  ignore,
  async fn() {
    using folder = temporary();
    const disk = await FaultyDisk.make(folder.path);
    for (const fault of FAULTS) {
      const daemon = await disk.start();
      disk.become(fault);
      await send(daemon, "/notify", NOTIFY);
      assert.equal(await daemon.stop(), 0, fault);
      const { code, error } = await disk.startAndFail();
      assert.equal(code, 1);
      assert.match(error, /^Cannot keep state in \S+: .+; set MESH_STATE to use another directory/);
      disk.become("sound");
    }
  },
});

Deno.test({
  name: `a slow disk delays requests, and health says so${reason}`,
  ignore,
  async fn() {
    using folder = temporary();
    const disk = await FaultyDisk.make(folder.path);
    await using daemon = await disk.start();
    await send(daemon, "/peers", { name: "api", path: "/work", backend: "sdk" });
    disk.become(`slow ${SYNC_MS}`);
    const answers = await Promise.all([1, 2, 3].map(() => send(daemon, "/notify", NOTIFY)));
    assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200]);
    const { storage } = await send(daemon, "/health");
    assert.equal(storage.status, "slow");
    assert.match(storage.reason, /^a commit took \d+ ms$/);
    disk.become("sound");
  },
});
