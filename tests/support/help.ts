/** The help of every command as one text, for the golden file. */

import { ABOUT, COMMANDS } from "../../cli.ts";
import { parserOf } from "../../cli/command/command.ts";
import type { Terminal } from "../../cli/output/print.ts";

export function renderHelp(): string {
  let text = "";
  const out = (more: string) => void (text += more);
  const terminal: Terminal = {
    columns: undefined,
    colours: false,
    person: false,
    out,
    err: out,
    read: () => Promise.resolve(""),
  };
  const parser = parserOf(COMMANDS, { ...ABOUT, terminal }, () => Promise.resolve());
  parser.outputHelp();
  for (const command of parser.commands) {
    for (const one of [command, ...command.commands]) {
      if (!isHidden(one.name())) text += `\n${"─".repeat(40)}\n`, one.outputHelp();
    }
  }
  return text;
}

function isHidden(name: string): boolean {
  return COMMANDS.some(({ words, hidden }) => hidden && words.split(" ")[0] === name);
}
