import assert from "node:assert/strict";
import type { Adapter } from "../../../../daemon/features/agents/adapter.ts";
import { files } from "../../../../daemon/features/messages/attachments/store.ts";
import {
  addPeer,
  ask,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { agentInPane, stagesOf } from "../../../support/daemon/restarts.ts";
import {
  advanceUntilSettled,
  codex,
  FakeTerminals,
  generic,
  SOCKET,
  spawningWorld,
} from "../../../support/daemon/spawns.ts";
import { FakeClock } from "../../../support/clock.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { countingIds } from "../../../support/ids.ts";
import { FakeProcesses, FakeSockets } from "../../../support/world.ts";
import { ENTRIES, fileText } from "../../../support/sessions/handoffs.ts";
import { sessionFilesOf } from "../../../support/sessions/fake_session_files.ts";

/** Another kind of agent, whose hooks register it. */
const gemini: Adapter = { ...codex, backend: "gemini" };
const hook = {
  read: () => ({ event: "SessionStart", session_id: "g-1" }),
  answer: () => ({}),
};
const COMMANDS = { codex: ["codex"], gemini: ["/opt/gemini", "--yolo"], generic: ["sh", "a.sh"] };

/** Codex in a pane with a recorded session, and a mesh that may start Gemini in its place. */
async function fixtureOf(
  more: Parameters<typeof spawningWorld>[0] = {},
  given: Record<string, unknown> = {},
) {
  const session = { session_id: "s-1", title: "x", folder: "/", updated_at: 0, entries: ENTRIES };
  const fixture = await spawningWorld({
    adapters: [codex, gemini, generic],
    hooks: { codex: hook, gemini: hook },
    sessionFiles: { codex: sessionFilesOf([session]) },
    ...more,
    settings: { "spawn.commands": JSON.stringify(COMMANDS), ...more.settings },
  });
  const agent = await agentInPane(fixture, given);
  return { fixture, ...agent };
}
type Fixture = Awaited<ReturnType<typeof fixtureOf>>["fixture"];

/** Switches `api`, and registers what was launched in its pane, over a connection that it holds. */
async function switchAndRegister(
  { w, terminals, folder }: Fixture,
  body = {},
  sockets?: FakeSockets,
) {
  const answer = post(w, "/peers/api/switch", { backend: "gemini", ...body });
  await w.clock.advanceUntil("a launch", () => terminals.launches.length > 0);
  await w.clock.settle();
  const pane = [...terminals.panes.values()].at(-1);
  if (sockets && pane) sockets.holders = [pane.pane_pid];
  const back = await post(w, "/peers", {
    path: folder,
    backend: "gemini",
    pane_id: pane?.pane_id,
    tmux_socket: SOCKET,
    agent_pid: pane?.pane_pid,
    runtime_session_id: "g-1",
  });
  return { answer: await advanceUntilSettled(w, answer), back };
}

Deno.test("a switch puts another agent in the pane as the same peer, with its queue, its asks and a hand-over", async () => {
  const { fixture, peer_id, pane_id, agent_pid } = await fixtureOf();
  await using _ = fixture;
  const { w, terminals, processes } = fixture;
  await addPeer(w, "web");
  const id = await ask(w, "web", "api", "Which port?");
  await notify(w, "web", "api", "By the way");
  const given = { note: "Mind the tests", from_peer: "api" };
  const { answer, back } = await switchAndRegister(fixture, given);
  assert.equal(answer.outcome, "restarted", JSON.stringify(answer));
  assert.deepEqual(stagesOf(answer).slice(-3), ["launch", "register", "seed"]);
  assert.deepEqual([back.peer_id, back.display_name], [peer_id, "api"]);
  assert.deepEqual([answer.from_backend, answer.to_backend, answer.resume_mode], [
    "codex",
    "gemini",
    "fresh",
  ]);
  assert.equal(answer.way_back, "mesh resume s-1 --backend codex");
  assert.equal(processes.isAlive(agent_pid), false);
  const [launch] = terminals.launches;
  assert.deepEqual([launch?.argv, launch?.pane_id, launch?.how], [
    COMMANDS.gemini,
    pane_id,
    "respawn",
  ]);
  const peer = await get(w, `/peers/${peer_id}`);
  assert.deepEqual([peer.backend, peer.status, peer.name], ["gemini", "online", "api"]);
  const { deliveries } = await get(w, `/deliveries?to_peer=${peer_id}`);
  assert.equal(deliveries.length, 3, "the ask, the notification and the hand-over");
  const text = await fileText(w, answer.attachment_id);
  assert.match(text, /^# Hand-over of @api as it was\n/);
  assert.match(text, new RegExp(`They are yours to answer[^]*### ${id} from @web`));
  assert.match(text, /> Fix the port/);
  const { asks: [open] } = await get(w, "/asks?state=open");
  assert.deepEqual([open.correlation_id, open.to_peer_id], [id, peer_id]);
});

Deno.test("a dry run of a switch shows the command, and changes nothing", async () => {
  const { fixture, agent_pid } = await fixtureOf();
  await using _ = fixture;
  const { w, terminals, processes } = fixture;
  const dry = await post(w, "/peers/api/switch", { backend: "gemini", dry_run: true });
  assert.deepEqual([dry.outcome, dry.would_run, dry.attachment_id], [
    "would_restart",
    ["gemini", "--yolo"],
    null,
  ]);
  assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0);
  assert.deepEqual(files(w.daemon.ctx.db), []);
});

Deno.test("a switch is refused before anything is stopped", async () => {
  // deno-fmt-ignore
  const cases: [reason: string, given: Record<string, unknown>, body: Record<string, unknown>][] = [
    ["no_way_back",         { runtime_session_id: "lost-1" },   {}                             ],
    ["no_way_back",         { runtime_session_id: undefined },  {}                             ],
    ["unsupported_backend", {},                                 { backend: "opencode" }        ],
    ["unknown_profile",     {},                                 { profile: "careful" }         ],
    ["path_not_allowed",    { path: "/" },                      {}                             ],
    ["no_pane",             { pane_id: undefined },             {}                             ],
  ];
  for (const [reason, given, body] of cases) {
    await using fixture = await spawningWorld({
      adapters: [codex, gemini, generic],
      settings: { "spawn.commands": JSON.stringify(COMMANDS) },
    });
    const { w, processes, terminals } = fixture;
    const { agent_pid } = await agentInPane(fixture, given);
    const refused = await post(w, "/peers/api/switch", { backend: "gemini", ...body });
    assert.deepEqual([refused.outcome, refused.failed?.reason], ["failed", reason]);
    assert.equal(refused.way_back, null, "its session goes on");
    assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0);
    assert.equal((await get(w, "/peers/api")).backend, "codex");
  }
  const { fixture } = await fixtureOf();
  await using _ = fixture;
  const same = await post(fixture.w, "/peers/api/switch", { backend: "codex" });
  assert.deepEqual([same.status, same.error], [409, "same_backend"]);
});

Deno.test("with force, a session that cannot be resumed is given up", async () => {
  const { fixture } = await fixtureOf();
  await using _ = fixture;
  const { w } = fixture;
  await agentInPane(fixture, { name: "lost", runtime_session_id: "lost-1" });
  const body = { backend: "gemini", dry_run: true };
  assert.equal((await post(w, "/peers/lost/switch", body)).failed.reason, "no_way_back");
  const forced = await post(w, "/peers/lost/switch", { ...body, force: true });
  assert.equal(forced.outcome, "would_restart");
});

Deno.test("if the new agent ends at once, the peer keeps its old agent, and a restart resumes its session", async () => {
  const { fixture, peer_id, pane_id } = await fixtureOf();
  await using _ = fixture;
  const { w, terminals } = fixture;
  const answer = post(w, "/peers/api/switch", { backend: "gemini", from_peer: "api" });
  await w.clock.advanceUntil("a launch", () => terminals.launches.length > 0);
  terminals.end(terminals.panes.get(pane_id)?.pane_pid ?? 0);
  const failed = await advanceUntilSettled(w, answer);
  assert.deepEqual([failed.outcome, failed.failed.reason], ["failed", "exited"]);
  assert.match(failed.way_back, /^mesh resume s-1/);
  const peer = await get(w, `/peers/${peer_id}`);
  assert.equal(peer.backend, "codex");
  assert.deepEqual([peer.restart.restartable, peer.restart.would_run.slice(-2)], [true, [
    "resume",
    "s-1",
  ]]);
  assert.match(await fileText(w, failed.attachment_id), /> Fix the port/, "it is kept");
});

Deno.test("if tmux cannot start the new agent, the peer keeps its old agent", async () => {
  const { fixture, peer_id } = await fixtureOf();
  await using _ = fixture;
  const { w, terminals } = fixture;
  terminals.broken = "no space for a new pane";
  const answer = post(w, "/peers/api/switch", { backend: "gemini" });
  const failed = await advanceUntilSettled(w, answer);
  assert.deepEqual([failed.failed.stage, failed.failed.reason], ["launch", "not_launched"]);
  assert.equal((await get(w, `/peers/${peer_id}`)).backend, "codex");
});

Deno.test("if the hand-over cannot be stored, nothing is stopped", async () => {
  const { fixture, agent_pid } = await fixtureOf({
    settings: { "daemon.attachments.total_bytes_max": "1" },
  });
  await using _ = fixture;
  const { w, terminals, processes } = fixture;
  const answer = post(w, "/peers/api/switch", { backend: "gemini" });
  const failed = await advanceUntilSettled(w, answer);
  assert.deepEqual([failed.outcome, failed.failed.reason], ["failed", "attachments_full"]);
  assert.match(failed.failed.detail, /nothing was stopped/);
  assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0);
  const peer = await get(w, "/peers/api");
  assert.deepEqual([peer.status, peer.backend], ["online", "codex"]);
  assert.equal(eventData(w, "peer_restart_failed").length, 1);
});

/** A daemon that ends after it has launched the new agent, and what its successor finds. */
async function switchAfterCrash({ ends }: { ends: boolean }) {
  using disk = restartableWorld();
  const processes = new FakeProcesses();
  const terminals = new FakeTerminals(processes);
  const shared = { clock: new FakeClock(), ids: countingIds(), processes };
  const options = { ...shared, db_path: disk.db_path };
  const ofFirst = await fixtureOf(options);
  const { peer_id, pane_id } = ofFirst;
  {
    await using first = ofFirst.fixture;
    await post(first.w, "/peers/api/switch", { backend: "gemini", wait: false });
    await first.w.clock.advanceUntil("a launch", () => first.terminals.launches.length > 0);
    await first.w.clock.settle();
    const launched = first.terminals.panes.get(pane_id);
    if (ends) first.terminals.end(launched?.pane_pid ?? 0);
  }
  await using second = await spawningWorld({
    ...options,
    terminals,
    adapters: [codex, gemini, generic],
    hooks: { codex: hook, gemini: hook },
  });
  await second.w.clock.settle();
  const { backend } = await get(second.w, `/peers/${peer_id}`);
  const { outcome } = await get(second.w, "/peers/api/restart");
  const { deliveries } = await get(second.w, `/deliveries?to_peer=${peer_id}`);
  return { backend, outcome, told: deliveries.length };
}

Deno.test("after a crash during a switch the peer has the agent that runs, or its old agent", async () => {
  assert.deepEqual(await switchAfterCrash({ ends: false }), {
    backend: "gemini",
    outcome: "restarted",
    told: 1,
  });
  assert.deepEqual(await switchAfterCrash({ ends: true }), {
    backend: "codex",
    outcome: "failed",
    told: 0,
  });
});

Deno.test("turns go along only for those who may read them, and the hand-over says why not", async () => {
  // deno-fmt-ignore
  const cases: [setting: string, from_peer: string | undefined, who: number | undefined, why: RegExp | undefined][] = [
    ["human", undefined, undefined, /not proven that a person/],
    ["human", "web",     60,        /not proven that a person/],
    ["human", "api",     undefined, /not proven that a person/],
    ["human", "api",     0,         undefined                 ],
    ["peers", "web",     60,        undefined                 ],
    ["peers", "far",     61,        /it is in the circle main/],
    ["peers", "web",     undefined, /not proven which peer/   ],
    ["off",   "api",     0,         /transcripts is off/      ],
  ];
  for (const [transcripts, from_peer, who, why] of cases) {
    const sockets = new FakeSockets();
    const { fixture, agent_pid } = await fixtureOf(
      { sockets, settings: { transcripts } },
      { circle: "main" },
    );
    await using _ = fixture;
    const { w, processes } = fixture;
    for (const pid of [60, 61]) processes.start(pid);
    await addPeer(w, "web", { circle: "main", agent_pid: 60 });
    await addPeer(w, "far", { circle: "other", agent_pid: 61 });
    sockets.holders = who === undefined ? [] : [who === 0 ? agent_pid : who];
    const { answer } = await switchAndRegister(fixture, from_peer ? { from_peer } : {}, sockets);
    const title = `${transcripts} ${from_peer} ${who}`;
    assert.equal(answer.outcome, "restarted", title);
    const text = await fileText(w, answer.attachment_id);
    assert.equal(text.includes("Fix the port"), why === undefined, title);
    if (!why) continue;
    assert.deepEqual(answer.left_out[0]?.what, "all turns", title);
    assert.match(answer.left_out[0].why, why, title);
  }
});

Deno.test("a full queue and a limit of messages do not refuse the first message of the new agent", async () => {
  const { fixture, peer_id } = await fixtureOf({
    settings: { "daemon.queue.max_per_peer": "1", "daemon.limits.pair_per_minute": "1" },
  });
  await using _ = fixture;
  const { w } = fixture;
  await addPeer(w, "web");
  await notify(w, "web", "api", "By the way");
  const { answer } = await switchAndRegister(fixture, { from_peer: "web" });
  assert.equal(answer.outcome, "restarted", JSON.stringify(answer.failed));
  const { deliveries } = await get(w, `/deliveries?to_peer=${peer_id}`);
  assert.equal(deliveries.length, 2, "the notification and the hand-over");
});

Deno.test("a turn or a session that begins while the hand-over is made is waited for, and is handed over", async () => {
  const during: (() => Promise<unknown>)[] = [];
  const { fixture, peer_id, pane_id, agent_pid } = await fixtureOf({
    git: {
      env: {},
      async readOutput(argv) {
        if (argv.includes("status")) await during.shift()?.();
        return { exit: 128, bytes: new Uint8Array(), ended_at: null };
      },
    },
  });
  await using _ = fixture;
  const { w, processes, terminals, folder } = fixture;
  for (const name of ["objects", "refs"]) {
    Deno.mkdirSync(`${folder}/.git/${name}`, { recursive: true });
  }
  Deno.writeTextFileSync(`${folder}/.git/HEAD`, "ref: refs/heads/main\n");
  const begin = (runtime_session_id: string) => {
    const place = { path: folder, backend: "codex", pane_id, tmux_socket: SOCKET, agent_pid };
    return post(w, "/peers", { ...place, runtime_session_id });
  };
  during.push(() => post(w, "/peers/api/turn", { turn_state: "working" }), () => begin("s-3"));
  const answer = post(w, "/peers/api/switch", { backend: "gemini", from_peer: "api" });
  await w.clock.advanceUntil("the report of a turn", () => during.length <= 1);
  for (let at = 0; at < 8; at++) await w.clock.advance(250);
  assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0, "it is in a turn");
  await begin("s-2");
  await post(w, "/peers/api/turn", { turn_state: "idle" });
  await w.clock.advanceUntil("a launch", () => terminals.launches.length > 0);
  terminals.end(terminals.panes.get(pane_id)?.pane_pid ?? 0);
  const failed = await advanceUntilSettled(w, answer);
  assert.equal(failed.way_back, "mesh resume s-3 --backend codex");
  assert.match(await fileText(w, failed.attachment_id), /"session_id": "s-3"/);
  assert.equal(
    w.daemon.agentPeers.mustGetRecord(peer_id).runtime_session_id,
    "s-3",
    "it has it back",
  );
});
