/** `mesh ask`: its text, its sender, and waiting for the reply. */

import assert from "node:assert/strict";
import { runCli } from "../../../cli.ts";
import { capturedTerminal, instantClock } from "../../support/cli/captured_output.ts";
import { answeringDaemon, PEER, refusal } from "../../support/cli/answering_daemon.ts";

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

Deno.test("`-` reads the text from standard input", async () => {
  await using p = answeringDaemon({ "POST /ask": () => OPENED });
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

Deno.test("`ask --wait` waits repeatedly until the answer arrives", async () => {
  let waits = 0;
  await using p = answeringDaemon({
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

Deno.test("`ask --wait` survives a restart of the daemon", async () => {
  let waits = 0;
  await using p = answeringDaemon({
    "POST /ask": () => OPENED,
    "POST /asks/ask-000000000001/wait": () =>
      ++waits < 3 ? refusal(503, { error: "shutting_down", detail: "Going" }) : ANSWERED,
  });
  const { terminal, lines } = capturedTerminal();
  const clock = instantClock();
  const code = await runCli(["ask", "api", "Which port?", "--wait"], p.env, terminal, clock);
  assert.equal(code, 0);
  assert.equal(lines.err, "Lost the daemon; waiting for it\n");
  assert.equal(lines.out, "answered by api:\nPort 8080\n");
});

Deno.test("`ask --wait` exits 1 after --timeout and prints how to wait again", async () => {
  await using p = answeringDaemon({
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

Deno.test("`ask --wait` says that the ask was sent if the wait for its reply fails", async () => {
  await using p = answeringDaemon({
    "POST /ask": () => OPENED,
    "POST /asks/ask-000000000001/wait": () =>
      refusal(503, { error: "storage_failed", detail: "Nothing was changed" }),
  });
  const { code, err } = await p.mesh(["ask", "api", "Which port?", "--wait"]);
  assert.notEqual(code, 0);
  assert.match(err, /ask-000000000001 was sent[^]*mesh show ask-000000000001 --wait[^]*Nothing/);
});

Deno.test("the sender is --from, else the peer that calls, else the human, else cli", async () => {
  const none = (error: string) => () => refusal(404, { error, detail: "None" });
  const sent = {
    delivery_state: "sent",
    delivery_id: "notif-1",
    to_peer_name: "api",
    reason: null,
  };
  let caller: () => unknown = () => ({ peer_id: "peer-above", name: "web", proof: "process" });
  let inbox: () => unknown = () => ({ human: "sam", human_peer_id: "peer-of-sam", items: [] });
  await using p = answeringDaemon({
    "POST /notify": () => sent,
    "GET /peers/identity/caller": () => caller(),
    "GET /inbox": () => inbox(),
  });
  const tmux = { TMUX: "/missing/tmux,0/default,123,0", TMUX_PANE: "%3" };
  const runAs = async (args: string[], interactive: boolean, env = {}) => {
    const { code, err } = await p.mesh(["notify", "api", "hi", ...args], { interactive }, env);
    assert.equal(code, 0, err);
    return p.received.at(-1)?.body;
  };
  assert.partialDeepStrictEqual(await runAs(["--from", "web"], true, tmux), { from_peer: "web" });
  assert.partialDeepStrictEqual(await runAs([], true, tmux), { from_peer: "peer-above" });
  const asked = p.received.at(-2)?.route;
  assert.match(
    asked ?? "",
    /caller\?pid=\d+&pane_id=%253&tmux_socket=%2Fmissing%2Ftmux%2C0%2Fdefault$/,
  );
  caller = () => ({ peer_id: null, name: null, proof: "none" });
  assert.partialDeepStrictEqual(await runAs([], true, tmux), { from_peer: "peer-of-sam" });
  assert.partialDeepStrictEqual(await runAs([], false, tmux), { from_peer: "cli" });
  inbox = none("no_human");
  assert.partialDeepStrictEqual(await runAs([], true, tmux), { from_peer: "cli" });
});

const PROOF = {
  checks: ["tests"],
  claims: [],
  folder: "/work",
  answers: 2,
  reason: "Does not hold: the check tests.",
  undelivered: null,
  results: [{
    kind: "check",
    name: "tests",
    outcome: "refuted",
    reason: "It exited with 1",
    output: "3 failed",
    changed: true,
    changed_files: ["tests/a_test.ts"],
  }],
  created_at: ANSWERED.closed_at,
  answered_at: ANSWERED.closed_at,
  ended_at: ANSWERED.closed_at,
};

for (const [state, exit] of [["verified", 0], ["refuted", 1], ["unproved", 1]] as const) {
  Deno.test(`\`ask --prove --wait\` exits with ${exit} for an answer that is ${state}`, async () => {
    await using p = answeringDaemon({
      "POST /ask": () => OPENED,
      "POST /asks/ask-000000000001/wait": () => ({ ...ANSWERED, proof: { ...PROOF, state } }),
    });
    const args = ["ask", "api", "Fix it", "--prove", "tests,lint", "--prove", "e2e", "--wait"];
    const { code, out } = await p.mesh(args);
    assert.equal(code, exit);
    assert.partialDeepStrictEqual(p.received[0]?.body, { prove: ["tests", "lint", "e2e"] });
    assert.match(out, new RegExp(`${state}\\. Does not hold: the check tests\\.`));
    assert.match(out, /its files were changed since the ask: tests\/a_test\.ts\n3 failed/);
  });
}

Deno.test("`ack --claim` says that the answer is held", async () => {
  await using p = answeringDaemon({
    "POST /ack": () => ({ ok: true, close_reason: null, proof: "proving" }),
  });
  const claims = ["commit:0123abc", "merges:login"];
  const flags = claims.flatMap((claim) => ["--claim", claim]);
  const { code, out } = await p.mesh(["ack", "ask-000000000001", "Done", ...flags]);
  assert.deepEqual([code, out], [0, "held: the daemon checks the answer first\n"]);
  assert.partialDeepStrictEqual(p.received.at(-1)?.body, { message: "Done", claims });
});
