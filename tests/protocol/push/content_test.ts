/** The texts of pushes. */

import assert from "node:assert/strict";
import { actOf } from "protocol/derived/acts/act.ts";
import { contentOf } from "protocol/push/content.ts";

function permission(command: string) {
  const input = { command };
  const act = actOf({ tool: "Bash", input, folder: "/work" }, () => ({ text: null }));
  const text = `@api wants to use Bash: command: ${JSON.stringify(command)}`;
  return contentOf({
    kind: "ask",
    from: "api",
    text,
    attachments: [],
    question: {
      kind: "choice",
      prompt: text,
      options: [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }],
      scope: "tool_permission",
      blocking: true,
      timeout_seconds: 300,
      metadata: { tool_input: JSON.stringify(input, null, 2) },
      act: { ...act, covers_text: true },
    },
  });
}

Deno.test("a permission is titled by its act, and has buttons while all of it is shown", () => {
  const { title, body, actions } = permission("git push");
  assert.equal(title, "api: Run: git push");
  assert.match(body, /git push/);
  assert.deepEqual(actions.map(({ title }) => title), ["Allow", "Deny"]);
  const long = permission(`git push ${"x".repeat(300)} && rm -rf ~`);
  assert.equal(long.actions.length, 0);
  assert.ok(long.title.length <= 81);
});
