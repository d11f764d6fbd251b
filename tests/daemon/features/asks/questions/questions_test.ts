/** Structured questions: typed answers by agents, the human and surfaces. */

import assert from "node:assert/strict";
import { type World, world } from "../../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../../support/daemon/peer_clients.ts";

const withHuman = () => world({ settings: { "human.name": "sam" } });

const CHOICE = {
  kind: "choice",
  scope: "deploy",
  options: [{ id: "a", title: "Apples" }, { id: "b", title: "Pears" }],
};
const TEXT = { kind: "text" };
const ACKNOWLEDGE = { kind: "acknowledge" };

function askQuestion(w: World, question: Record<string, unknown>, more = {}) {
  return ask(w, "ada", "bob", "Which?", { question, ...more });
}

/** Posts `/answer` to a new question; returns the response and the ask. */
async function answerNewQuestion(w: World, question: Record<string, unknown>, fields: object) {
  const correlation_id = await askQuestion(w, question);
  const answer = await post(w, "/answer", { correlation_id, ...fields });
  return { answer, ask: await get(w, `/asks/${correlation_id}`) };
}

Deno.test("a choice is answered by an option, or by a text that names one [4.answer]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (const fields of [{ option_id: "b" }, { text: "b" }, { text: " PEARS " }]) {
    const { answer, ask } = await answerNewQuestion(w, CHOICE, fields);
    assert.deepEqual(answer, {
      status: 200,
      ok: true,
      close_reason: "answered",
      outcome: "answered",
    });
    assert.deepEqual([ask.state, ask.outcome, ask.reply, ask.responder], [
      "closed",
      "answered",
      "Pears",
      "bob",
    ]);
    assert.deepEqual(ask.answer, {
      outcome: "answered",
      option_id: "b",
      text: "Pears",
      message: null,
    });
  }
});

Deno.test("an option's id takes precedence over another's title", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const options = ["Deny", "deny", "ALLOW"].map((id) => ({ id, title: "allow" }));
  for (const [text, option_id] of [["deny", "deny"], ["Deny", "Deny"], ["allow", "ALLOW"]]) {
    const { ask } = await answerNewQuestion(w, { kind: "choice", options }, { text });
    assert.equal(ask.answer.option_id, option_id);
  }
});

Deno.test("a message beside the option reaches the asker", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const { ask } = await answerNewQuestion(w, CHOICE, { option_id: "a", message: "They are ripe" });
  assert.deepEqual(ask.answer, {
    outcome: "answered",
    option_id: "a",
    text: "Apples",
    message: "They are ripe",
  });
  await w.clock.settle();
  const [ackFrame] = ada.of("ack");
  assert.deepEqual([ackFrame?.close_reason, ackFrame?.outcome, ackFrame?.text], [
    "answered",
    "answered",
    "Apples\nThey are ripe",
  ]);
});

Deno.test("a text question needs a text, an acknowledge question nothing", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const text = await answerNewQuestion(w, TEXT, { text: "Port 8080" });
  assert.deepEqual([text.ask.outcome, text.ask.answer.text], ["answered", "Port 8080"]);
  const seen = await answerNewQuestion(w, ACKNOWLEDGE, {});
  assert.equal(seen.answer.outcome, "acknowledged");
  assert.deepEqual([seen.ask.close_reason, seen.ask.outcome, seen.ask.reply], [
    "answered",
    "acknowledged",
    null,
  ]);
});

Deno.test("a refusal needs neither option nor text, and is the outcome of the ask", async () => {
  await using w = world();
  await addPeer(w, "bob");
  for (const question of [CHOICE, TEXT, ACKNOWLEDGE]) {
    for (const outcome of ["denied", "declined", "cancelled"]) {
      const { answer, ask } = await answerNewQuestion(w, question, { outcome, message: "No" });
      assert.deepEqual([answer.close_reason, answer.outcome], ["answered", outcome]);
      assert.deepEqual([ask.close_reason, ask.outcome, ask.reply], ["answered", outcome, "No"]);
      const waited = await post(w, `/asks/${ask.correlation_id}/wait`, { peer_id: "ada" });
      assert.deepEqual([waited.outcome, waited.option_id], [outcome, null]);
    }
  }
});

Deno.test("an answer that does not fit the question is refused, and leaves it open", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const permission = {
    kind: "choice",
    scope: "tool_permission",
    options: [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }],
  };
  const wrong: [Record<string, unknown>, object, string][] = [
    [CHOICE, {}, "invalid_request"],
    [CHOICE, { message: "a" }, "invalid_request"],
    [CHOICE, { option_id: "A" }, "unknown_option"],
    [CHOICE, { option_id: "Plums", text: "Apples" }, "unknown_option"],
    [CHOICE, { text: "Plums" }, "unknown_option"],
    [CHOICE, { outcome: "acknowledged", option_id: "a" }, "invalid_request"],
    [CHOICE, { outcome: "timed_out" }, "invalid_request"],
    [CHOICE, { option_id: 1 }, "invalid_request"],
    [TEXT, {}, "invalid_request"],
    [TEXT, { text: "" }, "invalid_request"],
    [TEXT, { text: " \n" }, "invalid_request"],
    [TEXT, { outcome: "acknowledged" }, "invalid_request"],
    [TEXT, { option_id: "a" }, "unknown_option"],
    [ACKNOWLEDGE, { option_id: "a" }, "unknown_option"],
    [permission, { option_id: "allow", outcome: "denied" }, "invalid_request"],
  ];
  for (const [question, fields, error] of wrong) {
    const { answer, ask } = await answerNewQuestion(w, question, fields);
    assert.deepEqual([answer.status, answer.error], [422, error], JSON.stringify(fields));
    assert.equal(ask.state, "open");
  }
  assert.equal(eventData(w, "answer").length, 0);
});

Deno.test("an answer to a plain ask is not_a_question, and one to an unknown id unknown_ask [c3.answer.plain]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const correlation_id = await ask(w, "ada", "bob");
  const plain = await post(w, "/answer", { correlation_id, text: "Yes" });
  assert.deepEqual([plain.status, plain.error], [422, "not_a_question"]);
  const lost = await post(w, "/answer", { correlation_id: "ask-ffffffffffff", text: "Yes" });
  assert.deepEqual([lost.status, lost.error], [404, "unknown_ask"]);
});

Deno.test("a choice without options, or with two of the same id, is refused", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const twice = [{ id: "a", title: "Apples" }, { id: "a", title: "Pears" }];
  for (const options of [[], twice]) {
    const question = { kind: "choice", options };
    const body = { from_peer: "ada", to_peer: "bob", text: "Which?", question };
    assert.equal((await post(w, "/ask", body)).status, 422);
  }
});

Deno.test("the first valid answer wins; a later one is already_closed [c2.answer.first]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const correlation_id = await askQuestion(w, CHOICE);
  assert.equal((await post(w, "/answer", { correlation_id, option_id: "x" })).status, 422);
  const all = await Promise.all([
    post(w, "/answer", { correlation_id, option_id: "a" }),
    post(w, "/answer", { correlation_id, option_id: "b" }),
    post(w, "/ack", { correlation_id, message: "b" }),
    post(w, "/decline", { correlation_id, reason: "Busy" }),
  ]);
  assert.deepEqual(all.map(({ status }) => status), [200, 410, 410, 410]);
  const invalid = await post(w, "/answer", { correlation_id, option_id: "x" });
  assert.deepEqual([invalid.status, invalid.error], [410, "already_closed"]);
  assert.equal((await get(w, `/asks/${correlation_id}`)).answer.option_id, "a");
  assert.equal(eventData(w, "answer").length, 1);
});

Deno.test("an ack that was faster wins over an answer", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const correlation_id = await askQuestion(w, CHOICE);
  const [ack, answer] = await Promise.all([
    post(w, "/ack", { correlation_id }),
    post(w, "/answer", { correlation_id, option_id: "a" }),
  ]);
  assert.deepEqual([ack.status, answer.status], [200, 410]);
  const closed = await get(w, `/asks/${correlation_id}`);
  assert.deepEqual([closed.close_reason, closed.answer], ["ack", null]);
});

Deno.test("any surface may answer; of named peers, only the recipient and the human", async () => {
  await using w = withHuman();
  for (const name of ["ada", "bob", "eve"]) await addPeer(w, name);
  for (const from_peer of ["ada", "eve", "a-stranger"]) {
    const correlation_id = await askQuestion(w, CHOICE);
    const refused = await post(w, "/answer", { correlation_id, option_id: "a", from_peer });
    assert.deepEqual([refused.status, refused.error], [403, "not_the_recipient"], from_peer);
  }
  for (const [from_peer, responder] of [["bob", "bob"], ["sam", "sam"], ["telegram", "sam"]]) {
    const { ask } = await answerNewQuestion(w, CHOICE, { option_id: "a", from_peer });
    assert.equal(ask.responder, responder);
  }
});

Deno.test("the human's answer to a peer's question does not prove its delivery to the peer", async () => {
  await using w = withHuman();
  await connectPeer(w, "bob");
  for (const [from_peer, state] of [["sam", "sent"], ["bob", "accepted"]]) {
    const { ask: { correlation_id } } = await answerNewQuestion(w, CHOICE, {
      option_id: "a",
      from_peer,
    });
    const id = String(correlation_id).replace("ask", "qd");
    assert.equal(w.daemon.delivery.findMessage(id)?.state, state);
  }
});

Deno.test("the events of a question and its answer contain no text", async () => {
  await using w = world();
  const ada = await addPeer(w, "ada");
  const bob = await addPeer(w, "bob");
  const correlation_id = await askQuestion(w, { ...CHOICE, prompt: "sesame" });
  await post(w, "/answer", { correlation_id, option_id: "a", message: "sesame" });
  assert.deepEqual(eventData(w, "question"), [{
    correlation_id,
    from_peer_id: ada.peer_id,
    from: "ada",
    to_peer_id: bob.peer_id,
    to: "bob",
    scope: "deploy",
    kind: "choice",
  }]);
  assert.deepEqual(eventData(w, "answer"), [{
    correlation_id,
    scope: "deploy",
    outcome: "answered",
  }]);
  assert.deepEqual(eventData(w, "ack").map(({ close_reason }) => close_reason), ["answered"]);
  await ask(w, "ada", "bob", "Plain");
  assert.equal(eventData(w, "question").length, 1);
  assert.equal(JSON.stringify(w.events).includes("sesame"), false);
});

Deno.test("a peer answers on its socket, and a surface answers for the human", async () => {
  await using w = withHuman();
  const bob = await connectPeer(w, "bob");
  const surface = await connectPeer(w, "chat", {
    capabilities: ["inbox_surface"],
    role: "service",
  });
  const first = await askQuestion(w, CHOICE);
  await bob.send({ type: "answer", request_id: "1", correlation_id: first, option_id: "b" });
  assert.deepEqual(bob.of("result")[0], {
    type: "result",
    request_id: "1",
    ok: true,
    close_reason: "answered",
    outcome: "answered",
  });
  const second = await ask(w, "bob", "sam", "Which?", { question: CHOICE });
  await surface.send({ type: "answer", request_id: "2", correlation_id: second, option_id: "a" });
  assert.equal((await get(w, `/asks/${second}`)).responder, "sam");
  const third = await ask(w, "bob", "sam", "Which?", { question: CHOICE });
  await bob.send({ type: "answer", request_id: "3", correlation_id: third, option_id: "a" });
  const refused = bob.of("result")[1];
  assert.equal(refused && "error" in refused && refused.error, "not_the_recipient");
});

Deno.test("an inbox reply to an open question is its answer, and must fit", async () => {
  await using w = withHuman();
  const ada = await connectPeer(w, "ada");
  const toSam = async (question: object) => {
    const body = { from_peer: "ada", to_peer: "sam", text: "Which?", question };
    const { correlation_id, inbox } = await post(w, "/ask", body);
    const reply = (more: object) => post(w, `/inbox/${inbox.item_id}/reply`, more);
    return { correlation_id, reply, item_id: inbox.item_id };
  };
  const choice = await toSam(CHOICE);
  for (const wrong of [{ text: "Plums" }, { text: "" }, { text: "", option_id: "x" }]) {
    assert.equal((await choice.reply(wrong)).status, 422);
  }
  assert.equal((await get(w, `/inbox/${choice.item_id}`)).replied, false);
  const { correlation_id } = choice;
  assert.deepEqual(await choice.reply({ text: "pears" }), {
    status: 200,
    action: "answered",
    correlation_id,
  });
  const kept = await get(w, `/asks/${correlation_id}`);
  assert.deepEqual([kept.answer.option_id, kept.responder], ["b", "sam"]);
  assert.deepEqual((await get(w, `/inbox/${choice.item_id}`)).replied, true);

  const text = await toSam(TEXT);
  assert.equal((await text.reply({ text: "" })).status, 422);
  assert.equal((await text.reply({ text: "Anything" })).action, "answered");
  assert.equal((await get(w, `/asks/${text.correlation_id}`)).answer.text, "Anything");
  const bare = await toSam(ACKNOWLEDGE);
  assert.equal((await bare.reply({})).action, "answered");
  await w.clock.settle();
  const ackFrame = ada.of("ack").map(({ close_reason, text }) => [close_reason, text]);
  assert.deepEqual(ackFrame, [["answered", "Pears"], ["answered", "Anything"], ["answered", null]]);
  const { delivery_id } = ada.of("ack")[0] ?? { delivery_id: "" };
  assert.equal(w.daemon.delivery.findMessage(delivery_id)?.voice, "human");
  const late = await choice.reply({ text: "And now?" });
  assert.deepEqual([late.status, late.error, late.outcome], [410, "already_closed", "answered"]);
  const confirmed = await choice.reply({ text: "And now?", as_new_ask: true });
  assert.equal(confirmed.action, "asked");
  assert.equal((await text.reply({ text: "And now?" })).action, "asked");
});

Deno.test("an item whose question was answered elsewhere is replied, also after a denial", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const body = { from_peer: "ada", to_peer: "sam", text: "Which?", question: CHOICE };
  const { correlation_id, inbox } = await post(w, "/ask", body);
  await post(w, "/answer", { correlation_id, outcome: "denied" });
  assert.equal((await get(w, `/inbox/${inbox.item_id}`)).replied, true);
});
