/** The CLI, from its words to its exit codes, against a daemon that says what a test wants. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS, runCli } from "../../../cli.ts";
import { renderHelp } from "../../support/help.ts";
import { capturedTerminal, instantClock } from "../../support/cli/captured_output.ts";
import { deadPort, HEALTH, PEER, refusal, setup } from "../../support/cli/answering_daemon.ts";

Deno.test("what a peer wrote reaches the terminal without its escapes", async () => {
  const description = "\u001b]0;owned\u0007\u001b[31mworking";
  await using p = setup({ "GET /peers": () => ({ peers: [{ ...PEER, description }] }) });
  const { code, out } = await p.mesh(["peers"]);
  assert.equal(code, 0);
  assert.match(out, /api +main +sdk +online/);
  assert.match(out, /\]0;ownedworking/);
  assert.doesNotMatch(out.replaceAll("\n", ""), /\p{Cc}/u);
});

Deno.test("wrong usage is 2, told on stderr, and needs no daemon", async () => {
  const env = { MESH_CONFIG: "/nonexistent/config.yaml", MESH_STATE: "/nonexistent" };
  const wrong = [
    ["bogus"],
    ["ask"],
    ["ask", "api"],
    ["ask", "api", "one", "two"],
    ["ask", "api", "one", "--wait", "--timeout", "soon"],
    ["peers", "--bogus"],
    ["peers", "--status", "asleep"],
    ["decline", "ask-1"],
    ["inbox", "bogus"],
    ["watch", "--since", "x"],
    ["inbox", "list", "--limit", "-1"],
    ["config", "get", "daemon.bogus"],
  ];
  for (const args of wrong) {
    const { terminal, lines } = capturedTerminal();
    assert.equal(await runCli(args, env, terminal), 2, args.join(" "));
    assert.match(lines.err, /^mesh: /, args.join(" "));
    assert.equal(lines.out, "", args.join(" "));
  }
});

Deno.test("a configuration with mistakes is 2 and names each; `config check` says so too", async () => {
  await using p = setup();
  const bad = { MESH_DAEMON__PORT: "high", MESH_HUMAN__NAME: "two words" };
  const peers = await p.mesh(["peers"], {}, bad);
  assert.equal(peers.code, 2);
  assert.match(peers.err, /daemon\.port: found "high"[^]*human\.name: found "two words"/);
  assert.equal((await p.mesh(["config", "check"], {}, bad)).code, 1);
  assert.equal(JSON.parse((await p.mesh(["config", "check", "--json"])).out).ok, true);
});

Deno.test("a secret is not shown by `config`", async () => {
  await using p = setup();
  const env = { MESH_DAEMON__AUTH_TOKEN: "0123456789abcdef" };
  for (const args of [["config"], ["config", "--json"], ["config", "get", "daemon.auth_token"]]) {
    const { code, out } = await p.mesh(args, {}, env);
    assert.equal(code, 0);
    assert.match(out, /\[hidden\]/);
    assert.doesNotMatch(out, /0123456789abcdef/);
  }
});

Deno.test("a daemon that cannot be reached is 3, with the line that starts it", async () => {
  await using p = setup();
  const dead = { MESH_DAEMON__PORT: deadPort() };
  const commands = [["peers"], ["status"], ["ask", "api", "hi"], ["inbox"], ["watch"], ["asks"]];
  for (const args of commands) {
    const { code, out, err } = await p.mesh(args, {}, dead);
    assert.equal(code, 3, args.join(" "));
    assert.match(err, /No daemon answers at .*\nStart it with: mesh up\n/);
    assert.equal(out, "");
  }
});

Deno.test("what answers without being a daemon counts as none", async () => {
  const page = () => new Response("<html>", { headers: { "content-type": "text/html" } });
  await using p = setup({ "GET /peers": page, "GET /health": page });
  assert.equal((await p.mesh(["peers"])).code, 3);
  assert.equal((await p.mesh(["status"])).code, 3);
});

Deno.test("a refusal is 1, with its detail, its hint and its candidates on stderr", async () => {
  const candidates = [{ peer_id: "peer-1", name: "api", circle: "main" }];
  const problem = {
    error: "ambiguous_peer",
    detail: "Two of them",
    hint: "use the id",
    candidates,
  };
  await using p = setup({ "POST /ask": () => refusal(409, problem) });
  const { code, out, err } = await p.mesh(["ask", "api", "hi"]);
  assert.equal(code, 1);
  assert.equal(out, "");
  assert.equal(err, "mesh: Two of them\nhint: use the id\n  api  peer-1  in main\n");
});

Deno.test("--json prints the answer unchanged", async () => {
  const answer = { peers: [{ ...PEER, status: "retired", new_field: 1 }] };
  await using p = setup({ "GET /peers": () => answer });
  const { code, out } = await p.mesh(["peers", "--json"]);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(out), answer);
});

Deno.test("retired peers are listed only on request", async () => {
  await using p = setup({
    "GET /peers": () => ({ peers: [PEER, { ...PEER, name: "old", status: "retired" }] }),
  });
  assert.doesNotMatch((await p.mesh(["peers"])).out, /old/);
  assert.match((await p.mesh(["peers", "--all"])).out, /old/);
});

const OPENED = {
  correlation_id: "ask-000000000001",
  trace_id: "ask-000000000001",
  to_peer_id: PEER.peer_id,
  to_peer_name: "api",
  delivery_state: "sent",
};

const ANSWERED = {
  correlation_id: OPENED.correlation_id,
  status: "resolved",
  outcome: "answered",
  reply: "Port 8080",
  close_reason: "ack_with_msg",
  option_id: null,
  reply_attachments: [],
  responder: "api",
  closed_at: "2030-01-01T00:00:00.000Z",
};

Deno.test("`-` takes the text from the standard input", async () => {
  await using p = setup({ "POST /ask": () => OPENED });
  const read = () => Promise.resolve("line one\nline two\n");
  const { code, out } = await p.mesh(["ask", "api", "-"], { read });
  assert.equal(code, 0);
  assert.equal(out, "ask-000000000001  sent to api\n");
  assert.partialDeepStrictEqual(p.received[0]?.body, {
    from_peer: "cli",
    to_peer: "api",
    text: "line one\nline two",
    reply_delivery: "push",
  });
});

Deno.test("`ask --wait` waits again until the answer is there", async () => {
  let waits = 0;
  await using p = setup({
    "POST /ask": () => OPENED,
    "POST /asks/ask-000000000001/wait": () => ++waits < 3 ? { status: "pending" } : ANSWERED,
  });
  const { code, out } = await p.mesh(["ask", "api", "Which port?", "--wait"]);
  assert.equal(code, 0);
  assert.equal(out, "answered by api:\nPort 8080\n");
  const [opened, waited] = p.received.map(({ body }) => body);
  assert.partialDeepStrictEqual(opened, { reply_delivery: "pull" });
  assert.deepEqual(waited, { peer_id: "cli", timeout_seconds: 45 });
  assert.equal(waits, 3);
});

Deno.test("`ask --wait` outlives a restart of the daemon", async () => {
  let waits = 0;
  await using p = setup({
    "POST /ask": () => OPENED,
    "POST /asks/ask-000000000001/wait": () =>
      ++waits < 3 ? refusal(503, { error: "shutting_down", detail: "Going" }) : ANSWERED,
  });
  const { terminal, lines } = capturedTerminal();
  const clock = instantClock();
  const code = await runCli(["ask", "api", "Which port?", "--wait"], p.env, terminal, clock);
  assert.equal(code, 0);
  assert.equal(lines.err, "The daemon is away; waiting for it\n");
  assert.equal(lines.out, "answered by api:\nPort 8080\n");
});

Deno.test("`ask --wait` that runs out of time is 1 and says how to wait again", async () => {
  await using p = setup({
    "POST /ask": () => OPENED,
    "POST /asks/ask-000000000001/wait": () => ({ status: "pending" }),
  });
  const args = ["ask", "api", "Which port?", "--wait", "--timeout", "0"];
  const { code, out, err } = await p.mesh(args);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /ask-000000000001 is still open/);
  assert.match(err, /mesh show ask-000000000001 --wait/);
  const json = await p.mesh([...args, "--json"]);
  const { correlation_id } = OPENED;
  assert.deepEqual(JSON.parse(json.out), { correlation_id, status: "pending" });
});

Deno.test("the sender is --from, else the pane's peer, else the human, else cli", async () => {
  const none = (error: string) => () => refusal(404, { error, detail: "None" });
  const sent = {
    delivery_state: "sent",
    delivery_id: "notif-1",
    to_peer_name: "api",
    reason: null,
  };
  let pane: () => unknown = () => ({ peer_id: "peer-of-pane" });
  let inbox: () => unknown = () => ({ human: "sam", human_peer_id: "peer-of-sam", items: [] });
  await using p = setup({
    "POST /notify": () => sent,
    "GET /peers/by-pane/%253": () => pane(),
    "GET /inbox": () => inbox(),
  });
  const tmux = { TMUX: "/tmp/tmux,0/default,123,0", TMUX_PANE: "%3" };
  const runAs = async (args: string[], interactive: boolean, env = {}) => {
    const { code, err } = await p.mesh(["notify", "api", "hi", ...args], { interactive }, env);
    assert.equal(code, 0, err);
    return p.received.at(-1)?.body;
  };
  assert.partialDeepStrictEqual(await runAs(["--from", "web"], true, tmux), { from_peer: "web" });
  assert.partialDeepStrictEqual(await runAs([], true, tmux), { from_peer: "peer-of-pane" });
  const asked = p.received.at(-2)?.route;
  assert.match(
    asked ?? "",
    /^GET \/peers\/by-pane\/%253\?tmux_socket=%2Ftmp%2Ftmux%2C0%2Fdefault$/,
  );
  pane = none("no_pane_peer");
  assert.partialDeepStrictEqual(await runAs([], true, tmux), { from_peer: "peer-of-sam" });
  assert.partialDeepStrictEqual(await runAs([], false, tmux), { from_peer: "cli" });
  inbox = none("no_human");
  assert.partialDeepStrictEqual(await runAs([], true, tmux), { from_peer: "cli" });
});

Deno.test("the token goes along always, our pid only when a person sits there", async () => {
  await using p = setup({ "GET /peers": () => ({ peers: [] }) });
  const env = { MESH_DAEMON__AUTH_TOKEN: "0123456789abcdef" };
  await p.mesh(["peers"], { interactive: true }, env);
  await p.mesh(["peers"], { interactive: false });
  const [interactive, program] = p.received.map(({ headers }) => headers);
  assert.equal(interactive?.get("authorization"), "Bearer 0123456789abcdef");
  assert.equal(interactive?.get("x-mesh-terminal"), String(Deno.pid));
  assert.equal(program?.get("authorization"), null);
  assert.equal(program?.get("x-mesh-terminal"), null);
});

Deno.test("daemon.json says where the daemon is; one that a dead process left is ignored", async () => {
  await using p = setup({ "GET /peers": () => ({ peers: [] }) });
  const file = join(p.dir, "daemon.json");
  const dead = { MESH_DAEMON__PORT: deadPort() };
  const beacon = { pid: Deno.pid, url: p.url, started_at: "2030-01-01T00:00:00.000Z" };
  Deno.writeTextFileSync(file, JSON.stringify(beacon));
  assert.equal((await p.mesh(["peers"], {}, dead)).code, 0);
  const child = new Deno.Command("true").spawn();
  await child.status;
  Deno.writeTextFileSync(file, JSON.stringify({ ...beacon, pid: child.pid }));
  assert.equal((await p.mesh(["peers"], {}, dead)).code, 3);
  Deno.writeTextFileSync(file, "not JSON");
  assert.equal((await p.mesh(["peers"])).code, 0);
});

Deno.test("`mesh` alone says how things stand and what to do next", async () => {
  const health = { ...HEALTH, uptime_seconds: 61 };
  await using p = setup({ "GET /health": () => health });
  const up = await p.mesh([]);
  assert.equal(up.code, 0);
  assert.match(up.out, /up for +1 min/);
  assert.equal(up.out.match(/^ +mesh /gm)?.length, 3);
  const down = await p.mesh([], {}, { MESH_DAEMON__PORT: deadPort() });
  assert.equal(down.code, 0);
  assert.match(down.out, /not up[^]*mesh up[^]*mesh setup[^]*mesh demo/);
});

Deno.test("`down` without a daemon is done; a stranger's daemon and process are left alone", async () => {
  const health = { ...HEALTH, pid: 999_999_999 };
  await using p = setup({ "GET /health": () => health });
  const alone = await p.mesh(["down"], {}, { MESH_DAEMON__PORT: deadPort() });
  assert.deepEqual([alone.code, alone.out], [0, "No daemon is up.\n"]);
  const stranger = await p.mesh(["down"]);
  assert.equal(stranger.code, 1);
  assert.match(stranger.err, /not of this state directory/);
  const child = new Deno.Command("cat", { stdin: "piped", stdout: "null" }).spawn();
  const beacon = { pid: child.pid, url: p.url, started_at: "2030-01-01T00:00:00.000Z" };
  Deno.writeTextFileSync(join(p.dir, "daemon.json"), JSON.stringify(beacon));
  const recycled = await p.mesh(["down"]);
  assert.equal(recycled.code, 1);
  assert.match(recycled.err, /is not a mesh daemon; nothing was stopped/);
  await child.stdin.close();
  assert.equal((await child.status).code, 0, "it lived until its input ended");
});

Deno.test("`up` finds the one that is up already", async () => {
  await using p = setup({ "GET /health": () => HEALTH });
  const { code, out } = await p.mesh(["up"]);
  assert.equal(code, 0);
  assert.match(out, new RegExp(`^Up already at ${p.url}\nprocess +7\nlog file +${p.dir}`));
});

Deno.test("every command has an example that begins with its own words", () => {
  for (const { usage, example } of COMMANDS) {
    const own = usage.replace(/ [<[].*$/, "");
    assert.ok(example.includes(`mesh ${own}`), usage);
  }
});

Deno.test("completions know every command, in each shell; another shell is wrong usage", async () => {
  await using p = setup();
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, out } = await p.mesh(["completions", shell]);
    assert.equal(code, 0);
    for (const { usage, hidden } of COMMANDS) {
      const last = usage.replace(/ [<[].*$/, "").split(" ").at(-1) ?? "";
      if (!hidden) assert.ok(out.includes(last), `${shell}: ${usage}`);
    }
  }
  assert.equal((await p.mesh(["completions", "tcsh"])).code, 2);
});

Deno.test("the help is the golden one", () => {
  const golden = new URL("../../golden/help.txt", import.meta.url);
  assert.equal(renderHelp(), Deno.readTextFileSync(golden));
});
