/** Every command of the documents is parsed, and runs unless a mark says why not. */

import assert from "node:assert/strict";
import { messageOf } from "kit/core/text.ts";
import { parseLine, readGlobalOptions } from "../../../cli/command/line.ts";
import { COMMANDS } from "../../support/commands.ts";
import { readConfig } from "../../../daemon/app/config.ts";
import {
  type Block,
  blocksOf,
  indentedCode,
  meshCommands,
  readPage,
  scriptOf,
  stepsOf,
  userPages,
} from "../../support/documents/blocks.ts";
import { DocumentMesh } from "../../support/documents/document_mesh.ts";
import { comparable, matches } from "../../support/documents/output.ts";
import { withSampleIds } from "../../support/documents/sample_ids.ts";
import { TYPED } from "./recording.ts";

/** Reasons not to run a block with a mark, such as "```sh agent". Its commands are still parsed. */
const MARKS: Readonly<Record<string, string>> = {
  example: "its names stand for others; a reference page shows it",
  install: "it installs, updates or removes the program; tests/packaging/ does that",
  sources: "it needs the sources, and runs for long",
  agent: "it starts or needs a real coding agent; tests/e2e/agents/ has them",
  terminal: "it waits for keys, or until Ctrl-C",
  person: "it speaks as the human, which only a terminal of a person may",
  browser: "it opens a browser",
  service: "it changes the services of the machine",
  network: "it needs a relay or another host",
  program: "it starts a program of the reader",
};

/** The mark of a block that runs beside a tmux server with the panes %0 to %3. */
const WITH_PANES = "tmux";

const PAGES = userPages().map((page) => ({ page, blocks: blocksOf(page) }));
const placeOf = ({ page, line }: Block) => `${page}:${line}`;
const runs = ({ mark }: Block) => mark === "" || mark === WITH_PANES;
const isShell = ({ language }: Block) => language === "sh" || language === "console";

function parse(args: readonly string[]): void {
  const { args: known } = readGlobalOptions(COMMANDS, args, {});
  if (known.length > 0) parseLine(COMMANDS, known);
}

/** The commands of a block that the command line refuses. */
function refusedCommands(block: Block): string[] {
  const refused: string[] = [];
  for (const args of meshCommands(scriptOf(block))) {
    try {
      parse(args);
    } catch (error) {
      refused.push(`${placeOf(block)}: mesh ${args.join(" ")}: ${messageOf(error)}`);
    }
  }
  return refused;
}

const BROKEN: Block = {
  page: "docs/broken.md",
  line: 1,
  language: "sh",
  mark: "",
  text: 'A=1 mesh nothing && mesh peers --nothing\necho "$(mesh token --no)" # mesh comment\n',
};

Deno.test("every command in a block is one that the command line accepts", () => {
  const refused = PAGES.flatMap(({ blocks }) => blocks.filter(isShell).flatMap(refusedCommands));
  const typed: Block = { ...BROKEN, page: "the recording", text: TYPED.join("\n") };
  assert.deepEqual([...refused, ...refusedCommands(typed)], []);
  assert.equal(refusedCommands(BROKEN).length, 3);
});

Deno.test("every block has a language, and every mark a reason", () => {
  const wrong = PAGES.flatMap(({ page, blocks }) => [
    ...blocks.filter((block) => isShell(block) && !runs(block) && !(block.mark in MARKS)).map(
      placeOf,
    ),
    ...indentedCode(readPage(page)).map((line) => `${page}: ${line}`),
  ]);
  assert.deepEqual(wrong, []);
  assert.deepEqual(indentedCode("Text:\n\n    mesh peers\n\n- a\n    - b\n"), ["mesh peers"]);
});

Deno.test("every configuration in the documents is valid, and all JSON parses", () => {
  for (const block of PAGES.flatMap(({ blocks }) => blocks)) {
    if (block.language === "json") JSON.parse(block.text);
    if (block.language !== "yaml" || block.mark) continue;
    assert.doesNotThrow(() => readConfig({ HOME: "/home/sam" }, () => block.text), placeOf(block));
  }
});

for (const { page, blocks } of PAGES) {
  const scripts = blocks.filter((block) => isShell(block) && runs(block));
  if (scripts.length === 0) continue;
  Deno.test(`the commands of ${page} do what it says`, async () => {
    await using mesh = await DocumentMesh.start();
    for (const block of scripts) {
      if (block.mark === WITH_PANES && !await mesh.openPanes()) continue;
      await mesh.ready();
      if (block.language === "sh") {
        const script = await withSampleIds(mesh, block.text);
        const { code, out, err } = await mesh.run(script);
        assert.equal(code, 0, `${placeOf(block)}\n${script}\n${out}${err}`);
        continue;
      }
      for (const { command, output } of stepsOf(block.text)) {
        const { out, err } = await mesh.run(await withSampleIds(mesh, command));
        const printed = comparable(`${out}${err}`), expected = comparable(output);
        const found = `${placeOf(block)}\n$ ${command}\n${printed}\n--- expected\n${expected}`;
        assert.ok(matches(printed, expected), found);
      }
    }
  });
}
