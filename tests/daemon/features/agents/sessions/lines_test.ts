import assert from "node:assert/strict";
import { BackwardLines } from "../../../../../daemon/features/agents/sessions/lines.ts";
import {
  entriesOf,
  MessageRecords,
} from "../../../../../daemon/features/agents/gemini/messages.ts";
import { endOf, pageOf } from "../../../../../daemon/features/agents/sessions/pages.ts";
import {
  ENTRY_CHARS_MAX,
  type SessionPage,
} from "../../../../../daemon/features/agents/sessions/session_files.ts";
import { SessionsFolder } from "../../../../support/sessions/recorded_sessions.ts";

function withFile(text: string) {
  const folder = new SessionsFolder();
  const file = folder.write("session.jsonl", text);
  return { file, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const textsOf = (lines: BackwardLines) => Array.from(lines, ({ text }) => text);

Deno.test("lines are read from the end, across the parts in which a file is read", () => {
  const lines = Array.from({ length: 900 }, (_, index) => `${index} ${"é".repeat(index)}`);
  using at = withFile(`${lines.join("\n")}\n`);
  const source = new BackwardLines(at.file);
  assert.deepEqual(textsOf(source), lines.toReversed());
  assert.equal(source.unread, 0);
});

Deno.test("a read stops at its number of bytes, and names where the next one begins", () => {
  using at = withFile("first\nsecond\nthird\n");
  const source = new BackwardLines(at.file, Infinity, 10);
  assert.deepEqual(textsOf(source), ["third"]);
  assert.deepEqual(textsOf(new BackwardLines(at.file, source.unread)), ["second", "first"]);
});

Deno.test("a line that is longer than a read is passed over, and the lines before it are read", () => {
  using at = withFile(`first\n${"x".repeat(100)}\nlast\n`);
  const seen: string[] = [];
  let end = Infinity;
  for (let reads = 0; reads < 20 && end > 0; reads++) {
    const source = new BackwardLines(at.file, end, 30);
    seen.push(...textsOf(source));
    assert(source.unread < end, "each read gets further");
    end = source.unread;
  }
  assert.equal(end, 0);
  assert.equal(seen[0], "last");
  assert.equal(seen.at(-1), "first");
});

Deno.test("a missing file and an empty file have no lines", () => {
  using at = withFile("");
  for (const file of [at.file, `${at.file}.missing`]) {
    const source = new BackwardLines(file);
    assert.deepEqual([textsOf(source), source.unread], [[], 0]);
  }
});

Deno.test("pages of any size join to the whole, also within a record of several entries", async () => {
  const lines = Array.from({ length: 40 }, (_, index) => `a${index} b${index} c${index}`);
  using at = withFile(lines.join("\n"));
  const read = (entries_max: number, bytes_max: number, before?: number): Promise<SessionPage> =>
    pageOf(
      new BackwardLines(at.file, endOf(before), bytes_max),
      ({ text }) => text.split(" ").map((word) => ({ at: null, kind: "text", text: word })),
      { entries_max, before },
    );
  for (
    const [entries_max, bytes_max] of [[1, 99], [2, 14], [4, 40], [7, 1_000], [500, 14]] as const
  ) {
    const words: string[] = [];
    let before: number | null | undefined;
    do {
      const page: SessionPage = await read(entries_max, bytes_max, before ?? undefined);
      assert(page.entries.length <= entries_max);
      words.unshift(...page.entries.map(({ text }) => text));
      assert(
        page.before === null || before === undefined || before === null || page.before < before,
      );
      before = page.before;
    } while (before !== null);
    assert.deepEqual(words, lines.flatMap((line) => line.split(" ")), `${entries_max}`);
  }
});

Deno.test("an entry keeps its first characters, and says how many there were", async () => {
  using at = withFile("x".repeat(ENTRY_CHARS_MAX + 5));
  const page = await pageOf(
    new BackwardLines(at.file),
    ({ text }) => [{ at: null, kind: "text", text }],
    { entries_max: 1 },
  );
  const [entry] = page.entries;
  assert.deepEqual([entry?.text.length, entry?.chars], [ENTRY_CHARS_MAX, ENTRY_CHARS_MAX + 5]);
});

Deno.test("the records before the last part of a long file of Gemini CLI are reported as cut", async () => {
  const lines = Array.from(
    { length: 20 },
    (_, index) =>
      JSON.stringify({
        id: `m${index}`,
        timestamp: null,
        type: "user",
        content: `prompt ${index}`,
      }),
  );
  using at = withFile(lines.join("\n"));
  const read = (before?: number) =>
    pageOf(new MessageRecords(new BackwardLines(at.file, Infinity, 400)), entriesOf, {
      entries_max: 50,
      before,
    });
  const last = await read();
  assert.equal(last.entries.at(-1)?.text, "prompt 19");
  assert(last.before !== null && !last.isCut && last.entries.length < 20);
  assert.deepEqual(await read(last.before), { entries: [], before: null, isCut: true });
  const whole = await pageOf(new MessageRecords(new BackwardLines(at.file)), entriesOf, {
    entries_max: 50,
  });
  assert.deepEqual([whole.entries.length, whole.before, whole.isCut], [20, null, false]);
});
