/** The interface of the terminal, which is a separate file that is loaded on demand. */

import type { Key } from "protocol/agents/contract.ts";

/** A screen as the daemon read it. */
export interface ScreenContent {
  /** From top to bottom; colours are escape sequences that hold until the next one. */
  readonly rows: readonly string[];
  readonly width: number;
  readonly height: number;
  readonly cursor: { readonly x: number; readonly y: number } | null;
}

/** The receiver of the keys that a person presses in the terminal. */
export interface TerminalInput {
  typed(keys: readonly Key[]): void;
  /** The person pressed the key that ends it. */
  leave(): void;
}

/** The limits between which the text fits the width. */
export interface FontSizes {
  readonly px_min: number;
  readonly px_max: number;
}

export interface TerminalView {
  show(screen: ScreenContent): void;
  setSizes(sizes: FontSizes): void;
  readonly font_px: number;
  /** Takes the focus and passes on each key until it is called without an input. */
  takeInput(input: TerminalInput | undefined): void;
  dispose(): void;
}

export interface TerminalPart {
  /** Shows a terminal in an element. Keys do nothing until `takeInput`. */
  openTerminal(host: HTMLElement): TerminalView;
}
