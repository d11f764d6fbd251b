/** The CLI's output after a mistake: did-you-mean, usage, and JSON for every error. */

import assert from "node:assert/strict";
import { answeringDaemon, deadPort, PEER, refusal } from "../../support/cli/answering_daemon.ts";
import { nearest } from "kit/core/near_words.ts";
import { meaningOf } from "../../../cli/command/meanings.ts";
import { cliFixture } from "../../support/cli/listening_daemon.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import { world } from "../../support/world.ts";
import { COMMANDS } from "../../support/commands.ts";
import { HELP_GROUPS } from "../../../cli/command/help.ts";

Deno.test("a command name of another tool runs our command of the same meaning, or names it", async () => {
  await using p = answeringDaemon({ "GET /peers": () => ({ peers: [PEER] }) });
  assert.match((await p.mesh(["ls"])).out, /api +main/);
  assert.equal((await p.mesh(["stop"], {}, { MESH_DAEMON__PORT: deadPort() })).code, 0);
  assert.match((await p.mesh(["version"])).out, /^\d+\.\d+\.\d+\n$/);
  const { code, err } = await p.mesh(["login"]);
  assert.equal(code, 2);
  assert.match(err, /^mesh: Unknown command: mesh login\nTry: mesh open .*mesh setup --relay URL/);
});

Deno.test("every word that is pointed to something is not a command itself", () => {
  for (const { usage, aliases = [] } of COMMANDS) {
    for (const name of [usage.split(" ")[0] ?? "", ...usage.includes(" ") ? [] : aliases]) {
      assert.equal(meaningOf(name), undefined, name);
    }
  }
});

Deno.test("a mistyped command, group command, option or value names the nearest one", async () => {
  await using p = answeringDaemon();
  const cases: [string[], RegExp][] = [
    [["pers"], /Did you mean: mesh peers\n/],
    [["inbox", "rply", "x"], /Did you mean: mesh inbox reply\nAllowed: list, /],
    [["peers", "--statsu", "x"], /Did you mean --status\?\nUsage: mesh peers /],
    [["peers", "--status", "onlin"], /Did you mean "online"\?\nUsage: mesh peers /],
    [["config", "get", "daemon.prt"], /Did you mean daemon\.port\?/],
    [["help", "pers"], /Did you mean: mesh peers\n/],
  ];
  for (const [args, expected] of cases) {
    const { code, err } = await p.mesh(args);
    assert.equal(code, 2, args.join(" "));
    assert.match(err, expected);
  }
});

Deno.test("a missing argument is answered with the command's own usage", async () => {
  await using p = answeringDaemon();
  const { err } = await p.mesh(["decline", "ask-1"]);
  assert.match(err, /'reason'\nUsage: mesh decline \[options\] <id> <reason>\nMore: mesh decline /);
});

Deno.test("an unknown peer names the nearest peer", async () => {
  const unknown = { error: "unknown_peer", detail: "Unknown peer: ap", hint: "list", peer: "ap" };
  await using p = answeringDaemon({
    "POST /ask": () => refusal(404, unknown),
    "GET /peers": () => ({ peers: [PEER, { ...PEER, name: "old", status: "retired" }] }),
  });
  const { err, out } = await p.mesh(["ask", "ap", "hi", "--json"]);
  assert.match(err, /hint: did you mean "api"\? Or list/);
  assert.equal(JSON.parse(out).did_you_mean, "api");
});

Deno.test("an invalid field is named by its option, without words of the schema", async () => {
  const issues = [
    { path: "fire_at", message: "Not a time" },
    { path: "text", message: "Too small: expected string to have >=1 characters" },
  ];
  const problem = { error: "invalid_request", detail: "Invalid request: …", issues };
  await using p = answeringDaemon({ "POST /schedules": () => refusal(422, problem) });
  const { err } = await p.mesh(["schedule", "create", "api", "x", "--at", "soon"]);
  assert.equal(err, "mesh: --at: Not a time\nmesh: <text>: is empty\n");
});

Deno.test("refusals speak of the options that the person typed, not of fields of a request", async () => {
  await using at = cliFixture(world({ settings: { "human.name": "sam" } }));
  for (const circle of ["x", "y"]) await addPeer(at.w, "bob", { circle });
  await addPeer(at.w, "api");
  const jobs = ["jobs", "create", "x", "--to", "api"];
  const cases: [string[], string][] = [
    [[...jobs, "--cron", "@daily", "--due", "2h"], "--cron: Give --due or --cron, not both"],
    [[...jobs, "--profile", "p"], "--profile: A profile needs --path and --backend, not --to"],
    [["jobs", "update", "work-1", "--progress", "200"], "--progress: is more than 100"],
    [["inbox", "list", "--limit", "0"], "--limit: is less than 1"],
    [["ask", "bob", "hi"], "hint: use the id of the one that you mean"],
    [["notify", "api", "hi", "--from", "bob"], "hint: use the id of the one that you mean"],
    [["when", "api", "idle", "--from", "zed"], "mesh: Name a recipient, because the sender is not"],
    [["when", "api", "idle"], "Name a recipient: mesh when api idle -- notify PEER"],
    [["handoff", "api"], "name the one whose work it is with --from PEER"],
    [["ask", "--route", "hi"], "routing.strategy is static"],
  ];
  for (const [args, expected] of cases) {
    const { code, err } = await at.mesh(...args);
    assert.ok(code === 1 || code === 2, args.join(" "));
    assert.ok(err.includes(expected), `${args.join(" ")}: ${err}`);
    assert.doesNotMatch(err, /\b[a-z]+_(peer|at|id|ms|seconds|scope)\b/, args.join(" "));
  }
});

Deno.test("an empty text is refused before anything is sent", async () => {
  await using p = answeringDaemon();
  for (const args of [["ask", "api", ""], ["notify", "api", " "], ["jobs", "create", ""]]) {
    const { code, err } = await p.mesh(args);
    assert.deepEqual([code, /<text> is empty/.test(err)], [2, true], args.join(" "));
  }
  assert.deepEqual(p.received, []);
});

Deno.test("with --json every error is JSON on stdout: error, detail, and mostly a hint", async () => {
  await using p = answeringDaemon();
  const dead = { MESH_DAEMON__PORT: deadPort() };
  const cases: [string[], Record<string, string>, number, string][] = [
    [["peers", "--json"], dead, 3, "daemon_unreachable"],
    [["bogus", "--json"], {}, 2, "usage"],
    [["ask", "--json"], {}, 2, "usage"],
    [["peers", "--json", "--status", "x"], {}, 2, "usage"],
    [["upload", "/nonexistent", "--json"], {}, 1, "failed"],
    [["token", "--json"], {}, 1, "failed"],
    [["peers", "--json"], { MESH_DAEMON__PORT: "high" }, 2, "invalid_configuration"],
  ];
  for (const [args, env, code, error] of cases) {
    const done = await p.mesh(args, {}, env);
    assert.equal(done.code, code, args.join(" "));
    const report = JSON.parse(done.out);
    assert.equal(report.error, error);
    assert.equal(typeof report.detail, "string");
    const firstLine = `mesh: ${report.detail.split("\n")[0]}`;
    assert.ok(done.err.includes(firstLine), `${firstLine} in ${done.err}`);
  }
});

Deno.test("the help begins with ten common commands, and every group names real commands", () => {
  const names = new Set(COMMANDS.map(({ usage }) => usage.split(" ")[0]));
  assert.equal(HELP_GROUPS[0]?.commands.length, 10);
  for (const { commands } of HELP_GROUPS) {
    for (const name of commands) assert.ok(names.has(name), name);
  }
});

Deno.test("the help lists the commands on agents' sessions under Agents, and each command by name", () => {
  const agents = HELP_GROUPS.find(({ title }) => title === "Agents")?.commands ?? [];
  for (const name of ["fork", "resume", "handoff", "transcript", "usage"]) {
    assert.ok(agents.includes(name), name);
  }
  const grouped = new Set(HELP_GROUPS.flatMap(({ commands }) => commands));
  for (const { usage, hidden } of COMMANDS) {
    assert.ok(hidden || grouped.has(usage.split(" ")[0] ?? ""), usage);
  }
});

Deno.test("--verbose, in any position, prints each request to stderr", async () => {
  await using p = answeringDaemon({ "GET /peers": () => ({ peers: [] }) });
  for (const args of [["--verbose", "peers"], ["peers", "--verbose"]]) {
    const { code, err, out } = await p.mesh(args);
    assert.equal(code, 0);
    assert.match(err, /^GET http:.*\/peers → 200 in \d+ ms\n$/);
    assert.doesNotMatch(out, /→/);
  }
  assert.equal((await p.mesh(["peers"])).err, "");
});

Deno.test("the nearest word differs by few letters, begins the same, or contains the word", () => {
  assert.equal(nearest("stauts", ["status", "setup"]), "status");
  assert.equal(nearest("sched", ["schedule", "search"]), "schedule");
  assert.equal(nearest("frontend", ["api-frontend", "api"]), "api-frontend");
  assert.equal(nearest("xyz", ["api", "web"]), undefined);
  assert.equal(nearest("API", ["api"]), "api");
});
