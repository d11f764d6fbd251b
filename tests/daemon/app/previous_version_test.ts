/** A database, a configuration and agents' settings of version 0.1.0 work with the code of now. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runSetup } from "../../support/cli/run_setup.ts";
import { readConfig } from "../../../daemon/app/config.ts";
import { keyedIdCodec } from "../../../daemon/features/messages/id_codec.ts";
import { filesIn } from "../../../daemon/host/files.ts";
import { FakeClock } from "../../support/clock.ts";
import { addPeer, connectPeerWithReceipts, get, post } from "../../support/daemon/peer_clients.ts";
import { world } from "../../support/world.ts";

const FIXTURE = new URL("../../golden/before_structure/", import.meta.url);
const MAIN = fileURLToPath(new URL("../../../main.ts", import.meta.url));
/** A moment after the fixture was made: its messages and its attachment have not expired. */
const NOW = "2026-11-22T15:00:00Z";

type Row = Record<string, unknown>;

/** A daemon on a copy of the database, with a copy of the attachment. */
async function openFixture() {
  const directory = Deno.makeTempDirSync();
  const db_path = join(directory, "mesh.db");
  const packed = await Deno.open(new URL("mesh.db.gz", FIXTURE));
  await Deno.writeFile(db_path, packed.readable.pipeThrough(new DecompressionStream("gzip")));
  const files = filesIn(join(directory, "attachments"));
  const w = world({
    db_path,
    files,
    clock: new FakeClock(NOW),
    idCodec: keyedIdCodec,
    settings: { "human.name": "sam" },
  });
  return {
    w,
    files,
    rows: async (path: string, list: string): Promise<Row[]> => (await get(w, path))[list],
    async [Symbol.asyncDispose](): Promise<void> {
      await w[Symbol.asyncDispose]();
      Deno.removeSync(directory, { recursive: true });
    },
  };
}

function textsOf(rows: readonly Row[], ...fields: readonly string[]): unknown[][] {
  return rows.map((row) => fields.map((field) => row[field])).sort();
}

Deno.test("every peer of the previous version is there", async () => {
  await using at = await openFixture();
  assert.deepEqual(textsOf(await at.rows("/peers", "peers"), "name", "circle", "role", "status"), [
    ["ada", "default", "agent", "offline"],
    ["bob", "default", "agent", "offline"],
    ["cy", "other", "agent", "offline"],
    ["gone", "default", "agent", "retired"],
    ["live", "default", "agent", "offline"],
    ["sam", "default", "human", "online"],
  ]);
});

Deno.test("every message of the previous version is there, in its state", async () => {
  await using at = await openFixture();
  const deliveries = await at.rows("/deliveries", "deliveries");
  assert.deepEqual(textsOf(deliveries, "text", "kind", "state"), [
    ["All well?", "ask", "queued"],
    ["All well?", "ask", "queued"],
    ["Are you ready?", "ask", "dropped"],
    ["Done", "notify", "accepted"],
    ["Is the ground still called so?", "ask", "queued"],
    ["May I merge?", "ask", "accepted"],
    ["Queued while you were away", "notify", "queued"],
    ["Read at once", "notify", "accepted"],
    ["See the file", "notify", "queued"],
    ["The build is green", "notify", "queued"],
    ["Which one?", "ask", "accepted"],
    ["Will you?", "ask", "dropped"],
    ["Yes", "ack", "queued"],
    ["busy", "ack", "queued"],
  ]);
  const read = deliveries.find(({ text }) => text === "Read at once");
  assert.equal(read?.["transport"], "websocket");
  const { stages } = await get(at.w, `/traces/${read?.["delivery_id"]}`);
  assert.equal(stages.at(-1).stage, "accepted");
});

Deno.test("every ask of the previous version is there, with its reply", async () => {
  await using at = await openFixture();
  const asks = await at.rows("/asks", "asks");
  assert.deepEqual(textsOf(asks, "text", "state", "close_reason", "reply"), [
    ["All well?", "open", null, null],
    ["All well?", "open", null, null],
    ["Are you ready?", "closed", "ack_with_msg", "Yes"],
    ["Is the ground still called so?", "open", null, null],
    ["May I merge?", "open", null, null],
    ["Which one?", "open", null, null],
    ["Will you?", "closed", "declined", "busy"],
  ]);
});

Deno.test("the inbox, the jobs and the schedules of the previous version are there", async () => {
  await using at = await openFixture();
  assert.deepEqual(textsOf(await at.rows("/inbox", "items"), "text", "from", "kind"), [
    ["Done", "bob", "notify"],
    ["May I merge?", "ada", "ask"],
    ["Which one?", "live", "ask"],
  ]);
  assert.deepEqual(textsOf(await at.rows("/jobs", "work"), "title", "state"), [
    ["Build", "queued"],
  ]);
  assert.deepEqual(textsOf(await at.rows("/jobs", "recurring"), "title", "state"), [
    ["A task for bob", "active"],
  ]);
  assert.deepEqual(textsOf(await at.rows("/schedules", "schedules"), "text", "state", "fire_at"), [
    ["Stand up", "active", "2027-01-01T09:00:00.000Z"],
  ]);
});

Deno.test("a message that the previous version queued is delivered to its peer", async () => {
  await using at = await openFixture();
  const bob = (await at.rows("/peers", "peers")).find(({ name }) => name === "bob");
  const client = await connectPeerWithReceipts(at.w, "bob", { peer_id: bob?.["peer_id"] });
  assert.deepEqual(client.of("notify").map(({ text }) => text), [
    "Queued while you were away",
    "See the file",
  ]);
  assert.deepEqual(client.of("ask").map(({ text }) => text).slice(0, 2), [
    "Is the ground still called so?",
    "All well?",
  ]);
  const ask = client.of("ask")[0]?.correlation_id;
  await post(at.w, "/ack", { correlation_id: ask, message: "No", from_peer: "bob" });
  assert.equal((await get(at.w, `/asks/${ask}`)).reply, "No");
});

Deno.test("an attachment of the previous version is read", async () => {
  await using at = await openFixture();
  const sent = (await at.rows("/deliveries", "deliveries"))
    .find(({ text }) => text === "See the file");
  const attachments = sent?.["attachments"];
  assert.ok(Array.isArray(attachments));
  const [{ id, filename }] = attachments;
  const text = Deno.readTextFileSync(new URL("attachment.txt", FIXTURE));
  await at.files.write(`${id}.txt`, new Blob([text]).stream());
  assert.equal(filename, "note.txt");
  assert.equal(await (await at.w.fetch(`/attachments/${id}`)).text(), text);
});

Deno.test("a database of the previous version takes new messages, and finds the old ones", async () => {
  await using at = await openFixture();
  await addPeer(at.w, "new");
  const sent = await post(at.w, "/notify", { from_peer: "new", to_peer: "ada", text: "Hello" });
  assert.equal(sent.delivery_state, "queued");
  await at.w.tick();
  const found = await at.rows("/messages?q=merge", "messages");
  assert.deepEqual(textsOf(found, "text"), [["May I merge?"]]);
});

/** A home with the files that the previous version wrote. */
function openHome() {
  const home = Deno.makeTempDirSync({ prefix: "mesh-home-" });
  const files: Record<string, string> = JSON.parse(
    Deno.readTextFileSync(new URL("home.json", FIXTURE)),
  );
  for (const [path, text] of Object.entries(files)) {
    files[path] = text.replaceAll("{DENO}", Deno.execPath()).replaceAll("{MAIN}", MAIN);
    Deno.mkdirSync(dirname(join(home, path)), { recursive: true });
    Deno.writeTextFileSync(join(home, path), files[path], { mode: 0o600 });
  }
  return {
    files,
    env: { HOME: home, PATH: "", MESH_STATE: join(home, "state") },
    read: (path: string) => Deno.readTextFileSync(join(home, path)),
    [Symbol.dispose]: () => Deno.removeSync(home, { recursive: true }),
  };
}

async function setup(args: readonly string[], env: Record<string, string>) {
  const lines: string[] = [];
  const output = {
    out: (text: string) => lines.push(text),
    err: (text: string) => lines.push(text),
  };
  return { code: await runSetup(args, env, output), output: lines.join("\n") };
}

const AGENTS = ["claude-code", "codex", "gemini", "copilot"];
const BACKUP = ".mesh-backup";
const PLUGIN = ".config/opencode/plugin/mesh.js";
const isAgentFile = (path: string) => !path.endsWith(BACKUP) && !path.startsWith(".config/mesh/");

/** Members besides hooks and servers that this version adds to a file. */
const ADDED: Readonly<Record<string, object>> = {
  ".claude/settings.json": { permissions: { allow: ["mcp__mesh"] } },
};

for (const agent of AGENTS) {
  Deno.test(`${agent}: hooks and MCP entries of the previous version stay, and hooks are added`, async () => {
    using home = openHome();
    const { code, output } = await setup(["--agent", agent], home.env);
    assert.equal(code, 0, output);
    for (const [path, text] of Object.entries(home.files).filter(([path]) => isAgentFile(path))) {
      if (home.read(path) === text) continue;
      const { hooks: before, ...others } = JSON.parse(text);
      const { hooks, ...rest } = JSON.parse(home.read(path));
      assert.deepEqual(rest, { ...others, ...ADDED[path] }, path);
      assert.partialDeepStrictEqual(hooks, before, path);
      const added = Object.keys(hooks).filter((event) => !Object.hasOwn(before, event));
      assert.ok(added.length > 0, path);
    }
  });
}

Deno.test("opencode: the MCP entry of the previous version stays, and its plugin is replaced", async () => {
  using home = openHome();
  const { code, output } = await setup(["--agent", "opencode"], home.env);
  assert.equal(code, 0, output);
  for (const path of Object.keys(home.files).filter((path) => isAgentFile(path))) {
    if (path !== PLUGIN) assert.equal(home.read(path), home.files[path], path);
  }
});

Deno.test("the previous version's setup is undone to the byte", async () => {
  using home = openHome();
  for (const agent of [...AGENTS, "opencode"]) {
    const { code, output } = await setup(["--agent", agent, "--uninstall"], home.env);
    assert.equal(code, 0, output);
  }
  for (const path of Object.keys(home.files).filter(isAgentFile)) {
    if (path === PLUGIN) assert.throws(() => home.read(path), Deno.errors.NotFound);
    else assert.equal(home.read(path), home.files[path + BACKUP], path);
  }
});

Deno.test("the configuration of the previous version is read", () => {
  using home = openHome();
  const config = readConfig(home.env, (path) => Deno.readTextFileSync(path));
  assert.equal(config["daemon.port"], 18_377);
  assert.equal(config["daemon.ask_ttl_hours"], 48);
  assert.equal(config["human.name"], "sam");
  assert.equal(config["daemon.auth_token"]?.reveal().length, 43);
  assert.deepEqual(config["jobs.checks"]["tests"], { argv: ["true"], timeout_seconds: 60 });
  assert.deepEqual(config["spawn.profiles"]["fast"]?.args, ["--fast"]);
  assert.deepEqual(config["approvals.gated_tools"], ["Bash"]);
});
