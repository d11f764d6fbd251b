/** The documents name only paths, links, tasks and commands that exist. */

import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { COMMANDS } from "../../cli.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDERS = ["", "docs", "docs/decisions"];

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
  /`((?:kit|daemon|relay|cli|dashboard|tests|docs|\.ci|\.github)\/[^`\s*…{<]*|(?:main|cli)\.ts)`/g;
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
const FLAGS = new Map(COMMANDS.map(({ usage, flags }) => {
  const name = usage.split(" ").filter((word) => /^[a-z]/.test(word)).join(" ");
  const long = Object.keys(flags ?? {}).flatMap((flag) => flag.match(/--[a-z-]+/g) ?? []);
  return [name, [...long, "--help", "--version"]];
}));

/** The commands that a page shows: at a line's start in a block, or alone in backticks. */
const COMMAND =
  /(?:^ {4}|`|&& |main\.ts )(?:RELAY_HOST=\S+ )?(?:mesh )?(?<=mesh |main\.ts )([^`\n]+)/gm;

function wrongCommands({ path, text }: Page): string[] {
  return [...text.matchAll(COMMAND)].flatMap(([, line = ""]) => {
    const typed = line.split(/ (?:&&|#) | {2}/)[0] ?? "";
    const [first = "", second = ""] = typed.split(" ");
    if (first.startsWith("-")) return [];
    const flags = FLAGS.get(`${first} ${second}`) ?? FLAGS.get(first);
    const isGroup = [...FLAGS.keys()].some((name) => name.startsWith(`${first} `));
    if (!flags) return isGroup && !second ? [] : [`${path}: mesh ${typed}`];
    return (typed.replaceAll(/"[^"]*"/g, "").match(/(?<= )--[a-z-]+/g) ?? [])
      .filter((flag) => !flags.includes(flag)).map((flag) => `${path}: mesh ${typed}: ${flag}`);
  });
}

const BROKEN: Page = {
  path: "docs/broken.md",
  text: "[a](nowhere.md) [b](relay.md#no-such-heading) `kit/none.ts` `deno task none`\n" +
    "    mesh none\n    mesh peers --none\n",
};

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
