import assert from "node:assert/strict";
import { serveSlack } from "../../support/slack/slack_server.ts";
import { surfacePrograms } from "../../support/surfaces/programs.ts";
import { until } from "../../support/waiting.ts";
import { toRef } from "../../../surfaces/slack/timestamps.ts";

/** A state directory, a Slack, and programs that use them. */
function setup() {
  const server = serveSlack();
  const programs = surfacePrograms("slack", server.settings);
  const { slack } = server;
  return {
    ...programs,
    slack,
    async ask(text: string, more: Record<string, unknown> = {}) {
      return await programs.post("/ask", { from_peer: "ada", to_peer: "sam", text, ...more });
    },
    /** The first message with this text. */
    shown: (text: string) =>
      until(text, () => slack.sent.find((_, at) => slack.shown[at]?.includes(text))),
    closed: (correlation_id: string) =>
      until("the answer", async () => {
        const ask = await programs.get(`/asks/${correlation_id}`);
        return ask.state === "closed" ? ask : undefined;
      }),
    /** Waits until this many pushes have their receipt. */
    pushed: (count: number) =>
      until("the receipts", async () => {
        const { items } = await programs.get("/inbox?surface=slack");
        return items.length === count || undefined;
      }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      programs.remove();
    },
  };
}

Deno.test("questions reach Slack, and buttons and replies in threads answer them", async () => {
  await using p = setup();
  await using _daemon = await p.daemon();
  await p.post("/peers", { name: "ada", path: "/work", backend: "sdk" });
  await using surface = await p.surface();
  const options = [{ id: "a", title: "Apples" }, { id: "b", title: "Pears" }];
  const question = { kind: "choice", options };
  const { correlation_id, inbox } = await p.ask("Fruit?", { question });
  assert.deepEqual(inbox.surfaces, ["slack"]);
  const message = await p.shown("Fruit?");
  const push = await until("the receipt", async () => {
    const [push] = (await p.get(`/inbox/${inbox.item_id}`)).pushes;
    return push.status === "pending" ? undefined : push;
  });
  const ref = toRef(message.ts);
  assert.partialDeepStrictEqual(push, {
    surface: "slack",
    status: "pushed",
    surface_ref: ref,
    surface_refs: [ref],
    verified: true,
  });
  await until("the connection", () => p.slack.connections.open[0]);
  p.slack.press(message.ts, "Apples", { user: "USOMEONE1" });
  p.slack.press(message.ts, "Pears");
  const ask = await p.closed(correlation_id);
  assert.equal(ask.answer.option_id, "b");
  await until("the outcome", () => /✓ Pears by/.test(p.slack.shown[0] ?? "") || undefined);

  // A refresh, a rate limit and a lost answer later, a reply is still forwarded once.
  p.slack.connections.disconnect("refresh_requested");
  p.slack.failNext("chat.postMessage", { status: 429, retry_after: 1 }, "done but lost");
  const { correlation_id: id } = await p.ask("Ready <!here>?");
  const ready = await p.shown("Ready <!here>?");
  await p.pushed(2);
  const connection = await until("the next connection", () => p.slack.connections.open[1]);
  p.slack.reply(ready.ts, "Yes &amp; no");
  assert.equal((await p.closed(id)).reply, "Yes & no");
  const [envelope] = p.slack.connections.envelopes.slice(-1);
  assert.ok(envelope && connection.isWhole);
  p.slack.connections.repeat(envelope);
  await until(
    "each acknowledgement",
    () => p.slack.connections.acknowledged.includes(`${envelope.envelope_id}-again`) || undefined,
  );
  assert.equal(p.slack.sent.filter((_, at) => p.slack.shown[at]?.includes("Ready")).length, 1);
  assert.equal(await surface.end("SIGINT"), 0, await surface.output);
  assert.match(await surface.output, /Ignored what "USOMEONE1" does/);
  assert.doesNotMatch(await surface.output, /topsecret/);
});

Deno.test("restarts lose nothing and show nothing twice, and replies written meanwhile are forwarded", async () => {
  await using p = setup();
  const first = await p.daemon();
  await p.post("/peers", { name: "ada", path: "/work", backend: "sdk" });
  await using surface = await p.surface();
  const { correlation_id } = await p.ask("first");
  const message = await p.shown("first");
  await p.pushed(1);
  await first.end("SIGTERM");
  await using _second = await p.daemon();
  await p.connected();
  await p.ask("second");
  await p.pushed(2);
  await surface.end("SIGKILL");
  await until("its end", async () => {
    const { peers } = await p.get("/peers?status=offline");
    return peers.some(({ name }: { name: string }) => name === "slack") || undefined;
  });
  p.slack.reply(message.ts, "While it was off");
  await p.ask("third");
  await using restarted = await p.surface();
  await p.pushed(3);
  assert.deepEqual(p.slack.shown.map((text) => text.split("\n")[1]), ["first", "second", "third"]);
  assert.equal((await p.closed(correlation_id)).reply, "While it was off");
  assert.equal(await restarted.end("SIGTERM"), 0, await restarted.output);
});
