/**
 * The program that runs inside kitty for the daemon, a "kitten" without a window of its own, and
 * its answers. kitty runs it on the thread that draws and handles keys, so what it reads is of one
 * moment, and nothing comes between a comparison and what is typed.
 */

import * as z from "zod";
import { join } from "kit/core/path.ts";
import { messageOf } from "kit/core/text.ts";
import { type Answer, failure } from "../tmux/connection.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** A command for the kitten. */
export type Order =
  | {
    readonly do: "read";
    /** The window to read; null for all of them. */
    readonly window: number | null;
    /** True to read the screen as well. */
    readonly rows: boolean;
    /** Maximum number of rows to read above the screen. */
    readonly above: number;
  }
  | {
    readonly do: "type";
    readonly window: number;
    readonly pid: number;
    readonly foreground: number | null;
    readonly dialog: { readonly pattern: string; readonly row: number };
    /** A row, counted from 0, and its text; null if all rows may change. */
    readonly shown: { readonly row: number; readonly text: string } | null;
    readonly cursor: { readonly x: number; readonly y: number; readonly row: string } | null;
    readonly keys: readonly (
      | { readonly text: string }
      | { readonly paste: string }
      /** The name of a constant of kitty, or a letter. */
      | { readonly key: string; readonly shift: boolean; readonly control: boolean }
    )[];
  };

const KittyWindow = z.object({
  id: z.number().int(),
  pid: z.number().int(),
  /** The process group that reads the keys; null if the window is closing. */
  foreground: z.number().int().nullable(),
  columns: z.number().int(),
  lines: z.number().int(),
  x: z.number().int(),
  y: z.number().int(),
  cursor_shown: z.boolean(),
  tab: z.number().int(),
  cwd: z.string(),
  rows: z.array(z.string()).optional(),
  above: z.array(z.string()).optional(),
});
export type KittyWindow = z.output<typeof KittyWindow>;

export const KittyWindows = z.object({ windows: z.array(KittyWindow) });
export const TypedAnswer = z.object({ typed: z.enum(["done", "changed", "unmarked"]) });

/**
 * All that can fail comes before the one write, so after an error nothing was typed. The screen is
 * read as the program drew it, also while its user has scrolled up.
 */
const KITTEN = String
  .raw`"""Reads windows and types into them for the daemon of Agent Mesh."""
import json
import os
import re

from kittens.tui.handler import result_handler

COLOURS = re.compile(r'\x1b\[[\d;:]*m')
LINKS = re.compile(r'\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)')


def main(args):
    return ''


def foreground(window):
    try:
        return os.tcgetpgrp(window.child.child_fd)
    except (OSError, TypeError):
        return None


def row_of(line):
    return LINKS.sub('', line.as_ansi()).replace('\t', ' ')


def read(window, order):
    screen = window.screen
    found = {
        'id': window.id, 'pid': window.child.pid, 'foreground': foreground(window),
        'columns': screen.columns, 'lines': screen.lines,
        'x': screen.cursor.x, 'y': screen.cursor.y, 'cursor_shown': screen.cursor_visible,
        'tab': window.tab_id, 'cwd': window.child.current_cwd or window.child.cwd or '',
    }
    if order['rows']:
        found['rows'] = [row_of(screen.line(y)) for y in range(screen.lines)]
        kept = 0 if screen.is_using_alternate_linebuf() else screen.historybuf.count
        count = min(order['above'], kept)
        found['above'] = [row_of(screen.historybuf.line(y)) for y in reversed(range(count))]
    return found


def without_colours(row):
    return COLOURS.sub('', row).rstrip(' ')


def is_as_seen(window, order):
    screen = window.screen
    if window.child.pid != order['pid'] or foreground(window) != order['foreground']:
        return False
    rows = [without_colours(row_of(screen.line(y))) for y in range(screen.lines)]
    dialog = re.compile(order['dialog']['pattern'], re.IGNORECASE)
    first = next((y + 1 for y, row in enumerate(rows) if dialog.search(row)), 0)
    if first != order['dialog']['row']:
        return False
    shown = order['shown']
    if shown is not None and rows[shown['row']:shown['row'] + 1] != [shown['text'].rstrip(' ')]:
        return False
    cursor = order['cursor']
    if cursor is None:
        return True
    at = (screen.cursor.x, screen.cursor.y)
    return at == (cursor['x'], cursor['y']) and rows[at[1]] == cursor['row'].rstrip(' ')


def key_bytes(window, key):
    from kitty import fast_data_types as kitty
    code = ord(key['key']) if len(key['key']) == 1 else getattr(kitty, 'GLFW_FKEY_' + key['key'])
    mods = kitty.GLFW_MOD_SHIFT if key['shift'] else 0
    mods |= kitty.GLFW_MOD_CONTROL if key['control'] else 0
    return window.encoded_key(kitty.KeyEvent(key=code, mods=mods))


def keystroke_bytes(window, key):
    if 'key' in key:
        return key_bytes(window, key)
    if 'text' in key:
        return key['text'].encode('utf-8')
    text = key['paste'].replace('\x1b', '')
    if window.screen.in_bracketed_paste_mode:
        return b'\x1b[200~' + text.encode('utf-8') + b'\x1b[201~'
    return text.encode('utf-8')


def type_keys(window, order):
    if not is_as_seen(window, order):
        return 'changed'
    breaks_lines = any('\n' in key.get('paste', '') for key in order['keys'])
    if breaks_lines and not window.screen.in_bracketed_paste_mode:
        return 'unmarked'
    window.write_to_child(b''.join(keystroke_bytes(window, key) for key in order['keys']))
    return 'done'


@result_handler(no_ui=True)
def handle_result(args, answer, target_window_id, boss):
    order = json.loads(args[1])
    windows = [window for id, window in boss.window_id_map.items()
               if order['window'] is None or order['window'] == id]
    if order['do'] == 'read':
        return json.dumps({'windows': [read(window, order) for window in windows]})
    return json.dumps({'typed': type_keys(windows[0], order) if windows else 'changed'})
`;

/** The file from which kitty loads the program. */
export class KittenFile {
  readonly #folder: string;
  #isWritten = false;

  /** `folder` is private (0700): a program that can write there can make kitty run any program. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The path of the file, which is written at the first use, and again if it is gone. */
  path(): Answer<{ path: string }> {
    const path = join(this.#folder, "mesh_panes.py");
    try {
      const found = unlessMissing(() => Deno.lstatSync(path));
      if (!this.#isWritten || !found?.isFile) this.#write(path);
      return { ok: true, path };
    } catch (error) {
      return failure("no_file", `Cannot write ${path}: ${messageOf(error)}`);
    }
  }

  #write(path: string): void {
    const draft = `${path}.${Deno.pid}`;
    Deno.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(draft, KITTEN, { mode: 0o600 });
    Deno.renameSync(draft, path); // kitty may read the file at this moment.
    this.#isWritten = true;
  }
}
