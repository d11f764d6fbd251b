/** The output of commands as lines, for a view that shows them in a part of the screen. */

import { Args, type Command, type CommandContext } from "../command/command.ts";
import { reportError } from "../command/errors.ts";
import { type StyledText, Terminal, toPlainText } from "../output/terminal.ts";
import type { Line } from "../screen/lines.ts";

/** A terminal that keeps what is printed, with its styles. Hints to standard error are left out. */
class CollectedOutput extends Terminal {
  readonly lines: Line[] = [];
  readonly errors: string[] = [];

  constructor(columns: number) {
    super({
      columns,
      interactive: true,
      colours: false,
      progress: false,
      keys: undefined,
      screen: undefined,
      out: (text) => void this.lines.push([text]),
      err: (text) => void this.errors.push(text),
      read: () => Promise.resolve(""),
    });
  }

  override print(...segments: StyledText[]): void {
    this.lines.push(segments);
  }

  override printError(...segments: StyledText[]): void {
    this.errors.push(segments.map(toPlainText).join(""));
  }
}

/** The lines that a command prints at a terminal of this width. */
export async function outputOf(
  command: Pick<Command, "run">,
  values: Readonly<Record<string, string>>,
  context: CommandContext,
  columns: number,
): Promise<readonly Line[]> {
  const terminal = new CollectedOutput(columns);
  await command.run(context.with({ terminal }), new Args(new Map(Object.entries(values))));
  return terminal.lines;
}

/** An expected error in one line, with what to do; others are thrown again. */
export function lineOfError(error: unknown): string {
  const terminal = new CollectedOutput(Infinity);
  reportError(error, terminal, { json: false, command: undefined });
  return terminal.errors.map((line) => line.replace(/^mesh: /, "").trim()).join("; ");
}
