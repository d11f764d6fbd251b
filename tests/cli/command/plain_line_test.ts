/** The reader of plain command lines agrees with the parser, and leaves mistakes to it. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { parseLine } from "../../../cli/command/parser.ts";
import {
  type ParsedLine,
  readHelpRequest,
  readPlainLine,
} from "../../../cli/command/plain_line.ts";
import { findPlainMistake } from "../../../cli/command/plain_mistakes.ts";
import { HELP } from "../../../cli/commands/generated/help.ts";
import type { TableEntry } from "../../../cli/commands/modules.ts";
import { COMMANDS } from "../../support/commands.ts";

const SILENT = { out: () => {}, err: () => {} };

/** What a command can read of its line, by the names in its usage and its flags. */
function valuesOf({ command, args }: ParsedLine<TableEntry>) {
  const { usage, flags = {} } = command;
  const names = [...usage.matchAll(/[<[]([\w-]+)/g)].map(([, name = ""]) => name);
  const keys = Object.keys(flags).map((flag) =>
    (/--([a-z-]+)/.exec(flag)?.[1] ?? "").replaceAll(/-(.)/g, (_, one: string) => one.toUpperCase())
  );
  const read = [...names, ...keys].map((name) => ({
    name,
    text: args.get(name),
    all: args.list(name),
    flag: args.flag(name),
  }));
  return { usage, read };
}

const WORDS = [
  ...COMMANDS.flatMap(({ usage, aliases = [] }) => [
    ...usage.replace(/ ?[<[].*$/s, "").split(" "),
    ...aliases,
  ]),
  ...[
    "help",
    "version",
    "x",
    "two words",
    "",
    "-",
    "--",
    "-5",
    "-y",
    "--bogus",
    "--help",
    "--json=x",
    "ask-3f9c",
  ],
];

/** Generates a command's own words, followed by flags and values, some of them wrong. */
const line = fc.constantFrom(...COMMANDS).chain(({ usage, flags = {} }) => {
  const names = Object.keys(flags).map((flag) => /--[a-z-]+/.exec(flag)?.[0] ?? flag);
  const word = fc.oneof(
    fc.constantFrom(...WORDS),
    fc.constantFrom("x", "y z", ...names),
    fc.constantFrom("--json", ...names).map((name) => `${name}=given`),
  );
  const own = usage.replace(/ ?[<[].*$/s, "").split(" ");
  return fc.array(word, { maxLength: 5 }).map((words) => [...own, ...words]);
});

Deno.test("a plain line is read as the parser reads it", () => {
  fc.assert(
    fc.property(line, (words) => {
      const plain = readPlainLine(COMMANDS, words);
      if (!plain) return;
      const parsed = parseLine(COMMANDS, SILENT, words);
      assert.ok(parsed, words.join(" "));
      assert.deepEqual(valuesOf(plain), valuesOf(parsed));
    }),
    { numRuns: 1000 },
  );
});

Deno.test("common lines are plain, and the parser is not loaded for them", () => {
  const lines = [
    ["peers"],
    ["ls", "--circle", "main", "--json"],
    ["send", "api", "text", "--attach", "a", "--attach=b"],
    ["ask", "api", "text", "--wait", "--timeout", "2m"],
    ["inbox"],
    ["inbox", "done", "inbox-1"],
    ["job", "ls"],
    ["run", "--name", "n", "htop", "--help"],
    ["search", "two", "words"],
  ];
  for (const words of lines) assert.ok(readPlainLine(COMMANDS, words), words.join(" "));
});

Deno.test("a command with a flag that is on until it is turned off is left to the parser", () => {
  for (const words of [["peer", "restart", "api"], ["machines", "join", "tls://bus.test"]]) {
    assert.equal(readPlainLine(COMMANDS, words), undefined, words.join(" "));
  }
});

Deno.test("a plain mistake is the one that the parser finds", () => {
  const mistaken = fc.oneof(line, fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }));
  fc.assert(
    fc.property(mistaken, (words) => {
      if (readPlainLine(COMMANDS, words)) return;
      const mistake = findPlainMistake(COMMANDS, words);
      if (!mistake) return;
      const { message, hint } = mistake;
      assert.throws(() => parseLine(COMMANDS, SILENT, words), { message, hint });
    }),
    { numRuns: 1000 },
  );
});

Deno.test("common mistakes are plain, and the parser is not loaded for them", () => {
  const lines = [
    ["peeers"],
    ["kill", "api"],
    ["peers", "--jsn"],
    ["notify", "--form", "web", "api", "hello"],
    ["notify", "api"],
    ["inbox", "read"],
    ["peers", "extra"],
    ["peers", "--circle"],
  ];
  for (const words of lines) assert.ok(findPlainMistake(COMMANDS, words), words.join(" "));
});

Deno.test("a mistake and a rare form are not read as plain lines", () => {
  const lines = [
    ["bogus"],
    ["peer"],
    ["ask"],
    ["peers", "extra"],
    ["peers", "--bogus"],
    ["peers", "--json=x"],
    ["peers", "--circle"],
    ["inbox", "bogus"],
    ["ask", "api", "--", "-x"],
    ["setup", "-y"],
    ["peer", "restart", "api", "--no-wait"],
  ];
  for (const words of lines) {
    assert.equal(readPlainLine(COMMANDS, words), undefined, words.join(" "));
  }
});

Deno.test("a request for help prints what the parser prints", () => {
  const requests = [["--help"], ["help"], ["help", "send"], ["job", "ls", "-h"], [
    "peer",
    "--help",
  ]];
  for (const words of requests) {
    let printed = "";
    parseLine(COMMANDS, { out: (text) => printed += text, err: () => {} }, words);
    const asked = readHelpRequest(COMMANDS, words);
    assert.equal(HELP[asked?.join(" ") ?? "none"], printed, words.join(" "));
  }
  assert.equal(readHelpRequest(COMMANDS, ["run", "htop", "--help"]), undefined);
  assert.equal(readHelpRequest(COMMANDS, ["help", "bogus"]), undefined);
});
