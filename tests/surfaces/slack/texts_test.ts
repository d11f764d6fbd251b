/** Refs, texts and blocks of Slack, and the file of handled messages. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { toBlocks, toSummary } from "../../../surfaces/slack/blocks.ts";
import { isLater, timestampAt, toRef, toTimestamp } from "../../../surfaces/slack/timestamps.ts";
import { HANDLED_MAX, HandledMessages } from "../../../surfaces/slack/handled_messages.ts";
import { readSlackText } from "../../../surfaces/slack/incoming.ts";

const timestamp = fc.tuple(
  fc.integer({ min: 0, max: 9_999_999_999 }),
  fc.integer({ min: 0, max: 999_999 }),
)
  .map(([seconds, rest]) => `${seconds}.${String(rest).padStart(6, "0")}`);

Deno.test("a ref is a decimal number that keeps the order of timestamps and leads back to them", () => {
  assert.equal(toRef("1732112345.000200"), "1732112345000200");
  assert.equal(toTimestamp("1732112345000200"), "1732112345.000200");
  fc.assert(fc.property(timestamp, timestamp, (left, right) => {
    assert.equal(toTimestamp(toRef(left)), left);
    assert.match(toRef(left), /^(0|[1-9]\d*)$/);
    assert.equal(isLater(left, right), Number(toRef(left)) > Number(toRef(right)));
  }));
});

Deno.test("a ref that is not Slack's has no timestamp", () => {
  for (const ref of ["", "abc", "1.5", "-1", "9".repeat(19)]) {
    assert.equal(toTimestamp(ref), undefined, ref);
  }
});

Deno.test("an instant has a timestamp", () => {
  assert.equal(timestampAt(1_732_112_345_678), "1732112345.678000");
  assert.equal(timestampAt(-5), "0.000000");
});

// deno-fmt-ignore
const TEXTS = [
  ["a &lt;b&gt; &amp;amp; c",                    "a <b> &amp; c"              ],
  ["<https://a.test/x>",                         "https://a.test/x"           ],
  ["<http://a.test|a.test>",                     "a.test"                     ],
  ["<https://a.test/?a=1&amp;b=2|docs>",         "docs (https://a.test/?a=1&b=2)"],
  ["<mailto:a@b.test|a@b.test>",                 "a@b.test"                   ],
  ["<@U0123>",                                   "@U0123"                     ],
  ["<@U0123|sam>",                               "@sam"                       ],
  ["<#C0123|general> and <#C0124>",              "#general and #C0124"        ],
  ["<!here> <!subteam^S1|@ops>",                 "@here @ops"                 ],
  ["<!date^1^{date}|today>",                     "today"                      ],
  ["&lt;!everyone&gt;",                          "<!everyone>"                ],
  ["*bold* `code`",                              "*bold* `code`"              ],
] as const;

Deno.test("a person's text is read as typed", () => {
  for (const [slack, typed] of TEXTS) assert.equal(readSlackText(slack), typed, slack);
});

Deno.test("no text of an agent can mention anyone or make a link", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => {
    const hostile = `<!everyone> <@U1> ${text} <https://a.test|b> &lt;!here&gt;`;
    const summary = toSummary(hostile);
    assert.doesNotMatch(summary, /[<>]|&(?!amp;|lt;|gt;)/);
    const blocks = toBlocks({ text: hostile, block_id: "text.1", hasHead: false });
    const leaves = JSON.stringify(blocks).match(/"type":"[^"]+"/g);
    assert.deepEqual(leaves, ['"type":"rich_text"', '"type":"rich_text_section"', '"type":"text"']);
  }));
});

Deno.test("a summary is short and never empty", () => {
  assert.ok(toSummary("<".repeat(10_000)).length <= 300 * 4);
  assert.equal(toSummary(""), "…");
});

function memoryFile(text?: string) {
  const file = { text };
  return {
    read: () => file.text,
    write: (text: string) => void (file.text = text),
  };
}

Deno.test("handled messages are known to the next process, for the same channel only", () => {
  const file = memoryFile();
  const first = new HandledMessages(file, "D1", "100.000000");
  first.add("101.000000");
  const next = new HandledMessages(file, "D1", "500.000000");
  assert.deepEqual(["99.000000", "100.500000", "101.000000"].map((ts) => next.has(ts)), [
    true,
    false,
    true,
  ]);
  assert.ok(new HandledMessages(file, "D2", "500.000000").has("100.500000"));
});

Deno.test("a damaged file counts as none", () => {
  for (const text of ["", "{", "null", '{"channel":"D1","since":"x","handled":[]}']) {
    assert.equal(new HandledMessages(memoryFile(text), "D1", "5.000000").since, "5.000000");
  }
});

Deno.test("at most a thousand messages are kept; the oldest are known by their age", () => {
  const file = memoryFile();
  const handled = new HandledMessages(file, "D1", "0.000000");
  for (let at = 1; at <= HANDLED_MAX + 5; at++) handled.add(`${at}.000000`);
  assert.equal(handled.since, "5.000000");
  const again = new HandledMessages(file, "D1", "9999.000000");
  assert.ok(again.has("1.000000") && again.has(`${HANDLED_MAX + 5}.000000`));
  assert.ok(!again.has(`${HANDLED_MAX + 6}.000000`));
});
