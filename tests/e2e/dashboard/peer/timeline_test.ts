/** The timeline of an agent's session, and what changed in its folder, in a real browser. */

import assert from "node:assert/strict";
import { registerPeer, reportTurn } from "protocol/peers/contract.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { TestRepository } from "../../../support/repositories/repository.ts";
import { readRecording } from "../../../support/sessions/recorded_sessions.ts";

const ID = "11111111-2222-4333-8444-555555555555";
const PHONE = { width: 390, height: 844 };

/** The peer api in a repository, with a recorded session of Claude Code. */
async function peerIn(lab: DashboardLab, path: string, text: string): Promise<string> {
  const folder = `${lab.state}/.claude/projects/-home-sam-api`;
  Deno.mkdirSync(folder, { recursive: true });
  Deno.writeTextFileSync(`${folder}/${ID}.jsonl`, text);
  const { peer_id } = await lab.call(registerPeer, {
    body: { name: "api", path, backend: "claude-code", runtime_session_id: ID },
  });
  return peer_id;
}

const HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m";

browserTest("a person sees one row for each call, and what changed in the folder", async (lab) => {
  using repo = new TestRepository();
  repo.write("src/a.ts", "one\ntwo\n");
  repo.commit();
  repo.write("src/a.ts", `one\n${HOSTILE}\nthree\n`);
  repo.write(`${HOSTILE.replaceAll("/", "")}.txt`, "new\n");
  const hostileCall = JSON.stringify({
    type: "assistant",
    message: {
      content: [{ type: "tool_use", id: "h", name: HOSTILE, input: { command: HOSTILE } }],
    },
  });
  const recorded = readRecording("claude_code.jsonl");
  const peer_id = await peerIn(lab, repo.folder, `${recorded}${hostileCall}\n`);
  const page = await lab.open(`#/peers/${peer_id}?tab=timeline`);
  const timeline = page.getByRole("region", { name: "Timeline" });
  const row = timeline.getByRole("button", { name: /Bash echo hi; cat notes\.txt ok/ });
  await row.click();
  await timeline.getByText("hello from the file").waitFor();
  await row.press("Enter");
  await timeline.getByText("hello from the file").waitFor({ state: "detached" });
  await timeline.getByRole("button", { name: /<img src=x onerror.*no result/ }).waitFor();
  await page.getByRole("button", { name: "Changes" }).click();
  const changes = page.getByRole("region", { name: "Changes", exact: true });
  await changes.getByText("+3 −1 in 2 files", { exact: false }).waitFor();
  await changes.getByRole("button", { name: /modified src\/a\.ts/ }).waitFor();
  await changes.getByText("three", { exact: true }).waitFor();
  await changes.getByText("⟨U+202E⟩", { exact: false }).first().waitFor();
  await page.locator(".peer .counts").first().waitFor();
  for (const viewport of [{ width: 1440, height: 900 }, PHONE]) {
    await page.setViewportSize(viewport);
    assert.deepEqual(await violationsOf(page), []);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  }
});

browserTest("rows appear while the agent works, and end with its turn", async (lab) => {
  const call = (id: string, command: string) =>
    JSON.stringify({
      type: "assistant",
      message: { content: [{ type: "tool_use", id, name: "Bash", input: { command } }] },
    });
  const peer_id = await peerIn(lab, lab.state, `${call("a", "make one")}\n`);
  const turn = (turn_state: "working" | "idle") =>
    lab.call(reportTurn, { params: { id: peer_id }, query: {}, body: { turn_state } });
  await turn("working");
  const page = await lab.open(`#/peers/${peer_id}?tab=timeline`);
  await page.getByRole("button", { name: /make one running/ }).waitFor();
  const file = `${lab.state}/.claude/projects/-home-sam-api/${ID}.jsonl`;
  const result = JSON.stringify({
    type: "user",
    message: { content: [{ type: "tool_result", tool_use_id: "a", content: "made" }] },
  });
  Deno.writeTextFileSync(file, `${result}\n${call("b", "make two")}\n`, { append: true });
  await page.getByRole("button", { name: /make one ok/ }).waitFor();
  await page.getByRole("button", { name: /make two running/ }).waitFor();
  await turn("idle");
  await page.getByRole("button", { name: /make two no result/ }).waitFor();
});

browserTest("a long timeline scrolls below the head of its peer", async (lab) => {
  const said = (text: string) =>
    JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text }] } });
  const lines = Array.from({ length: 60 }, (_, at) => `${said(`Step ${at}`)}\n`);
  const peer_id = await peerIn(lab, lab.state, lines.join(""));
  const page = await lab.open(`#/peers/${peer_id}?tab=timeline`);
  const timeline = page.getByRole("region", { name: "Timeline" });
  await timeline.getByText("Step 59").waitFor();
  const hidden = await timeline.evaluate((box) => box.scrollHeight - box.clientHeight);
  assert.ok(hidden > 100, `${hidden} px are out of sight`);
});

browserTest("a folder without a repository teaches what to do", async (lab) => {
  const peer_id = await peerIn(lab, lab.state, readRecording("claude_code.jsonl"));
  const page = await lab.open(`#/peers/${peer_id}?tab=changes`);
  await page.getByText("Its folder is in no git repository").waitFor();
  await page.getByText("Run git init in the folder", { exact: false }).waitFor();
});

browserTest("a page that proves no person sees neither, and reads no counts", async (lab) => {
  using repo = new TestRepository();
  repo.commit();
  repo.write("a", "1\n");
  const peer_id = await peerIn(lab, repo.folder, readRecording("claude_code.jsonl"));
  const page = await lab.openPlain(`#/peers/${peer_id}?tab=timeline`);
  await page.getByText("it is not proven that a person looks at this page").waitFor();
  await page.getByRole("button", { name: "Changes" }).click();
  await page.getByText("proven", { exact: false }).first().waitFor();
  lab.forgive(/status of 403/);
  assert.equal(await page.locator(".peer .counts").count(), 0);
});
