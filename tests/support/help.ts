/** The help of every command as one text, for the golden file. */

import { buildParser } from "../../cli/command/parser.ts";
import { COMMANDS } from "./commands.ts";
import type { Device } from "../../cli/output/terminal.ts";

export function renderHelp(): string {
  let text = "";
  const out = (more: string) => void (text += more);
  const device: Device = {
    columns: undefined,
    colours: false,
    interactive: false,
    progress: false,
    keys: undefined,
    screen: undefined,
    out,
    err: out,
    read: () => Promise.resolve(""),
  };
  const parser = buildParser(COMMANDS, device, () => {});
  parser.outputHelp();
  for (const command of parser.commands) {
    for (const entry of [command, ...command.commands]) {
      if (!isUnreadable(entry.name())) text += `\n${"─".repeat(40)}\n`, entry.outputHelp();
    }
  }
  return text;
}

function isUnreadable(name: string): boolean {
  return COMMANDS.some(({ usage, hidden }) => hidden && usage.split(" ")[0] === name);
}
