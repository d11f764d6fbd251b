/** `mesh answer` and `mesh ask-many`, against a daemon in memory. */

import assert from "node:assert/strict";
import { world } from "../../support/world.ts";
import { cliFixture } from "../../support/cli/listening_daemon.ts";
import { addPeer, ask, get, post } from "../../support/daemon/peer_clients.ts";

const fixture = () => cliFixture(world());

const CHOICE = {
  kind: "choice",
  scope: "deploy",
  options: [{ id: "a", title: "Apples" }, { id: "b", title: "Pears" }],
};

Deno.test("answer takes an option, a text or a refusal, and show shows it", async () => {
  await using at = fixture();
  const { w, mesh } = at;
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob", "Which?", { question: CHOICE });
  const open = await mesh("show", id);
  assert.match(open.out, /question +choice, deploy/);
  assert.match(open.out, /^ {2}a {2}Apples$/m);
  const answer = await mesh("answer", id, "--option", "b", "--message", "They are ripe");
  assert.deepEqual(answer, { code: 0, out: "closed: answered\n", err: "" });
  const { out } = await mesh("show", id);
  assert.match(out, /closed: answered\n/);
  assert.match(out, /answer +b$/m);
  assert.match(out, /^→ b {2}Pears$/m);
  assert.match(out, /bob:\nPears\nThey are ripe/);

  const text = await ask(w, "ada", "bob", "Which?", { question: { kind: "text" } });
  assert.equal((await mesh("answer", text, "Port 8080", "--from", "bob")).code, 0);
  assert.equal((await get(w, `/asks/${text}`)).answer.text, "Port 8080");
  const other = await ask(w, "ada", "bob", "Which?", { question: CHOICE });
  assert.equal(
    (await mesh("answer", other, "--refuse", "denied")).out,
    "closed: answered, denied\n",
  );
});

Deno.test("ask --option asks the human or a peer to choose, and the answer names the option", async () => {
  await using at = cliFixture(world({ settings: { "human.name": "sam" } }));
  const { w, mesh } = at;
  const options = ["--option", "yes", "--option", "not yet"];
  const asked = await mesh("ask", "sam", "Ship it?", ...options, "--json");
  const { correlation_id, inbox } = JSON.parse(asked.out);
  const item = await mesh("inbox", "show", inbox.item_id);
  assert.match(item.out, /^ {2}yes\n {2}not yet$/m);
  assert.match(item.err, /--option yes\n/);
  const reply = ["inbox", "reply", inbox.item_id, "After lunch", "--option", "not yet"];
  assert.equal((await mesh(...reply)).code, 0);
  const wait = await mesh("show", correlation_id, "--wait");
  assert.equal(wait.out, "answered by sam:\nnot yet\nAfter lunch\n");
  const json = await mesh("show", correlation_id, "--wait", "--json");
  assert.partialDeepStrictEqual(JSON.parse(json.out), { option_id: "not yet", responder: "sam" });

  await addPeer(w, "bob");
  const waiting = mesh("ask", "bob", "Which?", "--option", "red", "--option", "blue", "--wait");
  const opened = Promise.withResolvers<void>();
  using _ = w.daemon.ctx.events.subscribe({
    event: ({ type }) => type === "question" && opened.resolve(),
  });
  await opened.promise;
  assert.equal((await mesh("answer", "ask-000000000002", "RED", "--from", "bob")).code, 0);
  assert.equal((await waiting).out, "answered by bob:\nred\n");
});

Deno.test("ask refuses options that nobody could choose from, in words of the command line", async () => {
  await using at = fixture();
  const { w, mesh } = at;
  await addPeer(w, "bob");
  const cases: [string[], string][] = [
    [["yes", " yes"], `mesh: --option: Two options have the same id: "yes"\n`],
    [["yes", "y\u200bes\u001b"], `mesh: --option: Two options have the same id: "yes"\n`],
    [["yes", ""], "mesh: --option: is empty\n"],
    [["yes", "\u200b"], "mesh: --option: is empty\n"],
    [["yes", "x".repeat(256)], "mesh: --option: is longer than 255 characters\n"],
    [Array.from({ length: 51 }, (_, at) => `${at}`), "mesh: --option: more than 50 are given\n"],
  ];
  for (const [options, err] of cases) {
    const flags = options.flatMap((option) => ["--option", option]);
    const refused = await mesh("ask", "bob", "Which?", ...flags);
    assert.deepEqual(refused, { code: 1, out: "", err });
  }
  assert.deepEqual((await get(w, "/asks")).asks, []);
});

Deno.test("a refused answer exits 1, wrong usage exits 2", async () => {
  await using at = fixture();
  const { w, mesh } = at;
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob", "Which?", { question: CHOICE });
  const wrong = await mesh("answer", id, "Plums");
  assert.deepEqual([wrong.code, wrong.out], [1, ""]);
  assert.match(wrong.err, /"Plums" is not an option/);
  assert.match(wrong.err, /choose one of: a, b/);
  assert.equal((await mesh("answer", id, "a", "--from", "ada")).code, 1);
  assert.equal((await mesh("answer", id, "--refuse", "perhaps")).code, 2);
  assert.equal((await mesh("answer")).code, 2);
  assert.equal((await mesh("ask-many", " , ", "Hi")).code, 2);
  assert.equal((await get(w, `/asks/${id}`)).state, "open");
});

Deno.test("a question is shown by the id that its asker chose", async () => {
  await using at = fixture();
  const { w, mesh } = at;
  const line = post(w, "/questions/ask-blocking", {
    prompt: "Run rm?",
    scope: "tool_permission",
    correlation_id: "toolu_01",
    options: [{ id: "allow", title: "Allow" }],
  });
  await w.clock.settle();
  const { out } = await mesh("show", "toolu_01");
  assert.match(out, /ask +toolu_01/);
  assert.equal(out.match(/Run rm\?/g)?.length, 1);
  assert.equal((await mesh("answer", "toolu_01", "--option", "allow")).code, 0);
  assert.equal((await line).option_id, "allow");
});

Deno.test("ask-many lists who was asked and who was not, and show shows the replies", async () => {
  await using at = fixture();
  const { w, mesh } = at;
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  const asked = await mesh("ask-many", "bob, eve,nobody", "Ready?", "--from", "ada");
  assert.equal(asked.code, 0);
  const [parent = "", ...children] = asked.out.trimEnd().split("\n");
  assert.match(parent, /^askm-[0-9a-f]{12}$/);
  assert.deepEqual(children, [
    "  bob  ask-000000000001",
    "  eve  ask-000000000002",
    "  nobody  unknown_peer",
  ]);
  await post(w, "/ack", { correlation_id: "ask-000000000001", message: "Yes" });
  assert.equal(
    (await mesh("show", parent)).out,
    `${parent}  partial
bob: answered  ask-000000000001
  Yes
eve: open  ask-000000000002
nobody: unknown_peer
`,
  );
  const json = await mesh("show", parent, "--json");
  assert.equal(JSON.parse(json.out).state, "partial");
  const none = await mesh("ask-many", "nobody", "Ready?");
  assert.deepEqual([none.code, none.out], [1, ""]);
});

Deno.test("ask-many --wait prints all answers once they have arrived", async () => {
  await using at = fixture();
  const { w, mesh } = at;
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  const waiting = mesh("ask-many", "bob,eve", "Ready?", "--wait", "--json");
  const opened = Promise.withResolvers<void>();
  using _ = w.daemon.ctx.events.subscribe({
    event: ({ type, data }) => {
      if (type === "ask" && "to" in data && data.to === "eve") opened.resolve();
    },
  });
  await opened.promise;
  await post(w, "/ack", { correlation_id: "ask-000000000002", message: "Yes" });
  await post(w, "/decline", { correlation_id: "ask-000000000001", reason: "Busy" });
  const { code, out } = await waiting;
  assert.equal(code, 0);
  const { state, children } = JSON.parse(out);
  assert.equal(state, "complete");
  assert.deepEqual(children.map(({ reply }: { reply: string }) => reply), ["Busy", "Yes"]);
});

Deno.test("ask @tag asks each peer of the tag, and refuses what only fits one peer", async () => {
  await using at = fixture();
  const { w, mesh } = at;
  await addPeer(w, "api", { tags: ["backend"] });
  await addPeer(w, "db", { tags: ["backend"] });
  await addPeer(w, "web");
  const asked = await mesh("ask", "@backend", "Ready?");
  assert.equal(asked.code, 0, asked.err);
  const { asks } = await get(w, "/asks?state=open");
  assert.deepEqual(
    asks.map(({ to_peer_name }: { to_peer_name: string }) => to_peer_name).toSorted(),
    ["api", "db"],
  );
  const refused = await mesh("ask", "@backend", "Ready?", "--option", "yes");
  assert.match(refused.err, /--option is for an ask to one peer, and "@backend" may name several/);
  assert.match(
    (await mesh("ask", "@nobody", "Ready?")).err,
    /No other peer here has the tag nobody/,
  );
});
