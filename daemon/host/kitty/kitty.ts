/** kitty processes as terminal servers: their windows are panes. */

import { commandOf } from "../processes.ts";
import { ExclusiveWork } from "kit/core/exclusive.ts";
import { isControlKey, type KeyName, type Keystroke } from "protocol/agents/keys.ts";
import type {
  PaneGuard,
  PreparedKeys,
  SeenScreen,
  TerminalServer,
  TerminalServers,
  TypeResult,
} from "../terminal_server.ts";
import { type Answer, type Failure, failure, type Result } from "../tmux/connection.ts";
import type { Pane } from "../tmux/pane.ts";
import { PaneCache } from "../tmux/pane_cache.ts";
import { checkTerminal } from "../trusted_socket.ts";
import { KittenFile, type KittyWindow, KittyWindows, type Order, TypedAnswer } from "./kitten.ts";
import { callKitty } from "./remote_control.ts";
import { tryJson } from "kit/core/text.ts";
import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";

interface KittyOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** A private directory (0700) for the program that kitty runs for the daemon. */
  readonly state_dir: string;
  readonly answer_ms_max?: number;
}

/** Maximum number of known kitty processes. */
export const KITTIES_MAX = 32;
/** Maximum number of commands that wait for an answer of one kitty. */
export const COMMANDS_MAX = 64;

export class KittyServers implements TerminalServers {
  readonly #options: KittyOptions;
  readonly #kitten: KittenFile;
  readonly #byAddress = new Map<string, KittyServer>();

  constructor(options: KittyOptions) {
    this.#options = options;
    this.#kitten = new KittenFile(options.state_dir);
  }

  get size(): number {
    return this.#byAddress.size;
  }

  /** The kitty at an address. If `KITTIES_MAX` others are in use, it refuses all commands. */
  at(address: string): KittyServer {
    const known = this.#byAddress.get(address);
    if (known) return known;
    const kitty = new KittyServer(address, this.#options, this.#kitten);
    if (this.#byAddress.size >= KITTIES_MAX && !this.#forgetIdle()) {
      kitty.refuse("Too many terminals are in use");
      return kitty;
    }
    this.#byAddress.set(address, kitty);
    return kitty;
  }

  /** Forgets the idle kitty that was first used the longest time ago. */
  #forgetIdle(): boolean {
    for (const [address, kitty] of this.#byAddress) {
      if (!kitty.busy) return this.#byAddress.delete(address);
    }
    return false;
  }
}

/** One kitty process. Each command has a connection of its own. */
class KittyServer implements TerminalServer {
  readonly kind = "kitty";
  readonly address: string;
  readonly cache: PaneCache;
  readonly #options: KittyOptions;
  readonly #kitten: KittenFile;
  readonly #exclusive = new ExclusiveWork();
  #commands = 0;
  #reported: string | undefined;
  #refusal: string | undefined;

  constructor(address: string, options: KittyOptions, kitten: KittenFile) {
    this.address = address;
    this.cache = new PaneCache(this, options.clock);
    this.#options = options;
    this.#kitten = kitten;
  }

  get busy(): boolean {
    return this.#commands > 0 || !this.#exclusive.isIdle;
  }

  isPaneId(text: string): boolean {
    return /^[1-9]\d{0,8}$/.test(text);
  }

  /** Refuses all commands from now on. */
  refuse(why: string): void {
    this.#refusal = why;
  }

  async panes(): Promise<Answer<{ panes: readonly Pane[] }>> {
    const read = await this.#readWindows({ window: null, rows: false, above: 0 });
    return read.ok ? { ok: true, panes: read.windows.map(toPane) } : read;
  }

  async pane(pane_id: string): Promise<Answer<{ pane: Pane | undefined }>> {
    const read = await this.#readWindow(pane_id, { rows: false, above: 0 });
    return read.ok ? { ok: true, pane: read.window && toPane(read.window) } : read;
  }

  async capture(pane_id: string, history_rows = 0): Promise<Result> {
    const read = await this.#readWindow(pane_id, { rows: true, above: history_rows });
    if (!read.ok) return read;
    if (!read.window) return failure("error", `kitty has no window ${pane_id}`);
    const { rows = [], above = [] } = read.window;
    return { ok: true, lines: [...above, ...rows].map(toRow) };
  }

  async screen(pane_id: string): Promise<Answer<{ seen: SeenScreen | undefined }>> {
    const read = await this.#readWindow(pane_id, { rows: true, above: 0 });
    if (!read.ok) return read;
    const { window } = read;
    const seen = window && { pane: toPane(window), rows: (window.rows ?? []).map(toRow) };
    return { ok: true, seen };
  }

  prepare(keys: readonly Keystroke[]): Promise<{ ok: true; prepared: PreparedKeys }> {
    const typeIf = (guard: PaneGuard) => this.#typeIf(guard, keys);
    return Promise.resolve({ ok: true, prepared: { typeIf, discard: () => Promise.resolve() } });
  }

  runExclusive<T>(pane_id: string, work: () => Promise<T>): Promise<T> {
    return this.#exclusive.run(pane_id, work);
  }

  async #typeIf(guard: PaneGuard, keys: readonly Keystroke[]): Promise<TypeResult> {
    const { pane, foreground, dialog, shown, cursor_row } = guard;
    const cursor = cursor_row === undefined
      ? null
      : { x: pane.cursor_x, y: pane.cursor_y, row: cursor_row };
    const called = await this.#call({
      do: "type",
      window: Number(pane.pane_id),
      pid: pane.pane_pid,
      foreground: foreground ?? null,
      dialog,
      shown: shown ?? null,
      cursor,
      keys: keys.map(toKittyKey),
    });
    if (!called.ok) return called;
    const answer = TypedAnswer.safeParse(called.data);
    return answer.success ? answer.data.typed : failure("lost", "The answer is not the kitten's");
  }

  async #readWindow(
    pane_id: string,
    what: { readonly rows: boolean; readonly above: number },
  ): Promise<Answer<{ window: KittyWindow | undefined }>> {
    if (!this.isPaneId(pane_id)) return { ok: true, window: undefined };
    const read = await this.#readWindows({ window: Number(pane_id), ...what });
    return read.ok ? { ok: true, window: read.windows[0] } : read;
  }

  async #readWindows(
    what: { readonly window: number | null; readonly rows: boolean; readonly above: number },
  ): Promise<Answer<{ windows: readonly KittyWindow[] }>> {
    const called = await this.#call({ do: "read", ...what });
    if (!called.ok) return called;
    const answer = KittyWindows.safeParse(called.data);
    if (!answer.success) return failure("error", "The answer is not the kitten's");
    return { ok: true, windows: answer.data.windows };
  }

  /** Checks the socket on each command, because the socket may have been replaced. */
  async #call(order: Order): Promise<Answer<{ data: unknown }>> {
    if (this.#refusal !== undefined) return failure("closed", this.#refusal);
    if (this.#commands >= COMMANDS_MAX) {
      return failure("queue_full", "Too many commands wait for kitty");
    }
    const checked = checkTerminal(this.address);
    if (checked.state === "missing") return failure("no_server", `No socket at ${this.address}`);
    if (checked.state === "refused") return this.#report(failure("untrusted", checked.reason));
    const kitten = this.#kitten.path();
    if (!kitten.ok) return this.#report(kitten);
    this.#commands++;
    try {
      const payload = { kitten: kitten.path, args: [JSON.stringify(order)] };
      const called = await callKitty(checked.path, { cmd: "kitten", payload }, this.#options);
      if (!called.ok) return this.#report(called);
      this.#reported = undefined;
      return { ok: true, data: typeof called.data === "string" ? tryJson(called.data) : null };
    } finally {
      this.#commands--;
    }
  }

  /** Logs only when the reason changes, because panes are observed every few seconds. */
  #report(failed: Failure): Failure {
    const { reason, message } = failed;
    const isFault = reason === "error" || reason === "untrusted" || reason === "no_file";
    if (isFault && message !== this.#reported) {
      const { address } = this;
      this.#options.log.warn("kitty cannot be used as a terminal", { address, reason: message });
      this.#reported = message;
    }
    return failed;
  }
}

/** Nothing of kitty is like copy mode or tmux's session, and it closes the windows of the dead. */
function toPane(window: KittyWindow): Pane {
  const { foreground } = window;
  return {
    pane_id: String(window.id),
    pane_pid: window.pid,
    dead: false,
    in_mode: false,
    synchronized: false,
    width: window.columns,
    height: window.lines,
    cursor_x: window.x,
    cursor_y: window.y,
    cursor_shown: window.cursor_shown,
    written_s: Infinity,
    window: `@${window.tab}`,
    session: "",
    command: (foreground === null ? undefined : commandOf(foreground)) ?? "",
    cwd: window.cwd,
  };
}

/**
 * A row as tmux writes it. kitty has codes of its own (221, 222) for the end of bold and of faint
 * text, and begins each row without colours.
 */
function toRow(row: string): string {
  if (!row.includes("\x1b")) return row;
  // deno-lint-ignore no-control-regex -- Matches escape sequences.
  const plain = row.replace(/\x1b\[([\d;:]*)m/g, (_, codes: string) => {
    const known = codes.split(";").map((code) => /^22[12]$/.test(code) ? "22" : code);
    return `\x1b[${known.join(";")}m`;
  });
  return `${plain}\x1b[0m`;
}

type KittyKey = Extract<Order, { do: "type" }>["keys"][number];

function toKittyKey(key: Keystroke): KittyKey {
  if (!("key" in key)) return key;
  const { key: name } = key;
  if (isControlKey(name)) return { key: name.replace("Ctrl-", ""), shift: false, control: true };
  return {
    key: KITTY_NAMES[name] ?? name.toUpperCase(),
    shift: name === "BackTab",
    control: false,
  };
}

/**
 * The ends of the names of kitty's constants, where they are not the names in capitals. kitty sends
 * what the program expects of a key.
 */
const KITTY_NAMES: Readonly<Partial<Record<KeyName, string>>> = {
  BackTab: "TAB",
  PageUp: "PAGE_UP",
  PageDown: "PAGE_DOWN",
};
