/** The output of a command as styled lines, for a view of the whole screen. */

import { markdownLines } from "../output/markdown.ts";
import type { Line } from "./lines.ts";
import { type StyledText, Terminal, toPlainText } from "../output/terminal.ts";

/** A terminal that keeps what is printed, with its styles. Hints to standard error are left out. */
export class CollectedOutput extends Terminal {
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

  /** Shows the marks of a message as styles. */
  override printMessage(text: string): void {
    this.lines.push(...markdownLines(text));
  }
}
