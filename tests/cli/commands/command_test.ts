/** The CLI as a whole: usage, exit codes, refusals, configuration, completions and help. */

import assert from "node:assert/strict";
import { runCli } from "../../../cli.ts";
import { COMMANDS } from "../../support/commands.ts";
import { renderHelp } from "../../support/help.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { answeringDaemon, PEER, refusal } from "../../support/cli/answering_daemon.ts";

Deno.test("escape sequences in a peer's text are removed", async () => {
  const description = "\u001b]0;owned\u0007\u001b[31mworking";
  await using p = answeringDaemon({ "GET /peers": () => ({ peers: [{ ...PEER, description }] }) });
  const { code, out } = await p.mesh(["peers"]);
  assert.equal(code, 0);
  assert.match(out, /api +main +sdk +online/);
  assert.match(out, /\]0;ownedworking/);
  assert.doesNotMatch(out.replaceAll("\n", ""), /\p{Cc}/u);
});

Deno.test("wrong usage exits 2 with an error on stderr, without a daemon", async () => {
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

Deno.test("an invalid configuration exits 2 and lists each mistake; `config check` exits 1", async () => {
  await using p = answeringDaemon();
  const bad = { MESH_DAEMON__PORT: "high", MESH_HUMAN__NAME: "two words" };
  const peers = await p.mesh(["peers"], {}, bad);
  assert.equal(peers.code, 2);
  assert.match(peers.err, /daemon\.port: found "high"[^]*human\.name: found "two words"/);
  assert.equal((await p.mesh(["config", "check"], {}, bad)).code, 1);
  assert.equal(JSON.parse((await p.mesh(["config", "check", "--json"])).out).ok, true);
});

Deno.test("`config` hides secrets", async () => {
  await using p = answeringDaemon();
  const env = { MESH_DAEMON__AUTH_TOKEN: "0123456789abcdef" };
  for (const args of [["config"], ["config", "--json"], ["config", "get", "daemon.auth_token"]]) {
    const { code, out } = await p.mesh(args, {}, env);
    assert.equal(code, 0);
    assert.match(out, /\[hidden\]/);
    assert.doesNotMatch(out, /0123456789abcdef/);
  }
});

Deno.test("a refusal exits 1 with its detail, hint and candidates on stderr", async () => {
  const candidates = [{ peer_id: "peer-1", name: "api", circle: "main" }];
  const problem = {
    error: "ambiguous_peer",
    detail: "Two of them",
    hint: "use the id",
    candidates,
  };
  await using p = answeringDaemon({ "POST /ask": () => refusal(409, problem) });
  const { code, out, err } = await p.mesh(["ask", "api", "hi"]);
  assert.equal(code, 1);
  assert.equal(out, "");
  assert.equal(
    err,
    "mesh: Two of them\nhint: use the id of the one that you mean\n  api  peer-1  in main\n",
  );
});

Deno.test("--json prints the answer unchanged", async () => {
  const answer = { peers: [{ ...PEER, status: "retired", new_field: 1 }] };
  await using p = answeringDaemon({ "GET /peers": () => answer });
  const { code, out } = await p.mesh(["peers", "--json"]);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(out), answer);
});

Deno.test("retired peers are listed only on request", async () => {
  await using p = answeringDaemon({
    "GET /peers": () => ({ peers: [PEER, { ...PEER, name: "old", status: "retired" }] }),
  });
  assert.doesNotMatch((await p.mesh(["peers"])).out, /old/);
  assert.match((await p.mesh(["peers", "--all"])).out, /old/);
});

Deno.test("the token is always sent, our pid only from an interactive terminal", async () => {
  await using p = answeringDaemon({ "GET /peers": () => ({ peers: [] }) });
  const env = { MESH_DAEMON__AUTH_TOKEN: "0123456789abcdef" };
  await p.mesh(["peers"], { interactive: true }, env);
  await p.mesh(["peers"], { interactive: false });
  const [interactive, program] = p.received.map(({ headers }) => headers);
  assert.equal(interactive?.get("authorization"), "Bearer 0123456789abcdef");
  assert.equal(interactive?.get("x-mesh-terminal"), String(Deno.pid));
  assert.equal(program?.get("authorization"), null);
  assert.equal(program?.get("x-mesh-terminal"), null);
});

Deno.test("every command's example uses the command", () => {
  for (const { usage, example } of COMMANDS) {
    const own = usage.replace(/ [<[].*$/, "");
    assert.ok(example.includes(`mesh ${own}`), usage);
  }
});

Deno.test("completions cover every command in each shell; another shell is wrong usage", async () => {
  await using p = answeringDaemon();
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

Deno.test("the help matches the golden file", () => {
  const golden = new URL("../../golden/help.txt", import.meta.url);
  assert.equal(renderHelp(), Deno.readTextFileSync(golden));
});
