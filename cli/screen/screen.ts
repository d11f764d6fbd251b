/** A view of the whole screen: draws the rows that changed, and gives the terminal back. */

import type { Clock } from "kit/core/clock.ts";
import { type Device, renderLine, type ScreenDevice, type ScreenSize } from "../output/terminal.ts";
import type { Line } from "./lines.ts";

/** A part of a row that begins at a column, counted from 0. */
export interface RowPart {
  readonly column: number;
  readonly line: Line;
}

/** One picture of the screen. Its lines are not longer than the screen is wide. */
export interface Frame {
  /** Each row is a line, or parts from left to right. */
  readonly rows: readonly (readonly RowPart[])[];
  /** The position of the cursor; undefined hides it. */
  readonly cursor: { readonly row: number; readonly column: number } | undefined;
  /** Time after which the frame is out of date even without an event. */
  readonly valid_ms: number | undefined;
}

/** At most 20 frames a second. */
const FRAME_MS_MIN = 50;

// The alternate screen, without automatic line breaks and with marks around pastes.
const ENTER = "\u001b[?1049h\u001b[?7l\u001b[?2004h\u001b[?25l";
const LEAVE = "\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l";
const CLEAR = "\u001b[H\u001b[2J";
/** Terminals that know it show all of a frame at once. */
const SYNC_START = "\u001b[?2026h";
const SYNC_END = "\u001b[?2026l";

export class Screen implements Disposable {
  readonly #device: Device;
  readonly #terminal: ScreenDevice;
  readonly #clock: Clock;
  readonly #render: (size: ScreenSize) => Frame;
  readonly #listeners: readonly Disposable[];
  #shown: readonly string[] = [];
  #cursor = "";
  #isEntered = false;
  #isLent = false;
  #drawnAt = -Infinity;
  #cancelTimer: (() => void) | undefined;
  #timerDue = Infinity;

  constructor(
    device: Device,
    terminal: ScreenDevice,
    clock: Clock,
    render: (size: ScreenSize) => Frame,
  ) {
    this.#device = device;
    this.#terminal = terminal;
    this.#clock = clock;
    this.#render = render;
    this.#enter();
    this.#listeners = [
      terminal.listen("SIGWINCH", () => this.#redraw()),
      terminal.listen("SIGTSTP", () => this.#suspend()),
      terminal.listen("SIGCONT", () => this.#enter()),
    ];
  }

  /** Draws soon. Calls within a frame's time become one frame. */
  invalidate(): void {
    this.#drawAt(this.#drawnAt + FRAME_MS_MIN);
  }

  /** Gives the terminal to other programs while `work` runs. */
  async lend<A>(work: () => Promise<A>): Promise<A> {
    this.#leave();
    this.#isLent = true;
    try {
      return await work();
    } finally {
      this.#isLent = false;
      this.#enter();
    }
  }

  [Symbol.dispose](): void {
    for (const listener of this.#listeners) listener[Symbol.dispose]();
    this.#leave();
  }

  #suspend(): void {
    this.#leave();
    this.#terminal.stop();
  }

  #enter(): void {
    if (this.#isLent) return;
    this.#terminal.setRaw(true);
    this.#isEntered = true;
    this.#device.out(ENTER);
    this.#redraw();
  }

  #leave(): void {
    this.#cancel();
    if (!this.#isEntered) return;
    this.#isEntered = false;
    this.#device.out(LEAVE);
    this.#terminal.setRaw(false);
  }

  /** Draws every row: the terminal may show anything. */
  #redraw(): void {
    this.#shown = [];
    this.#cursor = "";
    this.invalidate();
  }

  #drawAt(at: number): void {
    if (!this.#isEntered || at >= this.#timerDue) return;
    this.#cancel();
    this.#timerDue = at;
    this.#cancelTimer = this.#clock.setTimer(Math.max(0, at - this.#clock.monotonic()), () => {
      this.#timerDue = Infinity;
      this.#draw();
    });
  }

  #cancel(): void {
    this.#cancelTimer?.();
    this.#timerDue = Infinity;
  }

  #draw(): void {
    const size = this.#terminal.size();
    const frame = this.#render(size);
    this.#drawnAt = this.#clock.monotonic();
    const rows = Array.from({ length: size.rows }, (_, row) => this.#rowText(frame, row));
    const isNew = this.#shown.length !== rows.length;
    const changed = rows.flatMap((text, row) => isNew || text !== this.#shown[row] ? [text] : []);
    const cursor = frame.cursor
      ? `${moveTo(frame.cursor.row, frame.cursor.column)}\u001b[?25h`
      : "\u001b[?25l";
    if (changed.length > 0 || cursor !== this.#cursor) {
      const start = isNew ? SYNC_START + CLEAR : SYNC_START;
      this.#device.out(`${start}\u001b[?25l${changed.join("")}${cursor}${SYNC_END}`);
    }
    this.#shown = rows;
    this.#cursor = cursor;
    if (frame.valid_ms !== undefined) this.#drawAt(this.#drawnAt + frame.valid_ms);
  }

  /** Each part of a row is placed by itself, so that a misjudged width moves no other. */
  #rowText({ rows }: Frame, row: number): string {
    const parts = (rows[row] ?? []).map(({ column, line }) =>
      moveTo(row, column) + renderLine(line, this.#device)
    );
    return `${moveTo(row, 0)}\u001b[2K${parts.join("")}`;
  }
}

function moveTo(row: number, column: number): string {
  return `\u001b[${row + 1};${column + 1}H`;
}
