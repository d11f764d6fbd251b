import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { FakeBotApi, TOKEN } from "../../support/telegram/fake_bot_api.ts";
import { surfacePrograms } from "../../support/surfaces/programs.ts";
import { until } from "../../support/waiting.ts";

/** A state directory, a Bot API, and programs that use them. */
function setup() {
  const bot = new FakeBotApi(systemClock);
  const server = Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    onListen: () => {},
    onError: () => new Response(null, { status: 500 }), // A poll whose program has ended.
  }, bot.fetch);
  const programs = surfacePrograms("telegram", {
    MESH_SURFACES__TELEGRAM__TOKEN: TOKEN,
    MESH_SURFACES__TELEGRAM__CHAT_ID: "815",
    TELEGRAM_API_BASE: `http://127.0.0.1:${server.addr.port}`,
  });
  return {
    ...programs,
    bot,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      programs.remove();
    },
  };
}

Deno.test("a question reaches the chat, a tap answers it, and the asker has the answer [c8.telegram]", async () => {
  await using p = setup();
  await using _daemon = await p.daemon();
  await p.post("/peers", { name: "ada", path: "/work", backend: "sdk" });
  await using surface = await p.surface();
  const options = [{ id: "a", title: "Apples" }, { id: "b", title: "Pears" }];
  const { correlation_id, inbox } = await p.post("/ask", {
    from_peer: "ada",
    to_peer: "sam",
    text: "Fruit?",
    question: { kind: "choice", options },
  });
  assert.deepEqual(inbox.surfaces, ["telegram"]);
  const delivered = await until("the message", () => p.bot.sentMessages[0]);
  assert.equal(delivered.text, "❓ ada asks:\nFruit?");
  const push = await until("the receipt", async () => {
    const [push] = (await p.get(`/inbox/${inbox.item_id}`)).pushes;
    return push.status === "pending" ? undefined : push;
  });
  const ref = String(delivered.message_id);
  assert.partialDeepStrictEqual(push, {
    surface: "telegram",
    status: "pushed",
    surface_ref: ref,
    surface_refs: [ref],
    verified: true,
  });
  p.bot.tap(delivered.message_id, "Pears");
  const ask = await until("the answer", async () => {
    const ask = await p.get(`/asks/${correlation_id}`);
    return ask.state === "closed" ? ask : undefined;
  });
  assert.equal(ask.answer.option_id, "b");
  await until("the choice", () => delivered.keyboard?.[0]?.[0]?.text === "✓ Pears" || undefined);
  assert.equal(await surface.end("SIGINT"), 0, await surface.output);
});

Deno.test("restarts of daemon and surface lose nothing, and show nothing twice", async () => {
  await using p = setup();
  const first = await p.daemon();
  await p.post("/peers", { name: "ada", path: "/work", backend: "sdk" });
  await using surface = await p.surface();
  const ask = async (text: string) =>
    (await p.post("/ask", { from_peer: "ada", to_peer: "sam", text })).correlation_id;
  const texts = () => p.bot.sentMessages.map(({ text }) => text.split("\n")[1]);
  /** True once this many pushes have their receipt; else undefined. */
  const pushed = async (count: number) => {
    const { items } = await p.get("/inbox?surface=telegram");
    return items.length === count || undefined;
  };
  const id = await ask("first");
  await until("the first", () => texts().length === 1 || undefined);
  await first.end("SIGTERM");
  await using _second = await p.daemon();
  await p.connected();
  await ask("second");
  await until("the second", () => pushed(2));
  await surface.end("SIGKILL");
  await until("its end", async () => {
    const { peers } = await p.get("/peers?status=offline");
    return peers.some(({ name }: { name: string }) => name === "telegram") || undefined;
  });
  await ask("third");
  await using restarted = await p.surface();
  await until("the third", () => pushed(3));
  assert.deepEqual(texts(), ["first", "second", "third"]);
  p.bot.reply(p.bot.sentMessages[0]?.message_id ?? 0, "Yes, the first");
  const closed = await until("the reply", async () => {
    const ask = await p.get(`/asks/${id}`);
    return ask.state === "closed" ? ask : undefined;
  });
  assert.deepEqual([closed.reply, closed.close_reason], ["Yes, the first", "ack_with_msg"]);
  assert.equal(await restarted.end("SIGTERM"), 0);
  assert.doesNotMatch(await surface.output + await restarted.output, /topsecret|0123456789abcdef/);
});
Deno.test("a picture reaches the chat, and the files of a reply to it reach the asker", async () => {
  await using p = setup();
  await using _daemon = await p.daemon();
  await p.post("/peers", { name: "ada", path: "/work", backend: "sdk" });
  await using surface = await p.surface();
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1);
  const { id } = await p.upload("shot.png", png);
  const ask = async (text: string) =>
    (await p.post("/ask", { from_peer: "ada", to_peer: "sam", text, attachments: [id] }))
      .correlation_id;
  const first = await ask("Like this?"), second = await ask("And this?");
  const pictures = () => p.bot.sentMessages.filter(({ file }) => file);
  const [firstPicture, secondPicture] = await until("the pictures", () => {
    return pictures().length === 2 ? pictures() : undefined;
  });
  assert.deepEqual(firstPicture?.file, { as: "photo", filename: "shot.png", bytes: png });
  await until("the receipts", async () => {
    const { items } = await p.get("/inbox?surface=telegram");
    return items.length === 2 || undefined;
  });
  const part = (name: string) => ({
    media_group_id: "album",
    document: { ...p.bot.files.add(new TextEncoder().encode(name)), file_name: `${name}.txt` },
  });
  p.bot.reply(firstPicture?.message_id ?? 0, "", { ...part("left"), caption: "No, like these" });
  p.bot.reply(firstPicture?.message_id ?? 0, "", part("right"));
  const voice = p.bot.files.add(new TextEncoder().encode("a voice"));
  p.bot.reply(secondPicture?.message_id ?? 0, "", { voice });
  const closed = (id: string) =>
    until("the reply", async () => {
      const ask = await p.get(`/asks/${id}`);
      return ask.state === "closed" ? ask : undefined;
    });
  /** The names of the files of a reply, with what the daemon serves for each. */
  const filesOf = (
    { reply_attachments }: { reply_attachments: { id: string; filename: string }[] },
  ) => Promise.all(reply_attachments.map(async ({ id, filename }) => [filename, await p.read(id)]));
  const answer = await closed(first);
  assert.deepEqual([answer.reply, answer.close_reason], ["No, like these", "ack_with_msg"]);
  assert.deepEqual(await filesOf(answer), [["left.txt", "left"], ["right.txt", "right"]]);
  const [file] = await filesOf(await closed(second));
  assert.deepEqual([/^voice-\d+\.ogg$/.test(file?.[0] ?? ""), file?.[1]], [true, "a voice"]);
  assert.equal(await surface.end("SIGINT"), 0, await surface.output);
});
