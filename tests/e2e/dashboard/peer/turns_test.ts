/** The agents' own turns in the conversation, in a real browser with a real daemon. */

import assert from "node:assert/strict";
import { reportChat } from "protocol/peers/contract.ts";
import { choice, open } from "../../../support/dashboard/attention.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";

const CODE = "```ts\nconst port = 8080; // as agreed\n```";

browserTest("an agent's prompts and final messages stand in its conversation", async (lab) => {
  const { peer_id } = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${peer_id}`);
  await page.getByText("No messages yet").waitFor();
  const report = (role: "user" | "assistant", text: string, tool_calls: unknown[] = []) =>
    lab.call(reportChat, { body: { peer_id, role, text, tool_calls } });
  await report("user", "Which port?");
  await report("assistant", CODE, [{ name: "read", input: "<img src=x onerror=alert(1)>" }]);
  const conversation = page.getByRole("region", { name: "Conversation" });
  await conversation.getByText("prompt in its terminal").waitFor();
  await conversation.getByText("end of its turn").waitFor();
  assert.equal(await conversation.locator(".token-keyword").innerText(), "const");
  assert.equal(await conversation.locator("pre code").innerText(), CODE.split("\n")[1]);
  await conversation.getByText("1 tool call").click();
  await conversation.getByText("<img src=x onerror=alert(1)>").waitFor();
});

browserTest("a question shows the end of its asker's last turn, folded and inert", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  const { peer_id } = api;
  const early = Array.from({ length: 60 }, (_, line) => `line ${line}`).join("\n");
  const text = `${early}\n**two** tests fail \u202eerif\u202c <b>here</b>`;
  for (const [role, said] of [["assistant", text], ["user", "Go on"]] as const) {
    await lab.call(reportChat, { body: { peer_id, role, text: said, tool_calls: [] } });
  }
  const id = await open(api, choice("Mend them?"));
  const other = await open(web, choice("And me?"));
  const page = await lab.open();
  const context = page.locator(`#card-${id} details.context`);
  await context.getByText("The end of its last turn").waitFor();
  const lines = context.getByRole("region", { name: "Last lines of api" });
  await lines.waitFor({ state: "hidden" });
  await context.locator("summary").click();
  await lines.getByText("**two** tests fail ⟨U+202E⟩erif⟨U+202C⟩ <b>here</b>").waitFor();
  assert.match(await lines.innerText(), /^line 37\n/);
  assert.equal(await page.locator(`#card-${other} details.context`).count(), 0);
});
