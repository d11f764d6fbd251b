/** Command lines: what a command gets of its line, and what is said of a mistake. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { UsageError } from "../../../cli/client/failures.ts";
import type { Args } from "../../../cli/command/command.ts";
import { parseLine } from "../../../cli/command/line.ts";
import { HELP } from "../../../cli/commands/generated/help.ts";
import { COMMANDS } from "../../support/commands.ts";

function readArgs(words: readonly string[]): { usage: string; args: Args } {
  const read = parseLine(COMMANDS, words);
  assert.ok(!("help" in read), words.join(" "));
  return { usage: read.command.usage, args: read.args };
}

const WORDS = [
  ...COMMANDS.flatMap(({ usage, aliases = [] }) => [
    ...usage.replace(/ ?[<[].*$/s, "").split(" "),
    ...aliases,
  ]),
  ...["help", "version", "x", "two words", "", "-", "--", "-5", "-y", "--bogus", "--help"],
  ...["--json=x", "ask-3f9c"],
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

Deno.test("a line is read, asks for a help that exists, or is refused with what to do", () => {
  const any = fc.oneof(line, fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }));
  fc.assert(
    fc.property(any, (words) => {
      try {
        const read = parseLine(COMMANDS, words);
        if ("help" in read) assert.ok(HELP[read.help.join(" ")], words.join(" "));
        else assert.ok(COMMANDS.includes(read.command), words.join(" "));
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        assert.match(`${error.message}\n${error.hint}`, /mesh /);
      }
    }),
    { numRuns: 1000 },
  );
});

Deno.test("a missing, an unknown and a superfluous word are found in any command", () => {
  fc.assert(
    fc.property(fc.constantFrom(...COMMANDS), ({ usage, takesProgram }) => {
      const own = usage.replace(/ ?[<[].*$/s, "").split(" ");
      const needed = [...usage.matchAll(/<[^>]+>/g)].map(() => "x");
      const { args } = readArgs([...own, ...needed]);
      for (const [, name = ""] of usage.matchAll(/<([^<>.]+)/g)) assert.equal(args.text(name), "x");
      if (needed.length > 0) {
        assert.throws(() => parseLine(COMMANDS, [...own, ...needed.slice(1)]), UsageError);
      }
      if (takesProgram || usage.endsWith("...]") || usage.endsWith("...>")) return;
      const given = [...usage.matchAll(/[<[]/g)].map(() => "x");
      assert.throws(() => parseLine(COMMANDS, [...own, ...given, "more"]), UsageError);
    }),
  );
});

// deno-fmt-ignore
const READ: readonly [words: string[], usage: string, values: Record<string, unknown>][] = [
  [["ls", "--circle", "main", "--json"], "peers", { circle: "main", json: true }],
  [["send", "api", "text", "--attach", "a", "--attach=b"], "notify <peer> <text>", { text: "text", attach: ["a", "b"] }],
  [["ask", "api", "--timeout", "-2m", "text"], "ask <peer> [text]", { timeout: "-2m", text: "text" }],
  [["ask", "api", "--", "--json"], "ask <peer> [text]", { text: "--json", json: false }],
  [["ask", "api", "-5.5"], "ask <peer> [text]", { text: "-5.5" }],
  [["ask", "api", "-"], "ask <peer> [text]", { text: "-" }],
  [["inbox", "--json", "read", "inb-1"], "inbox read [id...]", { id: ["inb-1"], json: true }],
  [["inbox", "--", "read", "inb-1"], "inbox read [id...]", { id: ["inb-1"] }],
  [["job", "ls"], "jobs list", {}],
  [["search", "two", "words"], "search [query...]", { query: "two words" }],
  [["run", "--name", "n", "htop", "--help", "--"], "run <program> [args...]", { name: "n", program: "htop", args: "--help --" }],
  [["uninstall", "-y"], "uninstall", { yes: true }],
  [["peer", "restart", "api"], "peer restart <peer>", { wait: true }],
  [["peer", "restart", "api", "--no-wait"], "peer restart <peer>", { wait: false }],
];

Deno.test("a command gets its arguments and flags", () => {
  for (const [words, usage, values] of READ) {
    const read = readArgs(words);
    assert.equal(read.usage, usage, words.join(" "));
    for (const [name, value] of Object.entries(values)) {
      const { args } = read;
      const found = typeof value === "boolean"
        ? args.flag(name)
        : Array.isArray(value)
        ? args.list(name)
        : args.get(name);
      assert.deepEqual(found, value, `${words.join(" ")}: ${name}`);
    }
  }
});

const ALL = "All commands: mesh --help";

function usage(path: string, args: string): string {
  return `Usage: ${path} ${args}\nMore: ${path} --help`;
}

// deno-fmt-ignore
const MISTAKES: readonly [words: string[], message: string, hint: string | undefined][] = [
  [["peeers"], "Unknown command: mesh peeers", `Did you mean: mesh peers\n${ALL}`],
  [["kill", "api"], "Unknown command: mesh kill", `Try: mesh peer kill PEER\n${ALL}`],
  [["help", "bogus-word"], "Unknown command: mesh bogus-word", ALL],
  [["inbox", "raed"], "Unknown command: mesh inbox raed", "Did you mean: mesh inbox read\nAllowed: list, ls, show, read, done, unread, snooze, reply, answer, watch"],
  [["share", "api", "lst"], "Unknown command: mesh share lst", "Did you mean: mesh share list\nAllowed: list, revoke, delete, rm"],
  [["surface"], "mesh surface needs another word: telegram, slack", undefined],
  [["--jsn", "peers"], "unknown option '--jsn'", usage("mesh", "[options] [command]")],
  [["peers", "--jsn"], "unknown option '--jsn'. Did you mean --json?", usage("mesh peers", "[options]")],
  [["peers", "--json=x"], "unknown option '--json=x'. Did you mean --json?", usage("mesh peers", "[options]")],
  [["peers", "-5"], "too many arguments for 'peers'. Expected 0 arguments but got 1: -5.", usage("mesh peers", "[options]")],
  [["peers", "--circle"], "option '--circle <name>' argument missing", usage("mesh peers", "[options]")],
  [["notify"], "missing required argument 'peer'", usage("mesh notify", "[options] <peer> <text>")],
  [["share"], "missing required argument 'peer'", usage("mesh share", "[options] [command] <peer>")],
];

Deno.test("a mistake is refused with what to type instead", () => {
  for (const [words, message, hint] of MISTAKES) {
    assert.throws(() => parseLine(COMMANDS, words), { message, hint }, words.join(" "));
  }
});

Deno.test("help is asked for before or behind a command, but not behind a program", () => {
  const requests: readonly [words: string[], help: string][] = [
    [["--help"], ""],
    [["help"], ""],
    [["help", "send"], "notify"],
    [["job", "ls", "-h"], "jobs list"],
    [["peer", "--help"], "peer"],
    [["ask", "api", "--help", "text"], "ask"],
  ];
  for (const [words, help] of requests) {
    const read = parseLine(COMMANDS, words);
    assert.equal("help" in read && read.help.join(" "), help, words.join(" "));
  }
  assert.ok(!("help" in parseLine(COMMANDS, ["run", "htop", "--help"])));
});
