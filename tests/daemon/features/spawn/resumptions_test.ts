import assert from "node:assert/strict";
import { get, post, signIn } from "../../../support/daemon/peer_clients.ts";
import type { World } from "../../../support/world.ts";
import { agentInPane, restart } from "../../../support/daemon/restarts.ts";
import { type FakeSession, sessionFilesOf } from "../../../support/sessions/fake_session_files.ts";
import {
  codex,
  COMMANDS,
  generic,
  registerSpawned,
  spawningWorld,
  type WorldSettings,
} from "../../../support/daemon/spawns.ts";
import { texts } from "../../../support/daemon/message_log.ts";

/** A world in whose folder sessions of Codex have ended. */
async function worldWith(
  sessions: (folder: string) => readonly FakeSession[],
  settings: WorldSettings = { transcripts: "peers" },
) {
  const found: FakeSession[] = [];
  const sessionFiles = { codex: sessionFilesOf(found) };
  const fixture = await spawningWorld({
    sessionFiles,
    at_terminal: true,
    settings: { "human.name": "sam", ...settings },
  });
  found.push(...sessions(fixture.folder));
  return fixture;
}

/** Resumes a session as the person at a terminal. */
const resume = (w: World, body: Record<string, unknown>) =>
  post(w, "/spawn/resume", body, { "x-mesh-terminal": "77" });

const session = (session_id: string, title: string, folder: string | null, updated_at = 0) => ({
  session_id,
  title,
  folder,
  updated_at,
});
const idsOf = ({ sessions }: { sessions: { session_id: string }[] }) =>
  sessions.map(({ session_id }) => session_id);

Deno.test("sessions are found by the beginning of an id, by title and by folder, the latest first", async () => {
  await using fixture = await worldWith((folder) => [
    session("aaaa1111", "Fix the flaky tests", folder, 1),
    session("aaaa2222", "Write the docs", folder, 3),
    session("bbbb1111", "Mention aaaa in the docs", "/elsewhere", 2),
  ]);
  const { w, folder } = fixture;
  const find = async (query: string) => idsOf(await get(w, `/spawn/sessions?${query}`));
  assert.deepEqual(await find(""), ["aaaa2222", "bbbb1111", "aaaa1111"]);
  assert.deepEqual(await find("query=aaaa"), ["aaaa2222", "aaaa1111"], "ids come first");
  assert.deepEqual(await find("query=FLAKY"), ["aaaa1111"]);
  assert.deepEqual(await find("query=elsewhere"), ["bbbb1111"]);
  assert.deepEqual(await find(`path=${folder}&query=docs`), ["aaaa2222"]);
  assert.deepEqual(await find("query=nothing"), []);
  assert.deepEqual(await find("backend=generic"), []);
  assert.equal((await get(w, "/spawn/sessions?path=/")).error, "path_not_allowed");
  const { sessions: [first], complete } = await get(w, "/spawn/sessions?query=aaaa2222");
  assert.deepEqual([first.backend, first.title, first.peer, complete], [
    "codex",
    "Write the docs",
    null,
    true,
  ]);
});

Deno.test("titles are shown to a proved person, to agents only with transcripts: peers, and masked", async () => {
  const secret = "the token=abcd1234 of the docs";
  const cases = [["human", false], ["human", true], ["peers", false]] as const;
  for (const [transcripts, isHuman] of cases) {
    await using fixture = await worldWith(
      (folder) => [session("aaaa1111", secret, folder)],
      { transcripts },
    );
    const { w, folder } = fixture;
    const headers = isHuman ? await signIn(w) : {};
    const list = async (query: string) =>
      await (await w.fetch(`/spawn/sessions?query=${query}`, { headers })).json();
    const isShown = isHuman || transcripts === "peers";
    for (const query of ["", "aaaa1111", folder]) {
      const { sessions: [found], titles_hidden } = await list(query);
      assert.equal(found.title, isShown ? "the token=[masked] of the docs" : null, query);
      assert.deepEqual([found.folder, titles_hidden], [folder, !isShown]);
    }
    assert.equal((await list("docs")).sessions.length, isShown ? 1 : 0);
    assert.deepEqual((await list("abcd1234")).sessions, [], "what is masked is not found");
  }
});

Deno.test("with transcripts: off nothing is searched, and a session is resumed by its whole id", async () => {
  const opened: string[] = [];
  const found: FakeSession[] = [];
  const files = sessionFilesOf(found);
  await using fixture = await spawningWorld({
    at_terminal: true,
    settings: { transcripts: "off", "human.name": "sam" },
    sessionFiles: {
      codex: {
        ...files,
        list: (query) => {
          opened.push(query.id_prefix ?? "");
          return files.list(query);
        },
      },
    },
  });
  const { w, folder, terminals } = fixture;
  found.push(session("aaaa1111", "Docs", folder), session("aaaa11112", "Docs", folder));
  const headers = await signIn(w);
  for (const query of ["", "?query=aaaa", "?query=docs", "?path=" + folder]) {
    const answer = await w.fetch(`/spawn/sessions${query}`, { headers });
    assert.deepEqual([answer.status, (await answer.json()).error], [403, "transcripts_off"]);
  }
  const short = await resume(w, { backend: "codex", session_id: "aaaa" });
  assert.equal(short.error, "unknown_session");
  assert.deepEqual(opened, []);
  const { sessions } = await get(w, "/spawn/sessions?query=aaaa1111");
  assert.deepEqual([idsOf({ sessions }), sessions[0].title], [["aaaa1111"], null]);
  const resumed = await resume(w, { backend: "codex", session_id: "aaaa1111" });
  assert.equal(resumed.status, 200);
  assert.equal(terminals.launches.length, 1);
});

Deno.test("at most 50 sessions are listed, and the answer says that there are more", async () => {
  await using fixture = await worldWith((folder) =>
    Array.from({ length: 51 }, (_, at) => session(`id-${at}`, "x", folder, at))
  );
  const { sessions, complete } = await get(fixture.w, "/spawn/sessions");
  assert.deepEqual([sessions.length, complete, sessions[0].session_id], [50, false, "id-50"]);
});

Deno.test("POST /spawn/resume starts the configured command with a session of outside, in its folder", async () => {
  await using fixture = await worldWith((folder) => [session("s-9", "Docs", folder)]);
  const { w, folder, terminals } = fixture;
  const asked = { backend: "codex", session_id: "s-9", name: "docs", message: "Go on" };
  const resumed = await resume(w, asked);
  const { session_id, resumed_peer_id, pane_id } = resumed;
  assert.deepEqual([resumed.status, session_id, resumed_peer_id], [200, "s-9", null]);
  const [launch] = terminals.launches;
  assert.deepEqual([launch?.argv, launch?.cwd], [[...COMMANDS.codex, "resume", "s-9"], folder]);
  await registerSpawned(w, pane_id, { runtime_session_id: "s-9", path: folder });
  await w.clock.settle();
  assert.deepEqual(await texts(w), ["Go on"]);
});

Deno.test("an agent that resumes the session of an offline peer is that peer again, with its name and circle", async () => {
  await using fixture = await worldWith((folder) => [session("s-1", "Docs", folder)]);
  const { w, folder, terminals } = fixture;
  const { peer_id, agent_pid } = await agentInPane(fixture, { circle: "red" });
  terminals.end(agent_pid);
  await post(w, `/peers/${peer_id}/offline`, { reason: "session_end" });
  const [listed] = (await get(w, "/spawn/sessions")).sessions;
  assert.deepEqual(listed.peer, { peer_id, name: "api", live: false });
  const resumed = await resume(w, { backend: "codex", session_id: "s-1" });
  assert.equal(resumed.resumed_peer_id, peer_id);
  const place = { runtime_session_id: "s-1", path: folder };
  const back = await registerSpawned(w, resumed.pane_id, place);
  assert.deepEqual([back.peer_id, back.display_name, back.circle], [peer_id, "api", "red"]);
});

Deno.test("a session that runs is refused, and the refusal names who has it", async () => {
  const adapter = { ...codex, processOf: (id: string) => id === "s-7" ? 77 : undefined };
  const found: FakeSession[] = [];
  await using fixture = await spawningWorld({
    at_terminal: true,
    adapters: [adapter, generic],
    sessionFiles: { codex: sessionFilesOf(found) },
  });
  const { w, folder, terminals } = fixture;
  found.push(session("s-1", "Docs", folder), session("s-7", "Docs", folder));
  const { peer_id } = await agentInPane(fixture);
  const live = await resume(w, { backend: "codex", session_id: "s-1" });
  assert.deepEqual([live.status, live.error, live.peer_id], [409, "session_running", peer_id]);
  assert.match(live.detail, /api \(peer-/);
  const foreign = await resume(w, { backend: "codex", session_id: "s-7" });
  assert.deepEqual([foreign.error, foreign.peer_id], ["session_running", null]);
  assert.match(foreign.detail, /process 77/);
  assert.equal(terminals.launches.length, 0);
});

Deno.test("a session is not started twice: not at once, and not until its agent has registered", async () => {
  await using fixture = await worldWith((folder) => [session("s-1", "Docs", folder)]);
  const { w, terminals } = fixture;
  const resumeIt = () => resume(w, { backend: "codex", session_id: "s-1" });
  const both = await Promise.all([resumeIt(), resumeIt()]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
  assert.equal((await resumeIt()).error, "session_running");
  assert.equal(terminals.launches.length, 1);
  terminals.panes.clear();
  await w.tick(3);
  assert.equal((await resumeIt()).status, 200, "its pane was closed before it registered");
});

Deno.test("a session that is unknown, damaged, or of a folder that is not allowed is refused before anything starts", async () => {
  await using fixture = await worldWith((folder) => [
    session("lost-1", "Docs", folder),
    session("s-2", "Docs", null),
    session("s-3", "Docs", "/"),
  ]);
  const { w, terminals } = fixture;
  // deno-fmt-ignore
  const cases: [code: string, body: Record<string, unknown>][] = [
    ["unknown_session",     { session_id: "s" }                            ],
    ["unknown_session",     { session_id: "s-2", backend: "generic" }      ],
    ["cannot_resume",       { session_id: "lost-1" }                       ],
    ["cannot_resume",       { session_id: "s-2" }                          ],
    ["path_not_allowed",    { session_id: "s-3" }                          ],
    ["unknown_session",     { session_id: "s-3", backend: "claude-code" }  ],
  ];
  for (const [code, body] of cases) {
    const refused = await resume(w, { backend: "codex", ...body });
    assert.equal(refused.error, code, JSON.stringify(body));
  }
  assert.equal(terminals.launches.length, 0);
  terminals.there = false;
  const body = { backend: "codex", session_id: "s-3" };
  assert.equal((await resume(w, body)).error, "spawn_disabled");
  assert.equal((await get(w, "/spawn/sessions")).error, "spawn_disabled");
});

Deno.test("a session is not started a second time while its agent still runs, or is being restarted", async () => {
  await using fixture = await worldWith((folder) => [session("s-1", "Docs", folder)]);
  const { w, terminals } = fixture;
  const { peer_id } = await agentInPane(fixture);
  const resumeIt = () => resume(w, { backend: "codex", session_id: "s-1" });
  await post(w, `/peers/${peer_id}/offline`, { reason: "session_end" });
  const alive = await resumeIt();
  assert.deepEqual([alive.error, alive.peer_id], ["session_running", peer_id]);
  await agentInPane(fixture, { peer_id });
  await restart(w, { wait: false });
  while (terminals.launches.length === 0) await w.clock.advance(250);
  const restarting = await resumeIt();
  assert.deepEqual([restarting.error, restarting.peer_id], ["session_running", peer_id]);
  assert.match(restarting.detail, /restart of peer-.* is under way/);
  assert.equal(terminals.launches.length, 1, "that of the restart");
});

Deno.test("a restart does not resume a session with which another agent was just started", async () => {
  await using fixture = await worldWith((folder) => [session("s-1", "Docs", folder)]);
  const { w, terminals } = fixture;
  const { peer_id, agent_pid } = await agentInPane(fixture);
  terminals.userPane(); // tmux does not give a pane's id to another one, either.
  terminals.end(agent_pid);
  await post(w, `/peers/${peer_id}/offline`, { reason: "session_end" });
  await resume(w, { backend: "codex", session_id: "s-1" });
  const refused = await restart(w);
  assert.deepEqual([refused.failed.stage, refused.failed.reason], ["preflight", "session_running"]);
  assert.equal(terminals.launches.length, 1);
});
