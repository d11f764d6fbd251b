import assert from "node:assert/strict";
import {
  addPeer,
  connectPeer,
  eventData,
  eventTypesSince,
  get,
  post,
} from "../../../../support/daemon/peer_clients.ts";
import {
  agentInPane,
  REDACTED_COMMAND,
  registerRelaunched,
  restart,
  restartAndRegister,
  stagesOf,
} from "../../../../support/daemon/restarts.ts";
import { advanceUntilSettled, SOCKET, spawningWorld } from "../../../../support/daemon/spawns.ts";

Deno.test("a restart relaunches a live peer with its session, under the same peer id [3.peer.restart.relaunch] [4.peers.restart]", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals, processes, folder } = fixture;
  const { peer_id, pane_id, agent_pid } = await agentInPane(fixture);
  const { answer, back } = await restartAndRegister(fixture);
  assert.equal(back.peer_id, peer_id);
  assert.deepEqual([answer.status, answer.outcome, answer.resume_mode], [
    200,
    "restarted",
    "resumed",
  ]);
  assert.deepEqual(answer.would_run, [...REDACTED_COMMAND, "resume", "s-1"]);
  assert.deepEqual(stagesOf(answer), ["preflight", "quiesce", "stop", "launch", "register"]);
  assert.equal(processes.isAlive(agent_pid), false);
  const [launch] = terminals.launches;
  assert.deepEqual([launch?.pane_id, launch?.cwd, launch?.how], [pane_id, folder, "respawn"]);
  assert.deepEqual(launch?.argv.slice(-3), ["k-secret", "resume", "s-1"]);
  const peer = await get(w, `/peers/${peer_id}`);
  assert.deepEqual([peer.status, peer.agent_pid], [
    "online",
    terminals.panes.get(pane_id)?.pane_pid,
  ]);
  assert.equal(terminals.kept.size, 0, "the pane closes with its program, as before");
});

Deno.test("a restart keeps the words that a person added to the command of the agent", async () => {
  await using fixture = await spawningWorld();
  const { terminals, folder } = fixture;
  const { pane_id } = await agentInPane(fixture);
  const added = ["--profile", "night"];
  terminals.launches.push({ pane_id, cwd: folder, argv: [], env: {}, how: "window", added });
  for (const body of [{}, { fresh: true }]) {
    const { answer } = await restartAndRegister(fixture, body);
    assert.equal(answer.outcome, "restarted");
    assert.ok(answer.would_run.join(" ").includes("--key [redacted] --profile [redacted]"));
    const { argv = [] } = terminals.launches.at(-1) ?? {};
    const at = argv.indexOf("--profile");
    assert.deepEqual(argv.slice(at), body.fresh ? added : [...added, "resume", "s-1"]);
  }
});

Deno.test("each stage of a restart is stored and published with its restart_id [3.peer.restart.journal] [6.peer-restart] [4.peers.restart-last]", async () => {
  await using fixture = await spawningWorld();
  const { w } = fixture;
  const { peer_id } = await agentInPane(fixture);
  const never = await w.fetch("/peers/api/restart");
  assert.deepEqual([never.status, (await never.json()).error], [404, "no_restart"]);
  const { answer } = await restartAndRegister(fixture);
  const { status: _, ...record } = answer;
  const { status: __, ...latest } = await get(w, "/peers/api/restart");
  assert.deepEqual(latest, record);
  const told = w.events.filter(({ type }) => type.startsWith("peer_restart_"));
  assert.deepEqual(
    told.map(({ type, data }) => ({ type, ...data })),
    [
      ["peer_restart_started", "preflight"],
      ["peer_restart_launched", "launch"],
      ["peer_restart_restarted", "register"],
    ].map(([type, stage]) => ({ type, restart_id: answer.restart_id, peer_id, stage })),
  );
});

Deno.test("GET /peers/{id} shows whether a peer can be restarted, and the last restart [2.peer.restart-block] [4.peers.get-restart]", async () => {
  await using fixture = await spawningWorld();
  const { w } = fixture;
  const { peer_id } = await agentInPane(fixture);
  const { restart } = await get(w, `/peers/${peer_id}`);
  assert.deepEqual(restart, {
    restartable: true,
    reason: null,
    resume_mode: "resumed",
    would_run: [...REDACTED_COMMAND, "resume", "s-1"],
    last: null,
  });
  const { answer } = await restartAndRegister(fixture);
  const { status: _, ...record } = answer;
  assert.deepEqual((await get(w, "/peers/api")).restart.last, record);
  await addPeer(w, "sdk-peer");
  assert.deepEqual((await get(w, "/peers/sdk-peer")).restart, {
    restartable: false,
    reason: "unsupported_backend",
    resume_mode: "resumed",
    would_run: null,
    last: null,
  });
});

Deno.test("a dry run reports what would run, and changes nothing [4.peers.restart]", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals, processes } = fixture;
  const { agent_pid } = await agentInPane(fixture);
  const at = w.events.length;
  const dry = await restart(w, { dry_run: true });
  assert.deepEqual([dry.status, dry.outcome], [200, "would_restart"]);
  assert.deepEqual(dry.would_run, [...REDACTED_COMMAND, "resume", "s-1"]);
  const fresh = await restart(w, { dry_run: true, fresh: true });
  assert.deepEqual([fresh.resume_mode, fresh.would_run], ["fresh", REDACTED_COMMAND]);
  assert.deepEqual(eventTypesSince(w, at), []);
  assert.equal((await w.fetch("/peers/api/restart")).status, 404);
  assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0);
});

Deno.test("a session that cannot be resumed is not stopped, and the result says why [4.peers.restart]", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals, processes } = fixture;
  const { agent_pid } = await agentInPane(fixture, { runtime_session_id: "lost-1" });
  const lost = await restart(w);
  assert.deepEqual([lost.status, lost.outcome, lost.failed.stage, lost.failed.reason], [
    200,
    "failed",
    "preflight",
    "session_file_missing",
  ]);
  assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0);
  assert.equal(eventData(w, "peer_restart_failed")[0]?.["reason"], "session_file_missing");
});

Deno.test("an agent is not stopped when the program of its command is not installed", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals, processes } = fixture;
  const { agent_pid } = await agentInPane(fixture);
  terminals.installed = false;
  for (const fresh of [false, true]) {
    const { outcome, failed, would_run } = await restart(w, { fresh });
    assert.deepEqual([outcome, failed.stage, failed.reason], ["failed", "preflight", "no_program"]);
    assert.equal(would_run[0], "codex");
  }
  assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0);
  const { restart: block } = await get(w, "/peers/api");
  assert.deepEqual([block.restartable, block.reason], [false, "no_program"]);
});

Deno.test("a process is not stopped unless it is proved to be the peer's and may be started again [7.restart]", async () => {
  // deno-fmt-ignore
  const cases: [reason: string, given: Record<string, unknown>][] = [
    ["no_pane",          { pane_id: undefined }                    ],
    ["pane_missing",     { pane_id: "%77" }                        ],
    ["pane_unverified",  { agent_pid: 77 }                         ],
    ["no_process",       { agent_pid: undefined }                  ],
    ["path_not_allowed", { path: "/" }                             ],
    ["other_host",       { machine: "there" }                      ],
    ["no_session",       { runtime_session_id: undefined }         ],
    ["no_resume",        { backend: "generic" }                    ],
    ["not_an_agent",     { role: "service" }                       ],
  ];
  for (const [reason, given] of cases) {
    await using fixture = await spawningWorld();
    const { w, processes, terminals } = fixture;
    processes.start(77);
    await agentInPane(fixture, given);
    const { status, outcome, failed } = await restart(w);
    assert.deepEqual([status, outcome, failed?.stage, failed?.reason], [
      200,
      "failed",
      "preflight",
      reason,
    ]);
    assert.equal(terminals.launches.length, 0);
    assert.ok(processes.isAlive(77));
  }
});

Deno.test("a pane in which another program of the user runs is not restarted", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals, processes } = fixture;
  const { agent_pid } = await agentInPane(fixture);
  terminals.shared = true;
  const { failed } = await restart(w);
  assert.deepEqual([failed.stage, failed.reason], ["preflight", "pane_shared"]);
  assert.ok(processes.isAlive(agent_pid));
});

Deno.test("a restart is an HTTP error only for an unknown or ambiguous peer, or without spawning [4.peers.restart-error] [7.restart]", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  await agentInPane(fixture);
  await addPeer(w, "twin", { circle: "red" });
  await addPeer(w, "twin", { circle: "blue" });
  const failing = async (peer: string, body = {}) => {
    const { status, error } = await restart(w, body, peer);
    return [status, error];
  };
  assert.deepEqual(await failing("nobody"), [404, "unknown_peer"]);
  assert.deepEqual(await failing("twin"), [409, "ambiguous_peer"]);
  assert.equal((await restart(w, { circle: "red" }, "twin")).outcome, "failed");
  terminals.there = false;
  assert.deepEqual(await failing("api"), [503, "spawn_disabled"]);
});

Deno.test("a launch that fails, ends at once or never registers is reported, and can be repeated", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  const { pane_id } = await agentInPane(fixture);
  terminals.broken = "respawn pane failed";
  const unlaunched = await restart(w);
  assert.deepEqual([unlaunched.failed.stage, unlaunched.failed.reason], ["launch", "not_launched"]);
  terminals.broken = undefined;
  const dying = post(w, "/peers/api/restart", {});
  while (terminals.launches.length === 0) await w.clock.advance(250);
  terminals.end(terminals.panes.get(pane_id)?.pane_pid ?? 0);
  const exited = await advanceUntilSettled(w, dying);
  assert.deepEqual([exited.failed.stage, exited.failed.reason], ["register", "exited"]);
  const silent = await restart(w);
  assert.deepEqual([silent.failed.stage, silent.failed.reason], ["register", "not_registered"]);
});

Deno.test("a fresh restart begins a new session of the same peer", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  const { peer_id } = await agentInPane(fixture, { runtime_session_id: "lost-1" });
  const before = await get(w, "/peers/api");
  const { answer, back } = await restartAndRegister(fixture, { fresh: true }, "s-2");
  assert.deepEqual([answer.outcome, answer.resume_mode], ["restarted", "fresh"]);
  assert.equal(back.peer_id, peer_id);
  assert.notEqual(back.mesh_session_id, before.mesh_session_id);
  assert.deepEqual(terminals.launches[0]?.argv.at(-1), "k-secret");
});

Deno.test("an agent without hooks is registered with the process that was launched", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  const { peer_id, pane_id } = await agentInPane(fixture, { backend: "generic" });
  const answer = await restart(w, { fresh: true });
  assert.equal(answer.outcome, "restarted");
  const peer = await get(w, `/peers/${peer_id}`);
  assert.deepEqual([peer.status, peer.agent_pid], [
    "online",
    terminals.panes.get(pane_id)?.pane_pid,
  ]);
});

Deno.test("the message of a restart is sent as a notify once the peer is back [4.peers.restart]", async () => {
  await using fixture = await spawningWorld();
  const { w } = fixture;
  const { peer_id } = await agentInPane(fixture);
  await addPeer(w, "lead");
  const { answer } = await restartAndRegister(fixture, { message: "Go on", from_peer: "lead" });
  assert.deepEqual(stagesOf(answer).at(-1), "seed");
  assert.equal(answer.outcome, "restarted");
  const [note] = eventData(w, "notification");
  assert.deepEqual([note?.["from"], note?.["to_peer_id"]], ["lead", peer_id]);
});

Deno.test("an offline post of the replaced execution is ignored, any other counts [3.peer.restart.ignores-offline]", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  const { pane_id, agent_pid } = await agentInPane(fixture);
  const { answer } = await restartAndRegister(fixture);
  const stale = { pane_id, agent_pid, terminal: true, reason: "session_end" };
  assert.equal((await post(w, "/peers/api/offline", stale)).status, 200);
  assert.equal((await get(w, "/peers/api")).status, "online");
  const [ignored] = eventData(w, "peer_restart_offline_ignored");
  assert.equal(ignored?.["restart_id"], answer.restart_id);
  const now = terminals.panes.get(pane_id)?.pane_pid;
  await post(w, "/peers/api/offline", { pane_id: "%99", agent_pid });
  assert.equal((await get(w, "/peers/api")).status, "offline");
  await post(w, "/peers/api/touch");
  await post(w, "/peers/api/offline", { pane_id, agent_pid: now });
  assert.equal((await get(w, "/peers/api")).status, "offline");
});

Deno.test("messages sent during a restart wait for the new execution", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  await agentInPane(fixture);
  const lead = await connectPeer(w, "lead");
  await restart(w, { wait: false });
  while (terminals.launches.length === 0) await w.clock.advance(250);
  assert.equal((await get(w, "/peers/api")).status, "offline");
  await lead.send({ type: "notify", request_id: "1", to_peer: "api", text: "Ready?" });
  const [note] = eventData(w, "notification");
  assert.equal(note?.["delivery_state"], "queued");
  await registerRelaunched(fixture);
  await w.tick();
  assert.equal((await get(w, "/peers/api/restart")).outcome, "restarted");
});

Deno.test("an unproved registration in the pane of a restart does not get the peer's identity", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals, folder } = fixture;
  const { peer_id, pane_id } = await agentInPane(fixture);
  await restart(w, { wait: false });
  while (terminals.launches.length === 0) await w.clock.advance(250);
  const other = { path: folder, backend: "generic", pane_id, tmux_socket: SOCKET };
  assert.notEqual((await post(w, "/peers", other)).peer_id, peer_id);
  const elsewhere = { ...other, backend: "codex", pane_id: "%55" };
  assert.notEqual((await post(w, "/peers", elsewhere)).peer_id, peer_id);
  assert.equal((await registerRelaunched(fixture)).peer_id, peer_id);
  await w.tick();
});
