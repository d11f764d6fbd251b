/** `mesh fork` and `mesh resume`, with a fake tmux and session files in memory. */

import assert from "node:assert/strict";
import { serveDaemon } from "../../../support/cli/listening_daemon.ts";
import { agentInPane } from "../../../support/daemon/restarts.ts";
import { type FakeSession, sessionFilesOf } from "../../../support/sessions/fake_session_files.ts";
import { spawningWorld } from "../../../support/daemon/spawns.ts";

/** A person runs the command. */
const PERSON = { interactive: true };

async function fixture(transcripts = "peers") {
  const sessions: FakeSession[] = [];
  const inner = await spawningWorld({
    settings: { transcripts },
    at_terminal: true,
    sessionFiles: { codex: sessionFilesOf(sessions) },
  });
  const { mesh, stop } = serveDaemon(inner.w);
  const { folder } = inner;
  sessions.push(
    { session_id: "aaaaaaaa-1", title: "Fix the flaky tests", folder, updated_at: 2 },
    { session_id: "aaaaaaaa-2", title: "Write the docs", folder, updated_at: 1 },
  );
  return {
    ...inner,
    mesh,
    async [Symbol.asyncDispose]() {
      await inner[Symbol.asyncDispose]();
      await stop();
    },
  };
}

Deno.test("mesh fork prints the copy, and says that the source is in a turn", async () => {
  await using at = await fixture();
  const { mesh, terminals } = at;
  await agentInPane(at, { turn_state: "working" });
  const { code, out } = await mesh(["fork", "api", "--from", "api", "--name", "copy"]);
  assert.equal(code, 0);
  assert.match(out, /^copy {2}awaiting, tmux .*\n[^]*The agent is in a turn/);
  assert.deepEqual(terminals.launches.at(-1)?.argv.slice(-2), ["fork", "s-1"]);
});

Deno.test("mesh resume starts the one session that matches, and lists several", async () => {
  await using at = await fixture();
  const { mesh, terminals, folder } = at;
  const listed = await mesh(["resume"]);
  assert.equal(listed.code, 0);
  assert.match(listed.out, /^ID +BACKEND +AGE +PEER +FOLDER +TITLE\naaaaaaaa-1 +codex .*flaky/);
  const several = await mesh(["resume", "aaaaaaaa"]);
  assert.equal(several.code, 1, "it is not said which one");
  assert.match(several.out, /aaaaaaaa-1[^]*aaaaaaaa-2/);
  assert.equal((await mesh(["resume", "nothing"])).code, 1);
  assert.equal((await mesh(["resume", "flaky", "--list"])).code, 0);
  assert.equal(terminals.launches.length, 0);
  const { code, out } = await mesh(
    ["resume", "flaky", "tests", "--path", folder, "--json"],
    {},
    PERSON,
  );
  assert.equal(code, 0);
  assert.equal(JSON.parse(out).session_id, "aaaaaaaa-1");
  assert.deepEqual(terminals.launches[0]?.argv.slice(-2), ["resume", "aaaaaaaa-1"]);
});

Deno.test("mesh resume says that titles are hidden, and finds a whole id with transcripts: off", async () => {
  await using human = await fixture("human");
  const hidden = await human.mesh(["resume", "--list"]);
  assert.match(hidden.out, /aaaaaaaa-1[^]*Titles are hidden/);
  assert.doesNotMatch(hidden.out, /flaky/);
  await using off = await fixture("off");
  const refused = await off.mesh(["resume", "flaky"]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /Reading transcripts is off/);
  assert.equal((await off.mesh(["resume", "aaaaaaaa-1"], {}, PERSON)).code, 0);
  assert.deepEqual(off.terminals.launches[0]?.argv.slice(-2), ["resume", "aaaaaaaa-1"]);
});
