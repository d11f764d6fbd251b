/**
 * `mesh restore`: its checks, the copies that it keeps, its report; stops and starts a real daemon.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runCli } from "../../../../cli.ts";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { migrations } from "../../../../daemon/app/migrations/migrations.ts";
import { relayMigrations } from "../../../../relay/app/database.ts";
import { FakeClock } from "../../../support/clock.ts";
import { skippingIds } from "../../../support/daemon/rolled_back.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";
import { addPeer, get, notify } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";
import { meshArguments } from "../../../support/programs/program.ts";

const HOME = Deno.env.get("HOME") ?? "";

function setup() {
  const dir = Deno.makeTempDirSync();
  const path = (...args: string[]) => join(dir, ...args);
  Deno.mkdirSync(path("state"), { mode: 0o700 });
  const env = {
    PATH: Deno.env.get("PATH") ?? "",
    HOME: dir,
    MESH_CONFIG: path("none"),
    MESH_STATE: path("state"),
    MESH_DAEMON__PORT: "0",
  };
  const database = path("state/mesh.db");
  const ids = skippingIds();
  return {
    path,
    database,
    start: (db_path = database) => world({ db_path, ids }),
    async mesh(...args: string[]) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(args, env, terminal);
      return { code, ...lines };
    },
    /** The same command as a separate process, which can start a daemon. */
    async program(...args: string[]) {
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: meshArguments(args),
        env: { ...env, DENO_DIR: Deno.env.get("DENO_DIR") ?? join(HOME, ".cache/deno") },
        clearEnv: true,
      }).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, out: text(stdout), err: text(stderr) };
    },
    names: () => [...Deno.readDirSync(path("state"))].map(({ name }) => name).toSorted(),
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

type Setup = ReturnType<typeof setup>;

async function send({ start }: Setup, ...texts: string[]): Promise<void> {
  await using w = start();
  await addPeer(w, "bob");
  for (const text of texts) await notify(w, "ada", "bob", text);
}

const texts = async (p: Setup) => {
  await using w = p.start();
  const { messages } = await get(w, "/messages");
  const health = await get(w, "/health");
  const found = messages.map(({ text }: { text: string }) => text);
  return { texts: found, restored: health.restored };
};

Deno.test("a backup replaces the database, which is kept; lost records are counted", async () => {
  using p = setup();
  await send(p, "one");
  assert.equal((await p.mesh("backup", p.path("copy.db"))).code, 0);
  await send(p, "two", "three");
  const { code, out } = await p.mesh("restore", p.path("copy.db"), "--json");
  assert.equal(code, 0);
  const { lost_messages, replaced, started } = JSON.parse(out);
  assert.deepEqual([lost_messages, started], [2, null]);
  assert.equal((Deno.statSync(p.database).mode ?? 0) & 0o777, 0o600);
  const found = await texts(p);
  assert.deepEqual(found.texts, ["one"]);
  assert.equal(found.restored.lost_messages, 2);
  // The kept database is complete, and can be restored in turn.
  assert.equal((await p.mesh("restore", replaced)).code, 0);
  assert.deepEqual((await texts(p)).texts, ["three", "two", "one"]);
});

Deno.test("two of the databases that were replaced are kept", async () => {
  using p = setup();
  await send(p, "one");
  await p.mesh("backup", p.path("copy.db"));
  for (const name of ["19990101T000000Z", "20000101T000000Z", "20010101T000000Z"]) {
    for (const suffix of ["", "-wal"]) {
      Deno.writeTextFileSync(p.path(`state/mesh.db.replaced-${name}${suffix}`), "x");
    }
  }
  assert.equal((await p.mesh("restore", p.path("copy.db"))).code, 0);
  const kept = p.names().filter((name) => name.startsWith("mesh.db.replaced-"));
  assert.equal(kept.length, 3);
  assert.deepEqual(kept.slice(0, 2), [
    "mesh.db.replaced-20010101T000000Z",
    "mesh.db.replaced-20010101T000000Z-wal",
  ]);
});

Deno.test("a file that is no backup of this daemon is refused with its kind, and nothing changes", async () => {
  using p = setup();
  await send(p, "one");
  const at = (name: string) => p.path(name);
  const make = (name: string, ...statements: string[]) => {
    using db = new DatabaseSync(at(name));
    for (const statement of statements) db.exec(statement);
  };
  await p.mesh("backup", at("good.db"));
  const files = p.names();
  Deno.writeTextFileSync(at("text"), "no database at all");
  Deno.writeTextFileSync(at("empty"), "");
  const whole = Deno.readFileSync(at("good.db"));
  Deno.writeFileSync(at("truncated.db"), whole.subarray(0, whole.length / 2));
  Deno.writeFileSync(at("damaged.db"), whole.with(5000, 255).fill(7, 20_000, 90_000));
  Deno.mkdirSync(at("folder"));
  make("foreign.db", "create table meta (key text, value text)");
  make("relay.db", ...relayMigrations);
  Deno.copyFileSync(at("good.db"), at("newer.db"));
  make("newer.db", `pragma user_version = ${migrations.length + 1}`);
  Deno.copyFileSync(at("good.db"), at("other.db"));
  make("other.db", "update meta set value = 'dm-other' where key = 'daemon_id'");
  for (
    const [name, reason] of [
      ["none", /Cannot read ".*none": it or its directory does not exist\ncreate the/],
      ["text/below", /Cannot read ".*below": a part of its path is a file.*\nmove that/],
      ["n".repeat(300), /Cannot read ".*": the path is too long\nchoose a shorter path/],
      ["text", /is no SQLite database/],
      ["empty", /is empty/],
      ["truncated.db", /Cannot copy .*(malformed|damaged)/],
      ["damaged.db", /Cannot copy .*(malformed|damaged)/],
      ["folder", /is a directory/],
      ["foreign.db", /is a database of another program/],
      ["relay.db", /is the database of a relay/],
      ["newer.db", /has schema \d+, and this version of mesh supports up to \d+; update mesh/],
      ["other.db", /is of daemon dm-other, and this machine's is dm-/],
    ] as const
  ) {
    const { code, err } = await p.mesh("restore", at(name));
    assert.equal(code, 1, name);
    assert.match(err, reason, name);
    assert.deepEqual(p.names(), files, name);
  }
  assert.deepEqual(await texts(p), { texts: ["one"], restored: undefined });
  const taken = await p.mesh("restore", at("other.db"), "--other-daemon");
  assert.equal(taken.code, 0, taken.err);
});

Deno.test("a damaged database is replaced, and a log that a crash left is not read with the backup", async () => {
  using p = setup();
  await send(p, "one");
  await p.mesh("backup", p.path("copy.db"));
  Deno.writeTextFileSync(p.database, "damaged");
  Deno.writeTextFileSync(`${p.database}-wal`, "and its log");
  const { code, out } = await p.mesh("restore", p.path("copy.db"), "--json");
  assert.equal(code, 0);
  const { lost_messages, replaced } = JSON.parse(out);
  assert.equal(lost_messages, null);
  assert.equal(Deno.readTextFileSync(replaced), "damaged");
  assert.equal(Deno.readTextFileSync(`${replaced}-wal`), "and its log");
  assert.deepEqual((await texts(p)).texts, ["one"]);
});

Deno.test("a state directory without a database accepts a backup, even with leftovers of a crash", async () => {
  using p = setup();
  await send(p, "one");
  await p.mesh("backup", p.path("copy.db"));
  Deno.removeSync(p.path("state"), { recursive: true });
  Deno.mkdirSync(p.path("state"), { mode: 0o700 });
  Deno.writeTextFileSync(p.path("state/mesh.db.restoring"), "half");
  assert.equal((await p.mesh("restore", p.path("copy.db"))).code, 0);
  assert.deepEqual(p.names(), ["lock", "mesh.db"]);
  assert.deepEqual((await texts(p)).texts, ["one"]);
});

Deno.test("a running daemon is left alone, unless --yes stops and starts it", async () => {
  using p = setup();
  const up = await p.program("up");
  assert.equal(up.code, 0, up.err);
  try {
    assert.equal((await p.program("backup", p.path("copy.db"))).code, 0);
    const refused = await p.program("restore", p.path("copy.db"));
    assert.equal(refused.code, 1);
    assert.match(refused.err, /The daemon is running; nothing was changed/);
    const { code, out, err } = await p.program("restore", p.path("copy.db"), "--yes");
    assert.equal(code, 0, err);
    assert.match(out, /Restored[^]*messages since +0[^]*runs at http/);
    assert.match((await p.program("status")).out, /restored +from a backup at/);
  } finally {
    await p.program("down");
  }
});

Deno.test("the copy from before an update is named by an older version, and restored", async () => {
  using p = setup();
  const older = migrations.length - 1;
  const copy = `${p.database}.schema-${older}`;
  const clock = new FakeClock();
  {
    const log = jsonLog(clock, "error", () => {});
    using db = new Database(p.database, migrations.slice(0, older), log, clock);
    db.transactNow((tx) =>
      tx.run("insert into meta (key, value) values ('daemon_id', 'dm-000000000001')")
    );
  }
  await send(p, "since the update");
  assert.ok(p.names().includes(`mesh.db.schema-${older}`));
  {
    using db = new DatabaseSync(p.database);
    db.exec(`pragma user_version = ${migrations.length + 1}`);
  }
  const advice =
    `use a newer program, or go back to the copy with version ${older}: mesh restore "${copy}"`;
  assert.throws(() => p.start(), (error: Error) => error.message.includes(advice));
  const { code, err } = await p.mesh("restore", copy);
  assert.equal(code, 0, err);
  assert.deepEqual((await texts(p)).texts, []);
});
