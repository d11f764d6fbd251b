/** The files that tool calls of the five agents name. */

import assert from "node:assert/strict";
import { filesIn } from "../../../../daemon/features/agents/sessions/touched.ts";

const touched = (tool: string, input: unknown) => {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return filesIn({ kind: "tool_call", tool, text })
    .map(({ path, wrote }) => `${wrote ? "w" : "r"} ${path}`);
};

Deno.test("each agent's tools name the files that they read and write", () => {
  const patch = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** Add File: b c.ts\n+x";
  const cases: [string, unknown, string[]][] = [
    ["Read", { file_path: "/a/b.ts" }, ["r /a/b.ts"]],
    ["Write", { file_path: '/a/"b".ts', content: "file_path" }, ['w /a/"b".ts']],
    ["NotebookEdit", { notebook_path: "n.ipynb" }, ["w n.ipynb"]],
    ["apply_patch", { input: patch }, ["w src/a.ts", "w b c.ts"]],
    ["exec_command", { cmd: "cd x && sed -n '1,80p' src/a.ts | head" }, ["r src/a.ts"]],
    ["shell", { command: ["bash", "-lc", "cat README.md src/b.ts"] }, [
      "r README.md",
      "r src/b.ts",
    ]],
    ["shell", { command: ["apply_patch", patch] }, ["w src/a.ts", "w b c.ts"]],
    ["replace", { file_path: "/a/c.ts", old_string: "x", new_string: "y" }, ["w /a/c.ts"]],
    ["read_file", { absolute_path: "/a/c.ts" }, ["r /a/c.ts"]],
    ["edit", { filePath: "/a/d.ts" }, ["w /a/d.ts"]],
    ["str_replace_editor", { command: "view", path: "/a/e.ts" }, ["r /a/e.ts"]],
    ["str_replace_editor", { command: "create", path: "/a/e.ts" }, ["w /a/e.ts"]],
    ["Grep", { pattern: "x", path: "/a" }, []],
    ["exec_command", { cmd: "rm -rf build; cat" }, []],
    ["Write", '{"file_path":"/a/cut.ts","content":"never en', ["w /a/cut.ts"]],
  ];
  for (const [tool, input, expected] of cases) {
    assert.deepEqual(touched(tool, input), expected, `${tool} ${JSON.stringify(input)}`);
  }
  assert.deepEqual(filesIn({ kind: "prompt", tool: null, text: '"path": "/a"' }), []);
});
