/** Texts of agents cannot make the page work long, whatever they contain. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type Part, partsOf } from "../../../../dashboard/components/text/limits.ts";

/** Less than what is parsed of one text, and at most what is parsed of one paragraph. */
const CHARS = 15_000;
const PARAGRAPH_CHARS = 3900;

/** A usual text, of which the page must show several at once. */
const YARDSTICK = ("A **bold** word, `code`, a [link](https://a.example) and plain text.\n\n" +
  "- one\n- two\n\n```ts\nconst a = 1;\n```\n\n").repeat(CHARS).slice(0, CHARS);
/** The page shows a text of this cost without a noticeable pause. */
const YARDSTICKS_MAX = 25;

function timeOf(text: string): number {
  const started = performance.now();
  partsOf(text);
  return performance.now() - started;
}

/** The shortest of some runs: other programs use the processor too. */
function leastTimeOf(text: string, enough = 0, runs = 5): number {
  let least = Infinity;
  for (let run = 0; run < runs && least > enough; run++) least = Math.min(least, timeOf(text));
  return least;
}

timeOf(YARDSTICK);
const BUDGET_MS = YARDSTICKS_MAX * Math.max(leastTimeOf(YARDSTICK), 0.5);

function mustBeCheap(text: string): void {
  const ms = leastTimeOf(text, BUDGET_MS);
  const start = JSON.stringify(text.slice(0, 60));
  assert.ok(ms <= BUDGET_MS, `${start}… took ${ms.toFixed(0)} ms of ${BUDGET_MS.toFixed(0)}`);
  assert.ok(sizeOf(partsOf(text)) <= 6000, `${start}… has too many parts`);
}

const sizeOf = (parts: readonly Part[]): number =>
  JSON.stringify(parts, (key, value) => key === "raw" || key === "text" ? undefined : value)
    .split('"type"').length;

const fill = (unit: string, chars = CHARS) =>
  unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars);

// deno-fmt-ignore
const UNITS = [
  "*a_", "__a_ ", "*a", "_a", "**a *", "a.a.", "http://a.b&a;", "* ", "- ", "1. ", "> ", "> - ", "[", "[a](",
  "![[", "~a~~", "~", "`a``", "<a ", "<", "<!--", "\\[", "a|", "|", "|-", "a@a.", "www.a", "[[[[a]]]]", "***a _b",
  "  - a\n", "[a]: ", "[a]: b\n", "&a;", "](", "`", "[^a", "```\n", "~~~a\n", "a\n=", "a\n-", "# ", "    a\n\n",
  "\n\n~", "a\n\n", "- [ ] ", "<div>\n", "| a |\n|-|\n", "*a_\n\n", "- a\n\n", "\n> *a_", "a\r", "\t", " ", "a  \n",
];

Deno.test("a repeated mark does not take longer than usual texts", () => {
  for (const unit of UNITS) {
    mustBeCheap(fill(unit));
    mustBeCheap(fill(`${fill(unit, PARAGRAPH_CHARS)}\n\nnext\n\n`));
    mustBeCheap(fill(`${unit.repeat(20)}\n\n`));
    mustBeCheap(fill(`${unit.repeat(60)}\n`));
  }
});

Deno.test("a table does not become larger than its text", () => {
  for (const columns of [3, 12, 39, 50, 300, 800]) {
    const head = `${"|a".repeat(columns)}|\n${"|-".repeat(columns)}|\n`;
    mustBeCheap(head + "a\n".repeat((CHARS - head.length) / 2));
    mustBeCheap(`> ${head.replaceAll("\n", "\n> ")}` + "a\n> ".repeat(CHARS / 5));
  }
});

Deno.test("no mixture of marks takes longer than usual texts", () => {
  const mixture = fc.array(fc.constantFrom(...UNITS, "a", "\n", "\n\n", "  "), {
    minLength: 1,
    maxLength: 8,
  });
  const repeated = fc.tuple(mixture, fc.nat(200), fc.constantFrom("", "\n", "\n\n", "\n- "));
  fc.assert(
    fc.property(fc.array(repeated, { minLength: 1, maxLength: 3 }), (parts) => {
      const text = parts.map(([units, times, end]) => units.join("").repeat(times + 1) + end);
      mustBeCheap(fill(text.join("")));
      mustBeCheap(fill(text.join(""), PARAGRAPH_CHARS));
    }),
    { numRuns: 300 },
  );
});

Deno.test("nested lists and quotes do not take longer than usual texts", () => {
  const deep = (mark: string) =>
    Array.from({ length: 400 }, (_, level) => `${" ".repeat(2 * (level % 15))}${mark}a`).join("\n");
  for (const mark of ["- ", "1. ", "> ", "- > "]) mustBeCheap(deep(mark).slice(0, CHARS));
});

Deno.test("usual texts are parsed, and only texts beyond a limit are plain", () => {
  assert.deepEqual(partsOf("**a**").map(({ type }) => type), ["parsed"]);
  const costly = "*a_".repeat(500);
  const parts = partsOf(`# Title\n\n\`\`\`sh\nrm *_*\n\n  ls\n\`\`\`\n${costly}`);
  assert.deepEqual(parts.map(({ type }) => type), ["parsed", "code", "plain"]);
  assert.deepEqual(parts[1], { type: "code", text: "rm *_*\n\n  ls", language: "sh" });
  assert.deepEqual(parts[2], { type: "plain", text: costly });
});

Deno.test("code that is fenced within a list keeps its indentation", () => {
  const parts = partsOf("1. Run\n   ```sh\n   a\n     b\n   ```\n2. Stop");
  assert.deepEqual(parts[1], { type: "code", text: "a\n  b", language: "sh" });
  assert.deepEqual(parts.map(({ type }) => type), ["parsed", "code", "parsed"]);
});

Deno.test("a text with more blocks of code than its budget has few parts with elements", () => {
  const parts = partsOf("```ts\nlet a;\n```\n".repeat(10_000));
  assert.equal(parts.filter(({ type }) => type === "code").length, 300);
  const long = partsOf(`\`\`\`ts\n${"let a;".repeat(1000)}\n\`\`\`\n`.repeat(5));
  const coloured = long.filter((part) => part.type === "code" && part.language === "ts");
  assert.equal(coloured.length, 2);
});
