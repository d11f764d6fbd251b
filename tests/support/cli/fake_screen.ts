/** A terminal for tests of full-screen views: it keeps what is written as rows of text. */

import type { Device, ScreenSignal, ScreenSize } from "../../../cli/output/terminal.ts";

/** Sequences that move the cursor, erase or set a mode, and the text between. */
// deno-lint-ignore no-control-regex -- It matches escape sequences.
const PARTS = /\x1b\[([?0-9;]*)([A-Za-z])|([^\x1b]+)/g;

export class FakeScreen {
  size: ScreenSize;
  readonly #rows: string[] = [];
  readonly #listeners = new Map<ScreenSignal, Set<() => void>>();
  /** Everything that was written since the last `take`. */
  written = "";
  isRaw = false;
  isAlternate = false;
  isCursorShown = true;
  stops = 0;
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.size = { columns, rows };
  }

  /** The parts of a device that draw on this screen. */
  get device(): Pick<Device, "out" | "screen" | "columns"> {
    return {
      columns: this.size.columns,
      out: (text) => this.#write(text),
      screen: {
        size: () => this.size,
        setRaw: (on) => void (this.isRaw = on),
        listen: (signal, listener) => {
          const listeners = this.#listeners.getOrInsertComputed(signal, () => new Set());
          listeners.add(listener);
          return { [Symbol.dispose]: () => void listeners.delete(listener) };
        },
        stop: () => void this.stops++,
      },
    };
  }

  raise(signal: ScreenSignal): void {
    for (const listener of this.#listeners.get(signal) ?? []) listener();
  }

  get listenerCount(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  get text(): string {
    return this.#rows.map((row) => row.trimEnd()).join("\n").trimEnd();
  }

  take(): string {
    const { written } = this;
    this.written = "";
    return written;
  }

  #write(text: string): void {
    this.written += text;
    for (const [, given = "", command, printed] of text.matchAll(PARTS)) {
      if (printed !== undefined) this.#print(printed);
      else if (command === "H") this.#move(given);
      else if (command === "J") this.#rows.length = 0;
      else if (command === "K") this.#rows[this.#row] = "";
      else if (given === "?1049") this.isAlternate = command === "h";
      else if (given === "?25") this.isCursorShown = command === "h";
    }
  }

  #move(given: string): void {
    const [row = 1, column = 1] = given === "" ? [] : given.split(";").map(Number);
    [this.#row, this.#column] = [row - 1, column - 1];
  }

  /** Counts each character as one cell: tests of wide ones look at what was written. */
  #print(text: string): void {
    for (let row = this.#rows.length; row <= this.#row; row++) this.#rows.push("");
    const before = (this.#rows[this.#row] ?? "").padEnd(this.#column);
    this.#rows[this.#row] = before.slice(0, this.#column) + text +
      before.slice(this.#column + text.length);
    this.#column += text.length;
  }
}
