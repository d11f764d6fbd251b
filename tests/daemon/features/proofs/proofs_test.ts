import assert from "node:assert/strict";
import { cancelAsk, declineAsk, waitAsk } from "protocol/asks/contract.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { ask, eventData, post } from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import {
  answer,
  askOf,
  lastFrame,
  provingFolder,
  provingPeers,
  ScriptedPrograms,
  waitForProof,
} from "../../../support/daemon/proofs.ts";
import { world } from "../../../support/world.ts";

const PROVE = { prove: ["tests"] };

Deno.test("an answer is held until its checks have run, and is then verified", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [0] });
  await using w = world({ settings: home.settings, programs });
  const { asker, agent } = await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  const frame = lastFrame(agent, "ask");
  assert.deepEqual(frame.prove, ["tests"]);
  const held = await answer(w, id, "Done");
  assert.deepEqual(held, { ok: true, close_reason: null, proof: "proving" });
  const { ask: closed, proof } = await waitForProof(w, id, "verified");
  assert.deepEqual([closed.state, closed.reply, closed.outcome], ["closed", "Done", "answered"]);
  assert.deepEqual(proof.results.map(({ name, outcome }) => [name, outcome]), [
    ["tests", "verified"],
  ]);
  const ack = lastFrame(asker, "ack");
  assert.deepEqual([ack.text, ack.proof?.state], ["Done", "verified"]);
  const { proofs } = await w.call(getPeer, { params: { id: "api" }, query: {} });
  assert.deepEqual(proofs, { verified: 1, refuted: 0, unproved: 0, sent_back: 0 });
});

Deno.test("a refuted answer goes back once with the output; its repair is checked again", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [1, 0] });
  await using w = world({ settings: home.settings, programs });
  const { asker, agent } = await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  await answer(w, id, "Done");
  const { ask: open } = await waitForProof(w, id, "returned");
  assert.deepEqual([open.state, open.reply], ["open", null]);
  const notice = lastFrame(agent, "notify");
  assert.match(notice.text, new RegExp(`Your answer to ${id} was not passed on`));
  assert.match(notice.text, /3 tests failed/);
  assert.equal(notice.from_peer, "mesh");
  await answer(w, id, "Repaired");
  const { ask: closed } = await waitForProof(w, id, "verified");
  assert.equal(closed.reply, "Repaired");
  assert.equal(lastFrame(asker, "ack").text, "Repaired");
  const { stages } = await w.call(getTrace, { params: { trace_id: id } });
  assert.deepEqual(
    stages.flatMap(({ stage }) => stage.startsWith("answer_") ? [stage] : []),
    ["answer_proving", "answer_returned", "answer_proving", "answer_verified"],
  );
});

Deno.test("an answer that is refuted twice reaches the asker as refuted, with the output", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [1, 2] });
  await using w = world({ settings: home.settings, programs });
  const { asker } = await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  await answer(w, id, "Done");
  await waitForProof(w, id, "returned");
  await answer(w, id, "Really done");
  const { proof } = await waitForProof(w, id, "refuted");
  assert.equal(proof.answers, 2);
  const ack = lastFrame(asker, "ack");
  assert.deepEqual([ack.text, ack.proof?.state], ["Really done", "refuted"]);
  assert.equal(ack.proof?.results[0]?.output, "3 tests failed");
  const events = eventData(w, "proof");
  assert.deepEqual(events.map(({ state }) => state), ["proving", "returned", "proving", "refuted"]);
  assert.ok(!JSON.stringify(events).includes("3 tests failed"), "events carry no text");
});

for (const exit of [null, 127] as const) {
  Deno.test(`a check that cannot run (exit ${exit}) leaves the answer unproved, and delivered`, async () => {
    using home = await provingFolder();
    const programs = new ScriptedPrograms({ tests: [exit] });
    await using w = world({ settings: home.settings, programs });
    const { asker } = await provingPeers(w, home.folder);
    const id = await ask(w, "web", "api", "Fix it", PROVE);
    await answer(w, id, "Done");
    await waitForProof(w, id, "unproved");
    assert.equal(lastFrame(asker, "ack").proof?.state, "unproved");
  });
}

Deno.test("a sandbox that fails itself refutes nothing: the answer is unproved, and not sent back", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [1] });
  programs.output = "bwrap: execvp make: No such file or directory\n";
  const argv = ["bwrap", "--ro-bind", "/", "/", "tests"];
  const settings = { ...home.settings, "jobs.checks": JSON.stringify({ tests: { argv } }) };
  await using w = world({ settings, programs });
  const { asker, agent } = await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  await answer(w, id, "Done");
  const { proof } = await waitForProof(w, id, "unproved");
  assert.match(proof.results[0]?.reason ?? "", /sandbox \(bwrap\) could not run it/);
  assert.equal(proof.results[0]?.output, programs.output);
  assert.deepEqual([lastFrame(asker, "ack").proof?.state, agent.of("notify")], ["unproved", []]);
});

Deno.test("outside of spawn.allowed_paths no check runs, and the answer is unproved", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [0] });
  await using w = world({ settings: home.settings, programs });
  await provingPeers(w, "/");
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  await answer(w, id, "Done");
  const { proof } = await waitForProof(w, id, "unproved");
  assert.match(proof.results[0]?.reason ?? "", /spawn\.allowed_paths/);
  assert.deepEqual(programs.ran, []);
});

Deno.test("unknown checks, persons and structured questions are refused before the ask", async () => {
  using home = await provingFolder();
  const settings = { ...home.settings, "human.name": "sam" };
  await using w = world({ settings });
  await provingPeers(w, home.folder);
  const refusal = async (more: Record<string, unknown>) => {
    const body = { from_peer: "web", to_peer: "api", text: "Fix it", ...more };
    const { status, error, detail, hint } = await post(w, "/ask", body);
    return { status, error, text: `${detail} ${hint}` };
  };
  const unknown = await refusal({ prove: ["tests", "typos"] });
  assert.deepEqual([unknown.status, unknown.error], [422, "unknown_check"]);
  assert.match(unknown.text, /typos.*tests, lint/);
  assert.equal((await refusal({ to_peer: "sam", ...PROVE })).error, "prove_person");
  const question = { kind: "choice", prompt: "Which?", options: [{ id: "a", title: "A" }] };
  assert.equal((await refusal({ question, ...PROVE })).error, "prove_question");
});

Deno.test("while an answer is checked, a second answer and a refusal are refused", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms();
  await using w = world({ settings: home.settings, programs });
  await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  await answer(w, id, "Done");
  const body = { correlation_id: id, message: "Or so", from_peer: "api" };
  assert.deepEqual((await post(w, "/ack", body)).error, "answer_in_proof");
  const declined = { correlation_id: id, reason: "No", from_peer: "api" };
  assert.equal((await post(w, declineAsk.path, declined)).error, "answer_in_proof");
});

Deno.test("an answer cannot say itself that it is verified", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [1, 1] });
  await using w = world({ settings: home.settings, programs });
  await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  const forged = { proof: { state: "verified" }, outcome: "verified", state: "verified" };
  const body = { correlation_id: id, message: "Done", from_peer: "api", ...forged };
  await post(w, "/ack", body);
  const { ask: open } = await waitForProof(w, id, "returned");
  assert.equal(open.state, "open");
});

Deno.test("a cancelled ask ends its checks, and keeps the held answer on record", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms();
  await using w = world({ settings: home.settings, programs });
  await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  await answer(w, id, "Done");
  await w.clock.advanceUntil("a check", () => programs.ran.length > 0, 0);
  await w.call(cancelAsk, { params: { id }, body: { peer_id: "web" } });
  const { ask: closed, proof } = await waitForProof(w, id, "withdrawn");
  assert.deepEqual([closed.outcome, proof.undelivered], ["cancelled", "Done"]);
  assert.deepEqual(programs.ended, ["tests"]);
});

Deno.test("an answer outlives its author: its checks run, and a refutation reaches the asker", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms();
  await using w = world({ settings: home.settings, programs });
  const { asker } = await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  const release = Promise.withResolvers<void>();
  programs.run = async () => {
    await release.promise;
    return { exit: 1, output: "red" };
  };
  await answer(w, id, "Done");
  await w.clock.settle();
  await post(w, "/peers/api/offline", { terminal: true });
  assert.equal((await askOf(w, id)).state, "open");
  release.resolve();
  await waitForProof(w, id, "refuted");
  const ack = lastFrame(asker, "ack");
  assert.deepEqual([ack.text, ack.proof?.state], ["Done", "refuted"]);
});

Deno.test("a refuted answer whose author ends before the repair reaches the asker", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [1] });
  await using w = world({ settings: home.settings, programs });
  const { asker } = await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  await answer(w, id, "Done");
  await waitForProof(w, id, "returned");
  await post(w, "/peers/api/offline", { terminal: true });
  await waitForProof(w, id, "refuted");
  assert.equal(lastFrame(asker, "ack").text, "Done");
});

Deno.test("kill -9 during the checks loses neither the answer nor the check", async () => {
  using home = await provingFolder();
  const cut = new ScriptedPrograms();
  using kept = restartableWorld({ settings: home.settings });
  await using before = kept.start({ programs: cut });
  await provingPeers(before, home.folder);
  const id = await ask(before, "web", "api", "Fix it", PROVE);
  await answer(before, id, "Done");
  await before.clock.advanceUntil("a check", () => cut.ran.length > 0, 0);
  await using after = kept.startFromCrash();
  assert.equal((await askOf(after, id)).proof?.state, "proving");
});

Deno.test("checks that were cut off run again after the start", async () => {
  using home = await provingFolder();
  using kept = restartableWorld({ settings: home.settings });
  {
    await using before = kept.start({ programs: new ScriptedPrograms() });
    await provingPeers(before, home.folder);
    const id = await ask(before, "web", "api", "Fix it", PROVE);
    await answer(before, id, "Done");
    await before.clock.settle();
  }
  const again = new ScriptedPrograms({ tests: [0] });
  await using after = kept.start({ programs: again });
  const [{ correlation_id: id = "" } = {}] = (await (await after.fetch("/asks")).json()).asks;
  await after.tick();
  const { ask: closed } = await waitForProof(after, id, "verified");
  assert.deepEqual([closed.reply, again.ran], ["Done", ["tests"]]);
});

Deno.test("an ask without checks is answered at once, without a proof", async () => {
  await using w = world();
  await provingPeers(w, "/work");
  const id = await ask(w, "web", "api");
  assert.deepEqual(await answer(w, id, "Yes"), { ok: true, close_reason: "ack_with_msg" });
  assert.equal((await askOf(w, id)).proof, undefined);
});

Deno.test("a check that its author changed since the ask is said to be changed", async () => {
  using home = await provingFolder();
  home.write("tests/a_test.ts", "assert(false)");
  const programs = new ScriptedPrograms({ tests: [0] });
  await using w = world({ settings: home.settings, programs });
  const { asker } = await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", PROVE);
  await w.daemon.ctx.background.close();
  home.write("tests/a_test.ts", "assert(true)");
  await answer(w, id, "Done");
  const { proof } = await waitForProof(w, id, "verified");
  const [result] = proof.results;
  assert.deepEqual([result?.changed, result?.changed_files], [true, ["tests/a_test.ts"]]);
  const ack = lastFrame(asker, "ack");
  assert.equal(ack.proof?.results[0]?.changed, true);
});

Deno.test("the item in a person's inbox begins with the outcome of the checks", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [0] });
  const settings = { ...home.settings, "human.name": "sam" };
  await using w = world({ settings, programs });
  await provingPeers(w, home.folder);
  const id = await ask(w, "sam", "api", "Fix it", PROVE);
  await answer(w, id, "Done");
  await waitForProof(w, id, "verified");
  const { items } = await (await w.fetch("/inbox")).json();
  assert.match(items[0].text, /^The daemon has checked this answer: verified\. .*\n\nDone$/);
});

Deno.test("a wait for the answer ends with the outcome of the checks", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [0] });
  await using w = world({ settings: home.settings, programs });
  await provingPeers(w, home.folder);
  const id = await ask(w, "web", "api", "Fix it", { ...PROVE, reply_delivery: "pull" });
  const waiting = w.call(waitAsk, { params: { id }, body: { peer_id: "web" } });
  await answer(w, id, "Done");
  const found = await waiting;
  assert.equal(found.status === "resolved" && found.proof?.state, "verified");
});
