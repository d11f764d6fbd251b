/** Markdown of messages as styled lines for a terminal. */

import assert from "node:assert/strict";
import { markdownLine, markdownLines } from "../../../cli/output/markdown.ts";
import { renderLine, toPlainText } from "../../../cli/output/terminal.ts";

const plain = (text: string) => markdownLine(text).map(toPlainText).join("");

Deno.test("marks become styles, and their text stays", () => {
  // deno-fmt-ignore
  const cases: [text: string, shown: string][] = [
    ["**Bold** and `code`",            "Bold and code"],
    ["_it_, *it*, __b__ and ~~s~~",    "it, it, b and s"],
    ["## A **heading**",               "A heading"],
    ["it is *here*.",                  "it is here."],
    ["- one",                          "• one"],
    ["  * [x] done",                   "  ☑ done"],
    ["- [ ] open",                     "☐ open"],
    ["> quoted **text**",              "│ quoted text"],
    ["see [the page](https://a.b/c)",  "see the page (https://a.b/c)"],
    ["1. first",                       "1. first"],
    ["---",                            "───"],
    ["\\*no\\* \\`mark\\` \\[x\\](y)",   "*no* `mark` [x](y)"],
    ["C:\\dir\\new",                   "C:\\dir\\new"],
  ];
  for (const [text, shown] of cases) assert.equal(plain(text), shown, text);
  const styles = markdownLine("**b** `c`").map((part) => typeof part === "object" && part.style);
  assert.deepEqual(styles, ["bold", false, "cyan"]);
});

Deno.test("what is no mark stays as it is", () => {
  const texts = [
    "2 * 3 * 4",
    "snake_case_name",
    "a*b*c",
    "__init__.py",
    "#5 is open",
    "-1",
    "**",
    "`",
  ];
  for (const text of texts) assert.equal(plain(text), text);
});

Deno.test("a code block keeps its text without the fences, and marks in it stay", () => {
  const lines = markdownLines("Run:\n```sh\nrm **/*.log\n```\n- then");
  assert.deepEqual(lines.map((line) => line.map(toPlainText).join("")), [
    ...["Run:", "  rm **/*.log", "• then"],
  ]);
});

Deno.test("escape sequences in marks do not reach the terminal", () => {
  const line = markdownLine("**\u001b[31mred** `\u001b]0;t\u0007x` [\u001b[2J](\u001b[H)");
  assert.doesNotMatch(renderLine(line, { colours: false }), /\p{Cc}/u);
});

Deno.test("the marks of a very long line are left as they are", () => {
  for (const text of ["__a.".repeat(50_000), "**a** ".repeat(400)]) {
    assert.deepEqual(markdownLine(text), [text]);
  }
  assert.notDeepEqual(markdownLine("**a** ".repeat(300)).length, 1);
});
