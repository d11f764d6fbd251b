/** Recall: earlier answers to similar questions, of the same project and circle only. */

import assert from "node:assert/strict";
import { ackAsk, declineAsk } from "protocol/asks/contract.ts";
import { recall } from "protocol/asks/recall.ts";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask } from "../../../support/daemon/peer_clients.ts";

/** The peers `api` and `web` of one project, and `far` of another one. */
async function mesh(settings: Record<string, string> = {}, path = "/work/shop") {
  const w = world({ settings });
  await addPeer(w, "api", { path });
  await addPeer(w, "web", { path });
  await addPeer(w, "far", { path: "/work/far" });
  return w;
}

async function answered(w: World, question: string, reply: string, from = "web", to = "api") {
  const id = await ask(w, from, to, question);
  await w.call(ackAsk, { body: { correlation_id: id, message: reply } });
  return id;
}

function find(w: World, q: string, query: Record<string, string> = { from_peer: "web" }) {
  return w.call(recall, { query: { q, ...query } });
}

async function idsOf(...given: Parameters<typeof find>) {
  return (await find(...given)).matches.map(({ correlation_id }) => correlation_id);
}

Deno.test("a similar question is found with its answer and age", async () => {
  await using w = await mesh();
  const id = await answered(w, "Which port does the API server listen on?", "Port 8080");
  await answered(w, "Who maintains the invoices?", "Ada");
  await w.clock.advance(2 * 3_600_000);
  const { matches, circle, off } = await find(w, "what ports is the api server listening on");
  assert.deepEqual([circle, off, matches.length], ["default", false, 1]);
  const [found] = matches;
  assert.equal(found?.correlation_id, id);
  assert.deepEqual([found?.answer, found?.age_seconds], ["Port 8080", 7_200]);
});

Deno.test("at most three are found, the most similar and then the newest first", async () => {
  await using w = await mesh();
  const ids: string[] = [];
  for (const part of ["staging", "production", "testing", "preview"]) {
    ids.push(await answered(w, `Which port does ${part} listen on?`, `Port of ${part}`));
  }
  const found = await idsOf(w, "Which port does production listen on?");
  assert.deepEqual(found, [ids[1], ids[3], ids[2]]);
});

Deno.test("of the same question, only the newest answer is found", async () => {
  await using w = await mesh();
  await answered(w, "Which port?", "8080");
  const newest = await answered(w, "which PORT", "9090");
  assert.deepEqual(await idsOf(w, "Which port?"), [newest]);
});

Deno.test("an ask that is open, declined or only acknowledged is no answer", async () => {
  await using w = await mesh();
  await ask(w, "web", "api", "Which port is open?");
  const declined = await ask(w, "web", "api", "Which port is declined?");
  await w.call(declineAsk, { body: { correlation_id: declined, reason: "Which port indeed" } });
  const bare = await ask(w, "web", "api", "Which port is bare?");
  await w.call(ackAsk, { body: { correlation_id: bare } });
  assert.deepEqual(await idsOf(w, "port"), []);
});

Deno.test("asks of another project are not found, unless a person searches all", async () => {
  await using w = await mesh();
  const id = await answered(w, "Which port?", "8080");
  assert.deepEqual(await idsOf(w, "port", { from_peer: "far" }), []);
  assert.deepEqual(await idsOf(w, "port", { path: "/work/far" }), []);
  assert.deepEqual(await idsOf(w, "port", { path: "/work/shop" }), [id]);
  assert.deepEqual(await idsOf(w, "port", {}), [id]);
});

Deno.test("no question crosses a circle, whatever the request says", async () => {
  await using w = await mesh();
  await addPeer(w, "red", { path: "/work/shop", circle: "red" });
  await addPeer(w, "red2", { path: "/work/shop", circle: "red" });
  const secret = await answered(w, "Which port is secret?", "4711", "red", "red2");
  assert.deepEqual(await idsOf(w, "secret port"), []);
  assert.deepEqual(await idsOf(w, "secret port", { from_peer: "web", circle: "red" }), []);
  assert.deepEqual(await idsOf(w, "secret port", { from_peer: "red" }), [secret]);
  const between = await ask(w, "red", "api", "Which port is between?", { bypass_circle: true });
  await w.call(ackAsk, { body: { correlation_id: between, message: "4712" } });
  for (const from_peer of ["web", "red"]) {
    assert.deepEqual(await idsOf(w, "between", { from_peer }), [], from_peer);
  }
});

Deno.test("an agent finds its own asks with a person, and none of other agents", async () => {
  await using w = await mesh({ "human.name": "sam" });
  const mine = await answered(w, "Which key opens staging?", "The blue one", "web", "sam");
  const given = await answered(w, "Which key opens production?", "The red one", "sam", "web");
  assert.deepEqual(await idsOf(w, "key opens", { from_peer: "web" }), [given, mine]);
  assert.deepEqual(await idsOf(w, "key opens", { from_peer: "api" }), []);
  assert.deepEqual(await idsOf(w, "key opens", { from_peer: "sam" }), [given, mine]);
});

Deno.test("long and mixed texts are compared by their beginning, in any script", async () => {
  await using w = await mesh();
  const question = `数据库端口是多少？ Порт базы данных? ${"lorem ipsum ".repeat(5_000)}`;
  const id = await answered(w, question, "五四三二".repeat(5_000));
  for (const q of ["数据库端口是多少", "порт базы данных"]) {
    const { matches: [found] } = await find(w, q);
    assert.equal(found?.correlation_id, id, q);
    assert.ok((found?.answer.length ?? 0) <= 1_000 && (found?.question.length ?? 0) <= 1_000);
  }
});

Deno.test("asks.recall_off switches recall off for a circle, or for all", async () => {
  for (const off of ["default", "*"]) {
    await using w = await mesh({ "asks.recall_off": off });
    await answered(w, "Which port?", "8080");
    assert.deepEqual(await find(w, "port"), {
      circle: "default",
      project: "/work/shop",
      off: true,
      matches: [],
    });
  }
  await using w = await mesh({ "asks.recall_off": "other" });
  await answered(w, "Which port?", "8080");
  assert.equal((await find(w, "port")).matches.length, 1);
});

Deno.test("files that the texts name are changed, unchanged or missing since the answer", async () => {
  const dir = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    const root = `${dir}/shop`;
    Deno.mkdirSync(`${root}/src`, { recursive: true });
    Deno.mkdirSync(`${root}/.git`);
    const write = (path: string, at: number) => {
      Deno.writeTextFileSync(path, "");
      Deno.utimeSync(path, at / 1000, at / 1000);
    };
    await using w = await mesh({}, root);
    const now = w.clock.now();
    write(`${root}/src/old.ts`, now - 60_000);
    write(`${root}/src/new.ts`, now + 60_000);
    write(`${dir}/outside.ts`, now + 60_000);
    Deno.symlinkSync(`${dir}/outside.ts`, `${root}/link.ts`);
    await answered(
      w,
      "Where is the port: src/old.ts, src/new.ts, ../outside.ts, link.ts, /etc/hosts.conf, v1.2?",
      "In src/gone.ts, see ./src/old.ts and ../../../../etc/passwd.txt",
    );
    const [found] = (await find(w, "port")).matches;
    assert.deepEqual(found?.files.map(({ path, state }) => `${path} ${state}`), [
      "src/old.ts unchanged",
      "src/new.ts changed",
      "src/gone.ts missing",
    ]);
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});

Deno.test("with `same`, a question that only shares words is not found", async () => {
  await using w = await mesh();
  const id = await answered(w, "Which port does the API server listen on?", "8080");
  await answered(w, "Does the deployment of the billing port to Rust block the API?", "Yes");
  const same = { from_peer: "web", same: "true" };
  assert.deepEqual(await idsOf(w, "which port does the api server listen on", same), [id]);
  assert.deepEqual(await idsOf(w, "port", same), []);
});

Deno.test("a long question finds itself", async () => {
  await using w = await mesh();
  const long = Array.from({ length: 180 }, (_, at) => `topic${at}`).join(" ");
  const id = await answered(w, long, "Yes");
  assert.deepEqual(await idsOf(w, long, { from_peer: "web", same: "true" }), [id]);
});

Deno.test("questions in other scripts, and with any characters, are found", async () => {
  await using w = await mesh();
  const id = await answered(w, "データベースのポートは何番ですか", "5432");
  assert.deepEqual(await idsOf(w, "データベースのポートは何番"), [id]);
  for (const q of ['"', "port* OR NEAR(", "(", "the of a", "\u0000x", "{text}: a"]) {
    assert.deepEqual(await idsOf(w, q), [], q);
  }
});

Deno.test("a question of two thousand characters is searched, a longer one refused", async () => {
  await using w = await mesh();
  await find(w, "x".repeat(2_000));
  await assert.rejects(find(w, "x".repeat(2_001)), /invalid_request/);
  await assert.rejects(find(w, "  "), /invalid_request/);
});
