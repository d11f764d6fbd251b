/** `mesh backup`: taken while a daemon runs, and restored into a new state directory. */

import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runCli } from "../../../../cli.ts";
import { filesIn } from "../../../../daemon/host/files.ts";
import { countingIds } from "../../../support/ids.ts";
import { world } from "../../../support/world.ts";
import { addPeer, ask, get, notify } from "../../../support/daemon/peer_clients.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";

function setup() {
  const dir = Deno.makeTempDirSync();
  const path = (...args: string[]) => pathOf(dir, ...args);
  for (const name of ["state", "fresh"]) Deno.mkdirSync(path(name), { mode: 0o700 });
  const env = { MESH_CONFIG: path("none"), MESH_STATE: path("state") };
  return {
    path,
    async backup(...args: string[]) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(["backup", ...args], env, terminal);
      return { code, ...lines };
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

const modeOf = (path: string) => (Deno.statSync(path).mode ?? 0) & 0o777;
const settings = { "human.name": "sam" };

Deno.test("a daemon on a restored backup has the same peers, asks, inbox and keys", async () => {
  using p = setup();
  const ids = countingIds();
  await using w = world({ settings, ids, db_path: p.path("state/mesh.db") });
  const bob = await addPeer(w, "bob");
  const first = await ask(w, "ada", "bob", "Which port?");
  await ask(w, "bob", "sam", "May I?");
  const { code, out } = await p.backup(p.path("copy.db"), "--json");
  assert.equal(code, 0);
  assert.deepEqual([JSON.parse(out).file, modeOf(p.path("copy.db"))], [p.path("copy.db"), 0o600]);
  // Later asks are not in the copy: the daemon continues with its own file.
  const later = await ask(w, "ada", "bob", "And which host?");

  Deno.copyFileSync(p.path("copy.db"), p.path("fresh/mesh.db"));
  await using r = world({ settings, ids, db_path: p.path("fresh/mesh.db") });
  assert.deepEqual(r.daemon.identity, w.daemon.identity);
  const { peers } = await get(r, "/peers");
  const known = peers.find(({ name }: { name: string }) => name === "bob");
  assert.deepEqual(known?.peer_id, bob.peer_id ?? bob);
  assert.equal((await get(r, `/asks/${first}`)).text, "Which port?");
  const { items } = await get(r, "/inbox");
  assert.deepEqual(items.map(({ text }: { text: string }) => text), ["May I?"]);
  assert.equal((await r.fetch(`/asks/${later}`)).status, 404);
  const events = await get(r, "/events?limit=1000");
  const last = Math.max(...events.events.map(({ id }: { id: number }) => id));
  const next = await ask(r, "ada", "bob", "Still there?");
  assert.notEqual(next, first);
  assert.equal((await get(r, `/asks/${first}`)).text, "Which port?");
  assert.ok(r.events.every(({ id }) => id > last), "event numbers continue");
});

Deno.test("a restored daemon repeats no sequence number, even of emptied tables", async () => {
  using p = setup();
  await using w = world({ db_path: p.path("state/mesh.db") });
  await addPeer(w, "bob");
  for (let count = 0; count < 5; count++) await notify(w, "ada", "bob");
  const sequences = (path: string) => {
    using db = new DatabaseSync(path, { readOnly: true });
    return db.prepare("select name, seq from sqlite_sequence order by name").all();
  };
  assert.equal((await p.backup(p.path("copy.db"))).code, 0);
  assert.deepEqual(sequences(p.path("copy.db")), sequences(p.path("state/mesh.db")));
});

Deno.test("backup overwrites nothing, and a failed copy leaves nothing behind", async () => {
  using p = setup();
  assert.match((await p.backup(p.path("copy.db"))).err, /^mesh: There is nothing to back up: /);
  Deno.writeTextFileSync(p.path("state/mesh.db"), "this is no database at all");
  const failed = await p.backup(p.path("copy.db"));
  assert.equal(failed.code, 1);
  assert.match(failed.err, /^mesh: Cannot copy to .*not a database/);
  assert.deepEqual([...Deno.readDirSync(p.path())].map(({ name }) => name).sort(), [
    "fresh",
    "state",
  ]);
  Deno.writeTextFileSync(p.path("mine"), "mine");
  const refused = await p.backup(p.path("mine"));
  assert.equal(refused.code, 1);
  assert.match(refused.err, /already exists; choose another file name/);
  assert.equal(Deno.readTextFileSync(p.path("mine")), "mine");
  assert.equal((await p.backup(p.path("no/such/copy.db"))).code, 1);
});

Deno.test("--attachments also copies uploaded files, with mode 0600", async () => {
  using p = setup();
  const files = filesIn(p.path("state/attachments"));
  await using w = world({ db_path: p.path("state/mesh.db"), files });
  await addPeer(w, "bob");
  await files.write("att-1.txt", ReadableStream.from([new TextEncoder().encode("1")]));
  Deno.writeTextFileSync(p.path("state/attachments/att-2.txt.part"), "half");
  const { code, out } = await p.backup(p.path("copy.db"), "--attachments");
  assert.deepEqual([code, /and 1 uploaded files to /.test(out)], [0, true]);
  assert.deepEqual([...Deno.readDirSync(p.path("copy.db.attachments"))].map(({ name }) => name), [
    "att-1.txt",
  ]);
  assert.equal(modeOf(p.path("copy.db.attachments/att-1.txt")), 0o600);
  assert.equal(modeOf(p.path("copy.db.attachments")), 0o700);
  assert.equal((await p.backup(p.path("other.db"))).code, 0);
  assert.throws(() => Deno.statSync(p.path("other.db.attachments")), Deno.errors.NotFound);
});
