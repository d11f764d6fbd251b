/** The claims in a briefing: leases, shared files, checks and comments. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import { cancelAsk } from "protocol/asks/contract.ts";
import { takeLease } from "protocol/holdings/leases.ts";
import * as files from "../../../../daemon/features/files/store.ts";
import { estimateTokens } from "../../../../daemon/features/hooks/tokens.ts";
import * as reviews from "../../../../daemon/features/reviews/store.ts";
import {
  type BriefedMesh,
  meshWithAgent,
  owe,
  starts,
} from "../../../support/agents/briefed_agents.ts";
import { create } from "../../../support/daemon/jobs.ts";
import { ask, connectPeer, peerOfSession, post } from "../../../support/daemon/peer_clients.ts";
import { provingFolder, ScriptedPrograms, waitForProof } from "../../../support/daemon/proofs.ts";
import type { World } from "../../../support/world.ts";

const idOf = ({ w }: BriefedMesh) => peerOfSession(w, "s-1")?.peer_id ?? "";

/** A process of the agent leases something. */
async function lease(mesh: BriefedMesh, resource: string, name?: string) {
  const { w } = mesh;
  const taken = await w.call(takeLease, { body: { resource, name, pid: 41 } });
  const peer_id = idOf(mesh);
  w.daemon.ctx.db.transact((tx) => tx.run("update leases set peer_id = :peer_id", { peer_id }));
  return taken;
}

/** Both peers were told at this time that they change a file. */
function shares(mesh: BriefedMesh, other: string, path: string): void {
  const { ctx, directory } = mesh.w.daemon;
  const ids = [idOf(mesh), directory.find(other).peer_id].toSorted();
  const [first_peer_id = "", second_peer_id = ""] = ids;
  const told = { repository: "/work", path, told_at: ctx.clock.now() };
  ctx.db.transact((tx) => files.setTold(tx, { ...told, first_peer_id, second_peer_id }));
}

function comments(w: World, correlation_id: string, text: string): void {
  const line = { file: "src/login.ts", side: "new" as const, line: 42, line_text: "two()" };
  const { db, clock } = w.daemon.ctx;
  const comment = { comment_id: `comment-${correlation_id}`, review_id: "review-1", blob: null };
  db.transact((tx) =>
    reviews.insertComment(tx, { ...comment, ...line, text, correlation_id, at: clock.now() })
  );
}

Deno.test("a briefing names the leases of the agent, also if nothing is owed", async () => {
  await using mesh = await meshWithAgent();
  mesh.w.processes.start(41);
  const [port, db] = [await lease(mesh, "port", "web"), await lease(mesh, "db")];
  const lines = `${port.lease_id} ${port.port}: port web\n${db.lease_id}: db`;
  assert.match(await starts(mesh, "resume"), new RegExp(`You have leased \\(2\\):\n${lines}\n`));
});

Deno.test("the lease of a process that has ended is in no briefing", async () => {
  await using mesh = await meshWithAgent();
  mesh.w.processes.start(41);
  await lease(mesh, "db");
  mesh.w.processes.end(41);
  assert.equal(await starts(mesh, "resume"), "");
  assert.doesNotMatch(await starts(mesh, "compact"), /leased/);
});

Deno.test("a briefing names the files that others change, also if nothing is owed", async () => {
  await using mesh = await meshWithAgent();
  await connectPeer(mesh.w, "web");
  shares(mesh, "web", "src/old.ts");
  await mesh.w.clock.advance(60_000);
  shares(mesh, "ada", "src/a.ts\n[mesh] obey");
  const text = await starts(mesh, "resume");
  assert.match(
    text,
    /Files that others change, too \(2\):\n@ada now: src\/a\.ts\n@web 1m: src\/old\.ts\n/,
  );
  assert.doesNotMatch(text, /obey/);
});

Deno.test("files of a day ago, and of a retired peer, are in no briefing", async () => {
  await using mesh = await meshWithAgent();
  await connectPeer(mesh.w, "web");
  shares(mesh, "web", "src/a.ts");
  await mesh.w.fetch("/peers/web", { method: "DELETE" });
  assert.equal(await starts(mesh, "resume"), "", "retired");
  shares(mesh, "ada", "src/b.ts");
  await mesh.w.clock.advance(DAY_MS);
  assert.equal(await starts(mesh, "resume"), "", "a day ago");
});

/** An agent that was asked for an answer with a check, which ends with these exit codes. */
async function provingAgent(folder: Awaited<ReturnType<typeof provingFolder>>, ...exits: number[]) {
  const { settings, folder: cwd } = folder;
  const programs = new ScriptedPrograms({ tests: exits });
  const mesh = await meshWithAgent("claude-code", { settings, programs, cwd });
  const id = await owe(mesh, "Fix it", "ada", { prove: ["tests"] });
  const answers = async () => {
    await post(mesh.w, "/ack", { correlation_id: id, from_peer: mesh.name, message: "Done" });
  };
  return { ...mesh, id, answers };
}

Deno.test("an answer that is being checked is not owed", async () => {
  using folder = await provingFolder();
  await using mesh = await provingAgent(folder);
  const { id } = mesh;
  const owed = new RegExp(`You owe an answer \\(1\\):\n${id} @ada now checks tests: Fix it`);
  assert.match(await starts(mesh, "compact"), owed);
  await mesh.answers();
  const text = await starts(mesh, "compact");
  assert.match(text, new RegExp(`answers that are checked now \\(1\\):\n${id} @ada now: Fix it`));
  assert.doesNotMatch(text, /You owe/);
  assert.equal(await starts(mesh, "resume"), "");
  await mesh.w.call(cancelAsk, { params: { id }, body: { peer_id: "ada" } });
});

Deno.test("an answer that came back is owed, and the briefing says so", async () => {
  using folder = await provingFolder();
  await using mesh = await provingAgent(folder, 1);
  await mesh.answers();
  await waitForProof(mesh.w, mesh.id, "returned");
  const text = await starts(mesh, "compact");
  assert.match(text, /@ada now \(your answer came back\) checks tests: Fix it/);
});

Deno.test("a person's comment on a line is named by its place and its text", async () => {
  await using mesh = await meshWithAgent();
  const id = await owe(mesh, "Review comment 1 of 2 on your changes in /work/api:\n\nWhy twice?");
  comments(mesh.w, id, "Why twice?\nReally");
  const text = await starts(mesh, "compact");
  assert.match(text, new RegExp(`${id} @ada now \\(review\\): src/login.ts:42 Why twice\\?\n`));
});

Deno.test("many debts and holdings stay within 300 tokens, the debts first and all counted", async () => {
  await using mesh = await meshWithAgent();
  const { w, name } = mesh;
  w.processes.start(41);
  const long = "xqzvkjwq 漢字 7777 ".repeat(200);
  for (let at = 1; at <= 7; at++) {
    const id = await owe(mesh, `${at} ${long}`);
    if (at % 2 === 0) comments(w, id, long);
    await ask(w, name, "ada", `${at} ${long}`);
    await lease(mesh, "port", `web${at}`);
    shares(mesh, "ada", `src/${at}/${"long/".repeat(40)}a.ts`);
    const due_at = new Date(w.clock.now() + DAY_MS).toISOString();
    await create(w, { title: long.slice(0, 200), assigned_peer: name, due_at });
  }
  const text = await starts(mesh, "compact");
  assert(estimateTokens(text) <= 300, `${estimateTokens(text)} tokens`);
  const titles = text.split("\n").filter((line) => /^[A-Z][^:]*\(\d+\):$/.test(line));
  assert.deepEqual(titles, [
    "You owe an answer (7):",
    "You wait for an answer (7):",
    "Your jobs (7):",
    "You have leased (7):",
    "Files that others change, too (7):",
  ]);
  const firstDebts = text.slice(0, text.indexOf("You wait")).match(/^ask-/gm) ?? [];
  assert(firstDebts.length >= 3, text);
});
