/** Hostile input: texts that parsers stumble over, and valid samples that were damaged. */

import fc from "fast-check";

const ESC = "\u001b";

/** Fragments with a meaning to some reader. */
const FRAGMENTS = [
  ...[
    "",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u007f",
    "\u0085",
    "\u2028",
    "\ufeff",
    "\ud800",
    "\udfff",
  ],
  ...["\u200d", "\u202e", "\u2066", "\u{e0041}", "👩‍💻", "ｗｉｄｅ", "é\u0301", "ﷺ", "ǅ", "İ", "ß"],
  ...[`${ESC}[`, `${ESC}[31m`, `${ESC}]0;title`, `${ESC}[200~`, `${ESC}(B`, `${ESC}P`, "\u009b1m"],
  ...[
    "[mesh] ",
    "[mesh] @sam → @api: ",
    '<peer-message id="',
    "</peer-message>",
    "&lt;",
    "%",
    "%00",
  ],
  ...["__proto__", "constructor", "toString", "null", "NaN", "-0", "1e999", "0x10", "9".repeat(40)],
  ...["../", "/etc/passwd", "~", "file:///", "http://[::1]", "javascript:", "'", '"', "`", "$(id)"],
  ...[
    "{",
    "}",
    "[",
    "]",
    "{{",
    "<<:",
    "!!js/function",
    "&a *a",
    "- ",
    ": ",
    "#",
    "---",
    "...",
    "|",
  ],
  ...[
    "❯",
    "›",
    "│",
    "─".repeat(40),
    "● ",
    "※",
    "%begin 1 1 1",
    "%end 1 1 1",
    "@route",
    "sam",
    "ѕаm",
  ],
  ..."/,;:.*?+^$\\=&<>()~@!".split(""),
];
const LONG = ["a", " ", "\n", "[", "{", "é", `${ESC}[7m`, "─", "9", "-", '{"a":', "%"];
const LONG_MAX = 20_000;

/** A piece of hostile text. */
export const fragment: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...FRAGMENTS) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
  { weight: 2, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)) },
);

/** A text of such pieces, at times a very long one. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.array(fragment, { maxLength: 8 }).map((parts) => parts.join("")) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...LONG), fc.nat(LONG_MAX), fragment)
      .map(([pump, length, tail]) => pump.repeat(length / pump.length) + tail),
  },
);

/** A sample that was cut, joined with another, or got something inserted, doubled or replaced. */
export function damagedText(samples: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.tuple(
    fc.nat(),
    fc.nat(40),
    fc.constantFrom("insert", "replace", "cut", "double"),
  );
  const edits = fc.array(fc.tuple(edit, fragment), { maxLength: 4 });
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...samples), edits).map(applyEdits) },
    { weight: 2, arbitrary: hostileText },
  );
}

type Edit = readonly [at: number, length: number, how: string];

function applyEdits([sample, edits]: [string, (readonly [Edit, string])[]]): string {
  return edits.reduce((text, [[position, length, how], piece]) => {
    const at = text.length === 0 ? 0 : position % (text.length + 1);
    const [head, middle, tail] = [
      text.slice(0, at),
      text.slice(at, at + length),
      text.slice(at + length),
    ];
    if (how === "insert") return head + piece + middle + tail;
    if (how === "replace") return head + piece + tail;
    return how === "cut" ? head + tail : head + middle + middle + tail;
  }, sample);
}

/** Any value that JSON can hold, with hostile texts and numbers. */
export const hostileJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  {
    weight: 3,
    arbitrary: fc.constantFrom(null, true, false, 0, -1, 0.5, 1e21, 2 ** 53, -(2 ** 63), [], {}, [
      [],
    ]),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.constant({ ["__proto__"]: { admin: true }, constructor: 1 }) },
  { weight: 1, arbitrary: fc.nat(300).map((depth) => nestedValue(depth)) },
);

function nestedValue(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** A record with some fields missing, of another type, or one too many. */
export function damagedRecord(
  sample: Readonly<Record<string, unknown>>,
  fields: readonly string[],
  value: fc.Arbitrary<unknown> = hostileJson,
): fc.Arbitrary<Record<string, unknown>> {
  const names = [...new Set([...Object.keys(sample), ...fields, "__proto__", "toPeer"])];
  const change = fc.tuple(
    fc.constantFrom(...names),
    fc.constantFrom("remove", "set", "set"),
    value,
  );
  return fc.array(change, { maxLength: 4 }).map((changes) => {
    const entries = new Map(Object.entries(sample));
    for (const [name, how, other] of changes) {
      if (how === "remove") entries.delete(name);
      else entries.set(name, other);
    }
    return Object.fromEntries(entries);
  });
}
