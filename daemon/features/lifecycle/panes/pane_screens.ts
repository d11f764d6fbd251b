/** The screens of peers' panes, for people. Only a proved pane is shown. */

import { stripEscapes } from "../../agents/screens.ts";
import type { PaneScreen } from "protocol/lifecycle.ts";
import type { LifecycleDeps } from "../deps.ts";
import type { PaneProof } from "./pane_proof.ts";

/** tmux allows windows of 10,000 rows and columns; nobody reads that much at once. */
export const ROWS_MAX = 500;
/** A longer row loses its colours, and its text beyond `COLUMNS_MAX`. */
export const ROW_CHARS_MAX = 8_000;
export const COLUMNS_MAX = 1_000;

interface PaneScreensDeps extends Pick<LifecycleDeps, "paneObserver"> {
  readonly paneProof: PaneProof;
}

export class PaneScreens {
  readonly #deps: PaneScreensDeps;

  constructor(deps: PaneScreensDeps) {
    this.#deps = deps;
  }

  /**
   * The screen of the peer's pane. The pane is verified together with its screen, so that a pane
   * with a new program is not shown.
   */
  async show(peer_id: string): Promise<PaneScreen> {
    const { paneObserver, paneProof } = this.#deps;
    const peer = paneProof.mustHavePane(peer_id);
    const { pane_id, tmux_socket } = peer;
    const observed = await paneObserver.screen(tmux_socket, pane_id);
    const { pane, rows } = paneProof.mustBeProved(peer, observed);
    const { width, height, cursor_x: x, cursor_y: y, cursor_shown, in_mode } = pane;
    const cursor = cursor_shown ? { x, y } : null;
    return { peer_id, pane_id, width, height, cursor, in_mode, rows: limitRows(rows) };
  }
}

function limitRows(read: readonly string[]): string[] {
  return read.slice(0, ROWS_MAX).map((row) =>
    row.length > ROW_CHARS_MAX ? stripEscapes(row).slice(0, COLUMNS_MAX) : row
  );
}
