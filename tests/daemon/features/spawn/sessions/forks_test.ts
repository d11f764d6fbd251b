import assert from "node:assert/strict";
import { addPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import { agentInPane } from "../../../../support/daemon/restarts.ts";
import { COMMANDS, registerSpawned, spawningWorld } from "../../../../support/daemon/spawns.ts";
import { texts } from "../../../../support/daemon/message_log.ts";

Deno.test("POST /peers/{id}/fork starts the configured command with a copy of the session, and keeps the source", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals, processes } = fixture;
  const { peer_id, agent_pid } = await agentInPane(fixture, { circle: "main" });
  const forked = await post(w, "/peers/api/fork", { name: "copy", message: "Try retries" });
  const { spawn_id, pane_id } = forked;
  assert.deepEqual(
    [forked.status, forked.source_peer_id, forked.session_id, forked.source_turn_state],
    [200, peer_id, "s-1", null],
  );
  const [launch] = terminals.launches;
  assert.deepEqual([launch?.argv, launch?.cwd, launch?.env], [
    [...COMMANDS.codex, "fork", "s-1"],
    folder,
    { MESH_SPAWN_ID: spawn_id },
  ]);
  const copy = await registerSpawned(w, pane_id, { runtime_session_id: "s-2", path: folder });
  assert.deepEqual([copy.display_name, copy.circle], ["copy", "main"]);
  assert.notEqual(copy.peer_id, peer_id);
  await w.clock.settle();
  assert.deepEqual(await texts(w), ["Try retries"]);
  const source = await get(w, `/peers/${peer_id}`);
  assert.deepEqual([source.status, source.agent_pid], ["online", agent_pid]);
  assert.ok(processes.isAlive(agent_pid));
});

Deno.test("a fork says that the source is in a turn", async () => {
  await using fixture = await spawningWorld();
  const { w } = fixture;
  await agentInPane(fixture, { turn_state: "working" });
  const forked = await post(w, "/peers/api/fork", {});
  assert.equal(forked.source_turn_state, "working");
});

Deno.test("a repeated fork with the same key starts one copy", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  await agentInPane(fixture);
  const key = { "idempotency-key": "one" };
  const first = await post(w, "/peers/api/fork", {}, key);
  const again = await post(w, "/peers/api/fork", {}, key);
  assert.deepEqual([again.spawn_id, terminals.launches.length], [first.spawn_id, 1]);
});

Deno.test("a peer whose session cannot be copied is refused with the reason, and nothing is started", async () => {
  // deno-fmt-ignore
  const cases: [reason: RegExp, given: Record<string, unknown>][] = [
    [/in a pane cannot copy a session/,  { backend: "generic" }             ],
    [/its session is not known/,         { runtime_session_id: undefined }  ],
    [/files .* session_file_missing/,    { runtime_session_id: "lost-1" }   ],
    [/it is not an agent/,               { role: "service" }                ],
    [/it runs elsewhere/,                { machine: "there" }               ],
  ];
  for (const [reason, given] of cases) {
    await using fixture = await spawningWorld();
    const { w, terminals } = fixture;
    await agentInPane(fixture, given);
    const refused = await post(w, "/peers/api/fork", {});
    assert.deepEqual([refused.status, refused.error], [409, "cannot_fork"], JSON.stringify(given));
    assert.match(refused.detail, reason);
    assert.match(refused.hint, /mesh handoff TO --from api/);
    assert.equal(terminals.launches.length, 0);
  }
});

Deno.test("a fork is refused as a spawn is, before anything starts", async () => {
  // deno-fmt-ignore
  const cases: [code: string, given: Record<string, unknown>, body: Record<string, unknown>][] = [
    ["path_not_allowed", { path: "/" }, {}                         ],
    ["unknown_profile",  {},            { profile: "careful" }     ],
    ["reserved_name",    {},            { name: "dashboard" }      ],
  ];
  for (const [code, given, body] of cases) {
    await using fixture = await spawningWorld();
    const { w, terminals } = fixture;
    await agentInPane(fixture, given);
    assert.equal((await post(w, "/peers/api/fork", body)).error, code);
    assert.equal(terminals.launches.length, 0);
  }
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  await agentInPane(fixture);
  assert.equal((await post(w, "/peers/nobody/fork", {})).error, "unknown_peer");
  terminals.installed = false;
  assert.equal((await post(w, "/peers/api/fork", {})).error, "spawn_failed");
  terminals.there = false;
  assert.equal((await post(w, "/peers/api/fork", {})).error, "spawn_disabled");
  terminals.there = true;
  const { peer_id } = await addPeer(w, "gone");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  assert.equal((await post(w, `/peers/${peer_id}/fork`, {})).error, "peer_retired");
});

Deno.test("a copy is started with the profile that the peer was spawned with", async () => {
  const profiles = { careful: { backend: "codex", args: ["--ask"] } };
  await using fixture = await spawningWorld({
    settings: { "spawn.profiles": JSON.stringify(profiles) },
  });
  const { w, folder, terminals } = fixture;
  const asked = { path: folder, backend: "codex", profile: "careful", name: "api" };
  const { pane_id } = await post(w, "/spawn", asked);
  await registerSpawned(w, pane_id, { runtime_session_id: "s-1", path: folder });
  await w.clock.settle();
  await post(w, "/peers/api/fork", {});
  assert.deepEqual(terminals.launches.at(-1)?.argv.slice(-3), ["--ask", "fork", "s-1"]);
});
