/** Acts and changes for a person at the relay's page, and none of it for another namespace. */

import assert from "node:assert/strict";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { listInbox } from "protocol/inbox.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import {
  daemonId,
  NAMESPACE,
  OTHER_SECRET,
  type RelayWorld,
  relayWorld,
} from "../../../support/relay/relay_world.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import type { World } from "../../../support/world.ts";

const FOREIGN = "a-namespace-of-somebody-else";
const GATED = {
  hooks: { "claude-code": claudeCodeHooks },
  settings: { "human.name": "sam", "approvals.gated_tools": "*" },
};

/** A request of a browser that is signed in to a namespace of the relay. */
function browse(
  r: RelayWorld,
  path: string,
  { namespace = NAMESPACE, body }: { namespace?: string; body?: object } = {},
): Promise<Response> {
  const cookie = `mesh=${namespace}`;
  r.sessions.set(cookie, namespace);
  return r.fetch(`/m/${daemonId(1)}${path}`, {
    headers: { cookie, "sec-fetch-site": "same-origin" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
}

/** An agent's hook waits for leave to run a command; with the path of the reply. */
async function askPermission(w: World) {
  const asked = w.post("/hooks/claude-code", {
    session_id: "s-1",
    cwd: "/work/api",
    hook_event_name: "PermissionRequest",
    tool_name: "Bash",
    tool_input: { command: "git push" },
  });
  await w.clock.settle();
  const [item] = (await w.call(listInbox, { query: {} })).items;
  const decision = async () => (await (await asked).json()).hookSpecificOutput?.decision?.behavior;
  return { path: `/inbox/${item?.item_id}/reply`, decision };
}

Deno.test("a person at the relay's page sees an act, and allows it", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1, GATED);
  const { path, decision } = await askPermission(w);
  const { items } = await (await browse(r, "/inbox")).json();
  assert.deepEqual([items[0].question.act.title, items[0].question.act.command], [
    "Run: git push",
    "git push",
  ]);
  const answer = await browse(r, path, { body: { text: "", option_id: "allow" } });
  assert.equal((await answer.json()).action, "answered");
  assert.equal(await decision(), "allow");
});

Deno.test("another namespace, its hostile daemon, and a program of the relay allow nothing", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1, GATED);
  await using hostile = await r.daemon(2, { ...GATED, secret: OTHER_SECRET });
  const { path, decision } = await askPermission(w);
  const body = { text: "", option_id: "allow" };
  const stranger = await browse(r, path, { namespace: FOREIGN, body });
  assert.equal((await stranger.json()).error, "unknown_machine");
  assert.equal((await hostile.post(path, body)).status, 404);
  assert.equal((await hostile.post(`/m/${daemonId(1)}${path}`, body)).status, 404);
  const program = await r.ask(1, path as `/${string}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  assert.notEqual(program.status, 200);
  const [item] = (await w.call(listInbox, { query: {} })).items;
  assert.equal(item?.state, "open");
  await browse(r, path, { body: { text: "", option_id: "deny" } });
  assert.equal(await decision(), "deny");
});

Deno.test("changes pass a relay only with relay.allow_admin, and to no other namespace", async () => {
  using repo = new TestRepository();
  repo.write("a.ts", "one\n");
  repo.commit();
  repo.write("a.ts", "\u001b[2J<img src=x>\u202e\n");
  for (const allow_admin of ["true", "false"]) {
    await using r = relayWorld();
    const settings = { "human.name": "sam", "relay.allow_admin": allow_admin };
    await using w = await r.daemon(1, { settings, git: realGit });
    await addPeer(w, "painter", { path: repo.folder });
    const own = await (await browse(r, "/peers/painter/changes")).json();
    if (allow_admin === "true") {
      const [file] = own.files;
      assert.deepEqual(file.hunks[0].lines, ["-one", "+⟨U+001B⟩[2J<img src=x>⟨U+202E⟩"]);
    } else assert.equal(own.error, "relay_admin_off");
    const other = await browse(r, "/peers/painter/changes", { namespace: FOREIGN });
    assert.equal((await other.json()).error, "unknown_machine");
  }
});
