import assert from "node:assert/strict";
import { join as joinPath } from "node:path";
import { Problem } from "protocol/problems.ts";
import { readConfig } from "../../../../daemon/app/config.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import {
  COMMANDS,
  registerSpawned,
  SOCKET,
  spawningWorld,
} from "../../../support/daemon/spawns.ts";
import { texts } from "../../../support/daemon/message_log.ts";

/** Registers the agent in a pane, like its hook or the program itself. */
Deno.test("GET /spawn/config shows the settings without the values of variables [4.spawn.config]", async () => {
  const profiles = { careful: { backend: "codex", args: ["--ask"], env: { KEY: "k-1" } } };
  const settings = { "spawn.profiles": JSON.stringify(profiles) };
  await using fixture = await spawningWorld({ settings });
  const { w, folder, terminals } = fixture;
  assert.deepEqual(await get(w, "/spawn/config"), {
    status: 200,
    enabled: true,
    commands: COMMANDS,
    profiles: { careful: { backend: "codex", args: ["--ask"], env: { KEY: "[hidden]" } } },
    allowed_paths: [folder],
    circle_boundary: "session",
  });
  terminals.there = false;
  assert.equal((await get(w, "/spawn/config")).enabled, false);
  const refused = await post(w, "/spawn", { path: folder, backend: "codex" });
  assert.deepEqual([refused.status, refused.error], [503, "spawn_disabled"]);
});

Deno.test("POST /spawn is refused without a configured command or folder [4.spawn.config]", async () => {
  for (const missing of ["spawn.commands", "spawn.allowed_paths"]) {
    const empty = missing === "spawn.commands" ? "{}" : "[]";
    await using fixture = await spawningWorld({ settings: { [missing]: empty } });
    const { w, folder } = fixture;
    assert.equal((await get(w, "/spawn/config")).enabled, false);
    const refused = await post(w, "/spawn", { path: folder, backend: "codex" });
    assert.deepEqual([refused.status, refused.error], [503, "spawn_disabled"]);
  }
});

Deno.test("POST /spawn runs the configured command in a pane of its circle [4.spawn]", async () => {
  const profiles = { careful: { backend: "codex", args: ["--ask"], env: { LEVEL: 2 } } };
  const settings = {
    "spawn.profiles": JSON.stringify(profiles),
    "spawn.env": JSON.stringify({ EDITOR: "vi" }),
  };
  await using fixture = await spawningWorld({ settings });
  const { w, folder, terminals } = fixture;
  const asked = { path: folder, backend: "codex", profile: "careful", circle: "main", name: "api" };
  const spawned = await post(w, "/spawn", asked);
  const { spawn_id } = spawned;
  assert.deepEqual(spawned, {
    status: 200,
    ok: true,
    spawn_id,
    pane_id: "%1",
    tmux_socket: SOCKET,
    tmux_session: "main",
    display_name: "api",
    registration_state: "awaiting",
    seed_state: null,
    warnings: [],
  });
  assert.match(spawn_id, /^spawn-[0-9a-f]{12}$/);
  assert.deepEqual(terminals.launches, [{
    cwd: folder,
    argv: [...COMMANDS.codex, "--ask"],
    env: { EDITOR: "vi", LEVEL: "2", MESH_SPAWN_ID: spawn_id },
    pane_id: "%1",
    how: "window",
  }]);
  const { peer_id, display_name, circle } = await registerSpawned(w, "%1", {
    tmux_session: "elsewhere",
  });
  assert.deepEqual([display_name, circle], ["api", "main"]);
  await w.clock.settle();
  assert.deepEqual(
    eventData(w, "spawn").map((event) => [event["registration_state"], event["peer_id"]]),
    [
      ["awaiting", null],
      ["registered", peer_id],
    ],
  );
});

Deno.test("an agent that registers after the time limit is still recognised", async () => {
  await using fixture = await spawningWorld();
  const { w, folder } = fixture;
  const headers = { "idempotency-key": "one" };
  const asked = { path: folder, backend: "codex", message: "Hi" };
  const { pane_id } = await post(w, "/spawn", asked, headers);
  await w.tick(301);
  const late = await post(w, "/spawn", asked, headers);
  assert.equal(late.registration_state, "timed_out");
  assert.equal(late.seed_state, "awaiting_registration");
  await registerSpawned(w, pane_id);
  await w.clock.settle();
  const known = await post(w, "/spawn", asked, headers);
  assert.deepEqual([known.registration_state, known.seed_state], ["registered", null]);
  assert.equal(eventData(w, "notification").length, 1);
});

Deno.test("the sender of a message is notified when the pane closes before a registration", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const lead = await connectPeer(w, "lead");
  const asked = { path: folder, backend: "codex", message: "Hi", from_peer: "lead" };
  const { pane_id } = await post(w, "/spawn", asked);
  terminals.panes.delete(pane_id);
  await w.tick(3);
  const [notification] = lead.of("notify");
  assert.match(notification?.text ?? "", /never registered/);
  const last = eventData(w, "spawn").at(-1);
  assert.deepEqual([last?.["registration_state"], last?.["seed_state"]], [
    "timed_out",
    "undeliverable",
  ]);
  await registerSpawned(w, pane_id);
  await w.clock.settle();
  assert.equal(lead.of("notify").length, 1);
});

Deno.test("agents start only in allowed folders and below, after links are followed", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const platform = await Deno.makeTempDir();
  await Deno.mkdir(joinPath(folder, "api"));
  await Deno.symlink(platform, joinPath(folder, "way-out"));
  await Deno.symlink(joinPath(folder, "api"), joinPath(platform, "way-in"));
  await Deno.writeTextFile(joinPath(folder, "file"), "");
  const wrong = [
    platform,
    joinPath(folder, "way-out"),
    joinPath(folder, ".."),
    joinPath(folder, "none"),
    joinPath(folder, "file"),
    `${folder}-more`,
    `${folder}\0`,
    "api",
    "~",
    `/${"x".repeat(1000)}`,
  ];
  for (const path of wrong) {
    const { status, error } = await post(w, "/spawn", { path, backend: "codex" });
    assert.deepEqual([path, status, error], [path, 403, "path_not_allowed"]);
  }
  assert.equal(terminals.launches.length, 0);
  await post(w, "/spawn", { path: joinPath(platform, "way-in"), backend: "codex" });
  await post(w, "/spawn", { path: `${folder}/api/../api`, backend: "codex" });
  assert.deepEqual(terminals.launches.map(({ cwd }) => cwd), [
    joinPath(folder, "api"),
    joinPath(folder, "api"),
  ]);
  await Deno.remove(platform, { recursive: true });
});

Deno.test("a backend or profile that is not configured is not started", async () => {
  const profiles = JSON.stringify({ careful: { backend: "generic" } });
  await using fixture = await spawningWorld({ settings: { "spawn.profiles": profiles } });
  const { w, folder, terminals } = fixture;
  const refused = async (more: Record<string, unknown>) => {
    const { status, error } = await post(w, "/spawn", { path: folder, ...more });
    return [status, error];
  };
  assert.deepEqual(await refused({ backend: "opencode" }), [422, "unsupported_backend"]);
  assert.deepEqual(await refused({ backend: "rm" }), [422, "invalid_request"]);
  const codex = { backend: "codex" };
  assert.deepEqual(await refused({ ...codex, profile: "careful" }), [422, "unknown_profile"]);
  assert.deepEqual(await refused({ ...codex, profile: "constructor" }), [422, "unknown_profile"]);
  assert.deepEqual(await refused({ ...codex, name: "dashboard" }), [422, "reserved_name"]);
  assert.deepEqual(await refused({ ...codex, role: "human" }), [422, "invalid_request"]);
  assert.deepEqual(await refused({ ...codex, source_pane: "%1; rm" }), [422, "invalid_request"]);
  terminals.broken = "no space for new pane";
  assert.deepEqual(await refused(codex), [502, "spawn_failed"]);
  terminals.broken = undefined;
  terminals.installed = false;
  assert.deepEqual(await refused(codex), [502, "spawn_failed"]);
  assert.equal(terminals.launches.length, 0);
});

Deno.test("an agent that registers before its spawn is stored gets the requested name and circle", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const open = terminals.openWindow.bind(terminals);
  terminals.openWindow = async (...given) => {
    const opened = await open(...given);
    assert.ok(opened.ok);
    await registerSpawned(w, opened.pane.pane_id);
    return opened;
  };
  const asked = { name: "lead", circle: "red", role: "orchestrator", message: "Begin" };
  const spawned = await post(w, "/spawn", { path: folder, backend: "codex", ...asked });
  assert.deepEqual([spawned.registration_state, spawned.display_name], ["registered", "lead"]);
  const { name, circle, role } = await get(w, "/peers/lead");
  assert.deepEqual([name, circle, role], ["lead", "red", "orchestrator"]);
  assert.deepEqual(await texts(w, { peer: "lead" }), ["Begin"]);
});

Deno.test("a spawn under a taken name answers the name that its agent gets", async () => {
  await using fixture = await spawningWorld();
  const { w, folder } = fixture;
  await addPeer(w, "api", { circle: "red" });
  const asked = { path: folder, backend: "codex", name: "api" };
  const second = await post(w, "/spawn", { ...asked, circle: "red" });
  assert.equal(second.display_name, "api-2");
  await registerSpawned(w, second.pane_id);
  assert.equal((await get(w, `/spawns/${second.spawn_id}`)).display_name, "api-2");
  assert.equal((await post(w, "/spawn", { ...asked, circle: "blue" })).display_name, "api");
});

Deno.test("an Idempotency-Key spawns once, and a refused request may be repeated", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const asked = { path: folder, backend: "codex" }, headers = { "idempotency-key": "k" };
  terminals.broken = "tmux sleeps";
  assert.equal((await post(w, "/spawn", asked, headers)).status, 502);
  terminals.broken = undefined;
  const [first, second] = await Promise.all([
    post(w, "/spawn", asked, headers),
    post(w, "/spawn", asked, headers),
  ]);
  assert.deepEqual([first.status, second.error], [200, "idempotency_in_progress"]);
  const third = await post(w, "/spawn", asked, headers);
  assert.equal(third.spawn_id, first.spawn_id);
  assert.equal(terminals.launches.length, 1);
});

Deno.test("a spawn that cannot be stored is not left running", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const { db } = w.daemon.ctx;
  const { transact } = db;
  db.transact = () => {
    throw new Problem("storage_failed", {});
  };
  const failed = await post(w, "/spawn", { path: folder, backend: "codex" });
  db.transact = transact;
  assert.equal(failed.error, "storage_failed");
  assert.equal(terminals.launches.length, 1);
  assert.equal(terminals.panes.size, 0);
});

Deno.test("in window mode the sender's window is split, and is the circle", async () => {
  await using fixture = await spawningWorld({ settings: { "daemon.circle_boundary": "window" } });
  const { w, folder, terminals } = fixture;
  const { pane_id: source_pane } = terminals.userPane();
  const asked = { path: folder, backend: "codex" };
  const lost = await post(w, "/spawn", asked);
  assert.deepEqual([lost.status, lost.error], [422, "source_pane_required"]);
  const { pane_id } = await post(w, "/spawn", { ...asked, source_pane });
  assert.equal(terminals.launches[0]?.how, `split ${source_pane}`);
  assert.equal((await registerSpawned(w, pane_id)).circle, "window-4");
  await addPeer(w, "lead", { pane_id: source_pane, tmux_socket: SOCKET });
  await post(w, "/spawn", { ...asked, from_peer: "lead" });
  assert.equal(terminals.launches[1]?.how, `split ${source_pane}`);
});

Deno.test("in window mode an agent that a user starts keeps the circle of its first window", async () => {
  await using fixture = await spawningWorld({ settings: { "daemon.circle_boundary": "window" } });
  const { w, terminals } = fixture;
  const { pane_id } = terminals.userPane();
  const headers = { "x-mesh-pane": pane_id, "x-mesh-tmux": `${SOCKET},1,0` };
  await post(w, "/hooks/codex", {}, headers);
  const { peers } = await get(w, "/peers");
  assert.deepEqual(peers.map(({ circle }: { circle: string }) => circle), ["window-4"]);
  terminals.panes.set(pane_id, { ...terminals.userPane(), pane_id, window: "@9" });
  await post(w, "/hooks/codex", {}, headers);
  assert.equal((await get(w, `/peers/${peers[0].peer_id}`)).circle, "window-4");
});

Deno.test("POST /peers/{id}/fork-backend starts a sibling in the same folder and circle [4.peers.fork]", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const { pane_id, pane_pid: agent_pid } = terminals.userPane();
  const location = { pane_id, tmux_socket: SOCKET, agent_pid, path: folder, circle: "red" };
  const { peer_id } = await addPeer(w, "api", { backend: "codex", ...location });
  const fork = (body: unknown) => post(w, `/peers/api/fork-backend`, body);
  assert.equal((await fork({ backend: "codex" })).error, "same_backend");
  assert.equal((await fork({ backend: "codex" })).status, 409);
  const none = await fork({ backend: "gemini" });
  assert.deepEqual([none.status, none.error], [422, "unsupported_backend"]);
  const forked = await fork({ backend: "generic" });
  assert.deepEqual([forked.status, forked.source_peer_id, forked.tmux_session], [
    200,
    peer_id,
    "red",
  ]);
  assert.equal(terminals.launches[0]?.cwd, folder);
  assert.equal((await get(w, `/peers/${peer_id}`)).status, "online");
  const sibling = await registerSpawned(w, forked.pane_id, { backend: "generic" });
  assert.deepEqual([sibling.circle, sibling.role], ["red", "agent"]);
});

Deno.test("an invalid spawn setting is reported without its values", () => {
  const file = `spawn: {commands: {codex: [codex]}, allowed_paths: [/srv], env: {PORT: 1, A: b}}`;
  const read = (text: string) => readConfig({ MESH_CONFIG: "/none" }, () => text);
  assert.deepEqual(read(file)["spawn.env"], { PORT: "1", A: "b" });
  assert.deepEqual(read("spawn: {commands: }")["spawn.commands"], {});
  assert.throws(() => read("spawn: {commands: {codex: codex}}"), /spawn\.commands\.codex/);
  assert.throws(() => read("spawn: {commands: {rm: [rm]}}"), /spawn\.commands/);
  assert.throws(() => read("spawn: {env: {KEY: [s3cret]}}"), (error: Error) => {
    assert.doesNotMatch(error.message, /s3cret/);
    return /spawn\.env/.test(error.message);
  });
});

Deno.test("without settings, an installed agent is started by its program, in its user's home", async () => {
  await using fixture = await spawningWorld({ isConfigured: false, at_terminal: false });
  const { w, folder, terminals } = fixture;
  const { enabled, commands, allowed_paths } = await get(w, "/spawn/config");
  assert.deepEqual([enabled, allowed_paths], [true, ["~"]]);
  assert.deepEqual(commands, {
    "claude-code": ["claude"],
    codex: ["codex"],
    copilot: ["copilot"],
    gemini: ["gemini"],
    opencode: ["opencode"],
  });
  assert.equal((await post(w, "/spawn", { path: folder, backend: "codex" })).status, 200);
  assert.deepEqual(terminals.launches.at(-1)?.argv, ["codex"]);
  const elsewhere = await post(w, "/spawn", { path: "/", backend: "codex" });
  assert.deepEqual([elsewhere.status, elsewhere.error], [403, "path_not_allowed"]);
  terminals.installed = false;
  const missing = await get(w, "/spawn/config");
  assert.deepEqual([missing.enabled, missing.commands], [false, {}]);
});

/** The header of a command at a terminal; `at_terminal` says if the daemon can prove it. */
const TERMINAL = { "x-mesh-terminal": "77" };

Deno.test("a person starts agents in any folder, unless spawn.allowed_paths limits the folders", async () => {
  await using open = await spawningWorld({ isConfigured: false, at_terminal: true });
  assert.equal(
    (await post(open.w, "/spawn", { path: "/", backend: "codex" }, TERMINAL)).status,
    200,
  );
  await using limited = await spawningWorld({ at_terminal: true });
  const refused = await post(limited.w, "/spawn", { path: "/", backend: "codex" }, TERMINAL);
  assert.equal(refused.error, "path_not_allowed");
});

Deno.test("only a person adds arguments to the command of an agent", async () => {
  for (const at_terminal of [true, false]) {
    await using fixture = await spawningWorld({ at_terminal });
    const { w, folder, terminals } = fixture;
    const body = { path: folder, backend: "codex", args: ["--model", "small"] };
    const { status, error, detail, hint } = await post(w, "/spawn", body, TERMINAL);
    if (at_terminal) assert.deepEqual(terminals.launches.at(-1)?.argv.slice(-2), body.args);
    else {
      assert.deepEqual([status, error], [403, "human_not_proven"]);
      assert.match(`${detail}; ${hint}`, /only a person may add arguments .* --profile NAME/i);
    }
    assert.equal(terminals.launches.length, at_terminal ? 1 : 0);
  }
});
