/** An agent's session between its messages, and its tokens, in a real browser. */

import { registerPeer } from "protocol/peers/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { readRecording } from "../../../support/sessions/recorded_sessions.ts";

const ID = "11111111-2222-4333-8444-555555555555";

/** A Claude Code with a recorded session, in the home of the daemon's user. */
async function recordedPeer(lab: DashboardLab): Promise<string> {
  const folder = `${lab.state}/.claude/projects/-home-sam-api`;
  Deno.mkdirSync(folder, { recursive: true });
  Deno.writeTextFileSync(`${folder}/${ID}.jsonl`, readRecording("claude_code.jsonl"));
  const { peer_id } = await lab.call(registerPeer, {
    body: { name: "api", path: "/home/sam/api", backend: "claude-code", runtime_session_id: ID },
  });
  return peer_id;
}

browserTest("a person sees prompts, texts and tool calls of an agent's session", async (lab) => {
  const peer_id = await recordedPeer(lab);
  await lab.call(notifyPeer, { body: { from_peer: "cli", to_peer: peer_id, text: "A note" } });
  const page = await lab.open(`#/peers/${peer_id}`);
  const conversation = page.getByRole("region", { name: "Conversation" });
  await conversation.getByText("The notes say hello.", { exact: true }).waitFor();
  await conversation.getByText("A note").waitFor();
  await conversation.getByText("prompt in its session").first().waitFor();
  await conversation.getByText("called Bash").first().click();
  await conversation.getByText("echo hi; cat notes.txt", { exact: false }).first().waitFor();
  await page.goto(`${lab.daemon.base}/dashboard#/peers/${peer_id}?tab=evidence`);
  await page.getByText("400 in, 0 of it cached, 80 out").waitFor();
});

browserTest("a page that proves no person says why it shows nothing of a session", async (lab) => {
  const peer_id = await recordedPeer(lab);
  const page = await lab.openPlain(`#/peers/${peer_id}`);
  await page.getByText("it is not proven that a person looks at this page").waitFor();
  lab.forgive(/status of 403/);
  await page.getByText("No messages yet").waitFor();
});
