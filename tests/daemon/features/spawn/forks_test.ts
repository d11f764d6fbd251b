import assert from "node:assert/strict";
import { addPeer, get, post, reportSessions } from "../../../support/daemon/peer_clients.ts";
import { agentInPane } from "../../../support/daemon/restarts.ts";
import { COMMANDS, registerSpawned, spawningWorld } from "../../../support/daemon/spawns.ts";
import { texts } from "../../../support/daemon/message_log.ts";
import { FakeSockets, type World } from "../../../support/world.ts";

/** A fork by the peer itself, whose process sends the request. */
async function fork(w: World, peer: string, body = {}, headers = {}) {
  return await post(w, `/peers/${peer}/fork`, { from_peer: peer, ...body }, headers);
}

Deno.test("POST /peers/{id}/fork starts the configured command with a copy of the session, and keeps the source", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals, processes } = fixture;
  const { peer_id, agent_pid } = await agentInPane(fixture, { circle: "main" });
  const forked = await fork(w, "api", { name: "copy", message: "Try retries" });
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
  const forked = await fork(w, "api", {});
  assert.equal(forked.source_turn_state, "working");
});

Deno.test("a repeated fork with the same key starts one copy", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  await agentInPane(fixture);
  const key = { "idempotency-key": "one" };
  const first = await fork(w, "api", {}, key);
  const again = await fork(w, "api", {}, key);
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
    const refused = await fork(w, "api", {});
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
    assert.equal((await fork(w, "api", body)).error, code);
    assert.equal(terminals.launches.length, 0);
  }
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  await agentInPane(fixture);
  assert.equal((await fork(w, "nobody", {})).error, "unknown_peer");
  terminals.installed = false;
  assert.equal((await fork(w, "api", {})).error, "spawn_failed");
  terminals.there = false;
  assert.equal((await fork(w, "api", {})).error, "spawn_disabled");
  terminals.there = true;
  const { peer_id } = await addPeer(w, "gone");
  await post(w, `/peers/${peer_id}/offline`, { terminal: true });
  assert.equal((await fork(w, peer_id)).error, "peer_retired");
});

Deno.test("a copy is started with the profile that the peer was spawned with", async () => {
  const profiles = { careful: { backend: "codex", args: ["--ask"] } };
  await using fixture = await spawningWorld({
    settings: { "spawn.profiles": JSON.stringify(profiles) },
  });
  const { w, folder, terminals } = fixture;
  const asked = { path: folder, backend: "codex", profile: "careful", name: "api" };
  const { pane_id } = await post(w, "/spawn", asked);
  const agent_pid = terminals.panes.get(pane_id)?.pane_pid;
  await registerSpawned(w, pane_id, { runtime_session_id: "s-1", path: folder, agent_pid });
  await w.clock.settle();
  reportSessions(w);
  await fork(w, "api", {});
  assert.deepEqual(terminals.launches.at(-1)?.argv.slice(-3), ["--ask", "fork", "s-1"]);
});

Deno.test("a copy is for the human, the peer itself, and those who may read its transcript", async () => {
  // deno-fmt-ignore
  const cases: [setting: string, from_peer: string | undefined, who: number | undefined, code: string | undefined][] = [
    ["human", undefined, undefined, "human_not_proven"   ],
    ["human", "web",     60,        "human_not_proven"   ],
    ["human", "api",     60,        "not_your_identity"  ],
    ["human", "api",     0,         undefined            ],
    ["peers", "web",     60,        undefined            ],
    ["peers", "far",     61,        "not_your_transcript"],
    ["peers", "web",     61,        "not_your_identity"  ],
    ["off",   "web",     60,        "transcripts_off"    ],
    ["off",   "api",     0,         undefined            ],
  ];
  for (const [transcripts, from_peer, who, code] of cases) {
    const sockets = new FakeSockets();
    await using fixture = await spawningWorld({ sockets, settings: { transcripts } });
    const { w, processes, terminals } = fixture;
    const { agent_pid } = await agentInPane(fixture, { circle: "main" });
    for (const pid of [60, 61]) processes.start(pid);
    await addPeer(w, "web", { circle: "main", agent_pid: 60 });
    await addPeer(w, "far", { circle: "other", agent_pid: 61 });
    sockets.holders = who === undefined ? [] : [who === 0 ? agent_pid : who];
    const body = { message: "What did you read?", ...(from_peer && { from_peer }) };
    const answer = await post(w, "/peers/api/fork", body);
    const title = `${transcripts} ${from_peer} ${who}`;
    assert.equal(answer.error, code, title);
    assert.equal(terminals.launches.length, code ? 0 : 1, title);
  }
});

Deno.test("a copy of a peer whose agent was switched does not get the profile of the earlier agent", async () => {
  const profiles = { careful: { backend: "codex", args: ["--ask"] } };
  await using fixture = await spawningWorld({
    settings: { "spawn.profiles": JSON.stringify(profiles) },
  });
  const { w, folder, terminals } = fixture;
  const asked = { path: folder, backend: "codex", profile: "careful", name: "api" };
  const { pane_id } = await post(w, "/spawn", asked);
  const agent_pid = terminals.panes.get(pane_id)?.pane_pid;
  const asRuns = { path: folder, agent_pid, runtime_session_id: "s-1" };
  const { peer_id } = await registerSpawned(w, pane_id, asRuns);
  await w.clock.settle();
  const { db } = w.daemon.ctx;
  db.transact((tx) =>
    tx.run("update spawns set backend = 'generic' where peer_id = :peer_id", { peer_id })
  );
  reportSessions(w);
  const copy = await fork(w, "api");
  assert.equal(copy.status, 200, JSON.stringify(copy));
  assert.deepEqual(terminals.launches.at(-1)?.argv.slice(-2), ["fork", "s-1"]);
  assert.doesNotMatch(terminals.launches.at(-1)?.argv.join(" ") ?? "", /--ask/);
});

Deno.test("a copy of a peer in kitty starts in tmux", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  await agentInPane(fixture, { tmux_socket: "kitty:/run/kitty-1", pane_id: "7" });
  const copy = await fork(w, "api");
  assert.equal(copy.status, 200, JSON.stringify(copy));
  assert.deepEqual([copy.tmux_socket, terminals.launches.length], [terminals.socket, 1]);
});
