/** The documents, their code blocks, and the commands in them. */

import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A fenced block: "```sh agent" has the language `sh` and the mark `agent`. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly mark: string;
  readonly text: string;
}

/** The pages that people read; pages about the repository itself are not among them. */
export function userPages(): string[] {
  const FOR_DEVELOPERS = [
    "docs/architecture.md",
    "docs/performance.md",
    "docs/generated/machines.md",
    "docs/generated/routes.md",
  ];
  const inFolder = (folder: string) =>
    [...Deno.readDirSync(ROOT + folder)].map(({ name }) => `${folder}/${name}`)
      .filter((page) => page.endsWith(".md") && !FOR_DEVELOPERS.includes(page));
  return ["README.md", ...inFolder("docs"), ...inFolder("docs/generated")].sort();
}

export function readPage(page: string): string {
  return Deno.readTextFileSync(ROOT + page);
}

export function blocksOf(page: string, text = readPage(page)): Block[] {
  const blocks: Block[] = [];
  const fence = /^( *)```([a-z]*) ?(.*)\n([\s\S]*?)^ *```$/gm;
  for (
    const { index, 1: indent = "", 2: language = "", 3: mark = "", 4: body = "" } of text.matchAll(
      fence,
    )
  ) {
    const line = text.slice(0, index).split("\n").length;
    const lines = body.split("\n").map((row) => row.slice(indent.length));
    blocks.push({ page, line, language, mark, text: lines.join("\n") });
  }
  return blocks;
}

/** Lines that Markdown shows as code without a fence, so that no language and no mark is known. */
export function indentedCode(text: string): string[] {
  const withoutFences = text.replaceAll(/^( *)```[\s\S]*?^ *```$/gm, "");
  return [...withoutFences.matchAll(/^\n {4}(?![ \-*\d]).+$/gm)].map(([line]) => line.trim());
}

/** A step of a `console` block: a command, and what it prints. */
export interface Step {
  readonly command: string;
  readonly output: string;
}

export function stepsOf(text: string): Step[] {
  return text.split(/^\$ /m).slice(1).map((part) => {
    const [command = "", ...output] = part.split("\n");
    return { command, output: output.join("\n").trim() };
  });
}

/** The shell text of a block. */
export function scriptOf({ language, text }: Block): string {
  return language === "console" ? stepsOf(text).map(({ command }) => command).join("\n") : text;
}

/** A word of a command line, a separator of commands, or a comment. */
const TOKEN =
  /[ \t]*(#.*|\\\n|&&|\|\||[|;&()\n]|\$\(|(?:"(?:\\.|[^"\\])*"|'[^']*'|<\(|\\.|[^\s"'|;&()])+)/gy;
const SEPARATOR = /^(?:&&|\|\||[|;&()\n]|\$\(|<\()$/;

/** The arguments of each `mesh` in a script, without the quotes. */
export function meshCommands(script: string): string[][] {
  const commands: string[][] = [[]];
  // A command in `$(…)`, also within double quotes, is a command of its own.
  const opened = script.replaceAll(/"([^"]*)\$\(([^)]*)\)([^"]*)"/g, '"$1$3" ; $2 ;');
  for (const [, token = ""] of opened.matchAll(TOKEN)) {
    if (token.startsWith("#") || token === "\\\n") continue;
    if (SEPARATOR.test(token)) commands.push([]);
    else commands.at(-1)?.push(token.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'/g, "$1$2"));
  }
  return commands.flatMap((words) => {
    const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
    return words[first] === "mesh" ? [words.slice(first + 1)] : [];
  });
}
