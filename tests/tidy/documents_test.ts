/** The documents name only paths, links, tasks, commands and specifications that exist. */

import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { COMMANDS } from "../support/commands.ts";
import { sources } from "./sources.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDERS = ["", "docs", "docs/decisions", "docs/generated"];

interface Page {
  /** From the root of the repository, such as `docs/relay.md`. */
  readonly path: string;
  readonly text: string;
}

const PAGES: readonly Page[] = FOLDERS.flatMap((folder) =>
  [...Deno.readDirSync(join(ROOT, folder))].filter(({ name }) => name.endsWith(".md"))
    .map(({ name }) => join(folder, name))
).map((path) => ({ path, text: Deno.readTextFileSync(join(ROOT, path)) }));

function exists(path: string): boolean {
  try {
    Deno.statSync(join(ROOT, path));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-");
}

function hasAnchor(path: string, anchor: string): boolean {
  const headings = Deno.readTextFileSync(join(ROOT, path)).matchAll(/^#+ (.+)$/gm);
  return [...headings].some(([, heading = ""]) => anchorOf(heading) === anchor);
}

/** Links to pages of the hosting site lead out of the repository. */
const OUTSIDE = /^(?:https?:|\.\.\/\.\.\/security\/)/;

function brokenLinks({ path, text }: Page): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
    if (OUTSIDE.test(link)) return [];
    const [file = "", anchor] = link.split("#");
    const target = file ? normalize(join(dirname(path), file)) : path;
    const found = exists(target) && (anchor === undefined || hasAnchor(target, anchor));
    return found ? [] : [`${path}: ${link}`];
  });
}

const PATH =
  /`((?:kit|daemon|relay|cli|dashboard|packaging|tests|docs|\.ci|\.github)\/[^`\s*…{<]*|(?:main|cli)\.ts)`/g;
/** Written by a run of the bench. */
const GENERATED = ["tests/bench/out/"];

function missingPaths({ path, text }: Page): string[] {
  return [...text.matchAll(PATH)].map(([, named = ""]) => named)
    .filter((named) => !GENERATED.includes(named) && !exists(named))
    .map((named) => `${path}: ${named}`);
}

const { tasks } = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json"))) as {
  tasks: Record<string, string>;
};

function missingTasks({ path, text }: Page): string[] {
  return [...text.matchAll(/\bdeno(?:@\S+)? task ([a-z]+(?: \| [a-z]+)*)/g)]
    .flatMap(([, names = ""]) => names.split(" | "))
    .filter((name) => !(name in tasks)).map((name) => `${path}: deno task ${name}`);
}

/** `peer restart` for the usage `peer restart <peer>`, with its flags. */
const FLAGS = new Map(COMMANDS.flatMap(({ usage, flags, aliases = [] }) => {
  const words = usage.split(" ").filter((word) => /^[a-z]/.test(word));
  const long = Object.keys(flags ?? {}).flatMap((flag) => flag.match(/--[a-z-]+/g) ?? []);
  const names = [words.at(-1), ...aliases].map((last) => [...words.slice(0, -1), last].join(" "));
  return names.map((name) => [name, [...long, "--help", "--version"]] as const);
}));

/** The commands that a page shows: at a line's start in a block, or alone in backticks. */
const COMMAND =
  /(?:^ {4}|`|&& |main\.ts )(?:RELAY_HOST=\S+ )?(?:mesh )?(?<=mesh |main\.ts )([^`\n]+)/gm;

function wrongCommands({ path, text }: Page): string[] {
  return [...text.matchAll(COMMAND)].flatMap(([, line = ""]) => {
    const typed = line.split(/ (?:&&|#) | {2}/)[0] ?? "";
    const [first = "", second = ""] = typed.split(" ");
    if (first.startsWith("-") || first === "COMMAND") return [];
    const flags = FLAGS.get(`${first} ${second}`) ?? FLAGS.get(first);
    const isGroup = [...FLAGS.keys()].some((name) => name.startsWith(`${first} `));
    if (!flags) return isGroup && !second ? [] : [`${path}: mesh ${typed}`];
    return (typed.replaceAll(/"[^"]*"/g, "").match(/(?<= )--[a-z-]+/g) ?? [])
      .filter((flag) => !flags.includes(flag)).map((flag) => `${path}: mesh ${typed}: ${flag}`);
  });
}

/** Papers that a reader of the repository, of the help or of an error does not have. */
const FOREIGN_PAPER =
  /\b(?:spec|contract|style|architecture-spec|first-use)\.md\b|\.\.\/shared\b|\b(?:contract|spec|section|architecture) \d|\bspecification\b|\bissue #?\d/gi;

function foreignPaper({ path, text }: Page): string[] {
  return [...text.matchAll(FOREIGN_PAPER)].map(([found]) => `${path}: ${found}`);
}

/** Strings of the programs that name a page, which lies elsewhere on each machine. */
const PAGES_IN_CODE = sources().filter(({ path }) =>
  /^(?:cli|daemon|kit|protocol|relay|surfaces|tools)\//.test(path)
)
  .flatMap(({ path, code }) =>
    [...code.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([found]) => `${path}: ${found}`)
  );

/** Texts that people read and that are no pages: the help, and texts in the code. */
const TEXTS: readonly Page[] = [
  {
    path: "tests/golden/help.txt",
    text: Deno.readTextFileSync(join(ROOT, "tests/golden/help.txt")),
  },
  ...sources().filter(({ path }) => !path.startsWith("tests/"))
    .map(({ path, code }) => ({ path, text: code })),
];

const CODE = sources().filter(({ path }) => !path.startsWith("tests/"))
  .map(({ text }) => text).join("\n");

/** Texts in first columns that the program does not print; `…` stands for any text. */
function unknownSymptoms({ path, text }: Page): string[] {
  return [...text.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, symptom = ""]) => symptom)
    .filter((symptom) => !symptom.split("…").every((part) => CODE.includes(part.trim())))
    .map((symptom) => `${path}: ${symptom}`);
}

/** A page from its heading "Troubleshooting" on. */
function troubleshootingIn(path: string): Page {
  const { text } = PAGES.find((page) => page.path === path) ?? assert.fail(path);
  const at = text.search(/^##? Troubleshooting$/m);
  assert.notEqual(at, -1, path);
  return { path, text: text.slice(at) };
}

Deno.test("the program prints every text that troubleshooting lists", () => {
  const pages = ["docs/troubleshooting.md", "docs/machines.md"].map(troubleshootingIn);
  assert.deepEqual(pages.flatMap(unknownSymptoms), []);
  assert.equal(unknownSymptoms({ path: "", text: "| `No … such words at all` | x |" }).length, 1);
});

const BROKEN: Page = {
  path: "docs/broken.md",
  text: "[a](nowhere.md) [b](relay.md#no-such-heading) `kit/none.ts` `deno task none`\n" +
    "    mesh none\n    mesh peers --none\n" +
    "See contract 3 and spec.md, as the specification says.\n",
};

Deno.test("no page, help or error text cites a specification that its reader does not have", () => {
  assert.deepEqual([...[...PAGES, ...TEXTS].flatMap(foreignPaper), ...PAGES_IN_CODE], []);
  assert.equal(foreignPaper(BROKEN).length, 3);
});

for (
  const [name, rule, violations] of [
    ["every link of a document leads to a file and a heading", brokenLinks, 2],
    ["every path in a document exists", missingPaths, 1],
    ["every task in a document is in deno.json", missingTasks, 1],
    ["every command in a document exists, with its flags", wrongCommands, 2],
  ] as const
) {
  Deno.test(name, () => {
    assert.deepEqual(PAGES.flatMap(rule), []);
    assert.equal(rule(BROKEN).length, violations);
  });
}
