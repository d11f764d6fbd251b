/** Two real Claude Codes write one file in two work trees: each learns of it once. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { whoUsesFile } from "protocol/holdings/files.ts";
import { listMessages } from "protocol/messages/log.ts";
import { listPeers, registerPeer } from "protocol/peers/contract.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { makeWorkTrees } from "../../../support/e2e/work_trees.ts";
import { until } from "../../../support/waiting.ts";

withLab(import.meta.url, "two agents that write one file are each informed once", async () => {
  await using lab = new Lab({
    bare: true,
    permissions: ["mcp__mesh", "Write"],
    projects: ["api", "web"],
  });
  makeWorkTrees(lab.dir, { "first.txt": "first\n" });
  await lab.mesh.setUp();
  await lab.mesh.up();
  const peers = async () => (await lab.mesh.call(listPeers, { query: {} })).peers;
  const writes = async (name: string, at: number) => {
    const claude = await lab.claude(name);
    const args = { file_path: join(lab.dir, name, "shared.txt"), content: `by ${name}\n` };
    await claude.sendPrompt(`Write ${at} @@TOOL Write ${JSON.stringify(args)}`);
    await until(`the file of ${name}`, () => lab.model.asked(`Write ${at}`).at(-1)?.results[0]);
    return claude;
  };
  const [api, web] = [await writes("api", 1), await writes("web", 2)];
  const told = (name: string) => lab.model.asked(`You and @${name}-claude-code both write`);
  await until("the information of both", () => told("api").length > 0 && told("web").length > 0);
  const { prompt = "" } = told("api")[0] ?? {};
  assert(
    prompt.includes("both write shared.txt") && prompt.includes(join(lab.dir, "api")),
    prompt,
  );
  assert(prompt.includes("mesh ask api-claude-code"), prompt);
  await until("the end of both turns", () => api.isIdle && web.isIdle);
  // Another write of the same file is no news.
  const again = { file_path: join(lab.dir, "api", "shared.txt"), content: "again\n" };
  await api.sendPrompt(`Write 3 @@TOOL Write ${JSON.stringify(again)}`);
  await until("the third write", () => lab.model.asked("Write 3").at(-1)?.results[0]);
  // This test is a peer in the repository: its question has the session files read to their ends.
  const { circle } = (await peers()).find(({ name }) => name === "api-claude-code") ?? {};
  const self = { name: "reader", path: join(lab.dir, "api"), backend: "generic" as const };
  await lab.mesh.call(registerPeer, { body: { ...self, circle, agent_pid: Deno.pid } });
  const query = { path: again.file_path, from_peer: "reader" };
  const uses = await until("the third write in its session file", async () => {
    const { uses } = await lab.mesh.call(whoUsesFile, { query });
    return uses.some(({ times }) => times === 2) && uses;
  });
  assert.deepEqual(
    new Set(uses.map(({ name, wrote, root, times }) => [name, wrote, root, times].join(" "))),
    new Set(
      ["api", "web"].map((name, at) =>
        [`${name}-claude-code`, true, join(lab.dir, name), 2 - at].join(" ")
      ),
    ),
  );
  for (const peer of ["api-claude-code", "web-claude-code"]) {
    const { messages } = await lab.mesh.call(listMessages, { query: { peer } });
    assert.equal(messages.filter(({ to_peer_name }) => to_peer_name === peer).length, 1);
  }
});
