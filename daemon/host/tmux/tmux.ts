/** Tmux servers: one control-mode connection for each. It leaves no trace in the user's server. */

import type { Monotonic } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { PaneCache } from "./pane_cache.ts";
import { isAlive } from "../processes.ts";
import { ExclusiveWork } from "kit/core/exclusive.ts";
import type { Keystroke } from "protocol/agents/keys.ts";
import type {
  PreparedKeys,
  SeenScreen,
  TerminalServer,
  TerminalServers,
} from "../terminal_server.ts";
import {
  type Answer,
  type Failure,
  failure,
  type Result,
  TmuxConnection,
  type TmuxOptions,
} from "./connection.ts";
import {
  isPaneId,
  type Pane,
  PANE_FORMAT,
  parsePane,
  parseSession,
  SESSION_FORMAT,
  uniquePanes,
} from "./pane.ts";
import { type ReportedSession, SessionNames } from "./session_names.ts";
import { prepareKeys } from "./typing.ts";
import { checkSocket } from "../trusted_socket.ts";

/** Maximum number of known servers. Each may have a client. */
export const SERVERS_MAX = 32;
/** A client that was idle for this time is ended. */
export const IDLE_MS_MAX = 10 * 60_000;
/** If a server was used within this time, a caller may still hold a reference to it. */
const IN_USE_MS_MAX = 60_000;
/** Time limit for a server to delete our buffers when its connection is closed. */
const CLOSE_MS_MAX = 1000;

/**
 * Quotes one argument for tmux's command parser. A character that could end the string, start an
 * expansion or begin a new line becomes an octal escape.
 */
export function quote(argument: string): string {
  let quoted = "";
  for (const byte of new TextEncoder().encode(argument)) {
    const char = String.fromCharCode(byte);
    quoted += /[\w .,:;=@%+/#{}()*?<>|&!^[\]'-]/.test(char)
      ? char
      : `\\${byte.toString(8).padStart(3, "0")}`;
  }
  return `"${quoted}"`;
}

/** A command in the syntax of tmux's parser. Join several commands with ` ; `. */
function commandLine(command: readonly string[]): string {
  return command.map(quote).join(" ");
}

/** The tmux connections of a daemon, one per server socket. */
export class TmuxServers implements TerminalServers, AsyncDisposable {
  readonly #options: TmuxOptions;
  readonly #bySocket = new Map<string, Tmux>();
  readonly #closing = new Set<Promise<void>>();
  /** Kept while the daemon runs, although idle connections are closed. */
  readonly #sessionNames = new SessionNames();

  constructor(options: TmuxOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#bySocket.size;
  }

  /** The server at a socket. Refuses all commands if `SERVERS_MAX` other servers are in use. */
  at(socket: string): Tmux {
    const existing = this.#bySocket.get(socket);
    if (existing) return existing;
    const tmux = new Tmux(socket, this.#options, this.#sessionNames);
    if (this.#bySocket.size >= SERVERS_MAX && !this.#evictIdle()) {
      this.#end(tmux, "Too many tmux servers are in use");
      return tmux;
    }
    this.#bySocket.set(socket, tmux);
    return tmux;
  }

  /** Closes idle connections. */
  tick(now: Monotonic): void {
    for (const tmux of this.#bySocket.values()) {
      if (!tmux.busy && now - tmux.used_at >= IDLE_MS_MAX) this.#drop(tmux);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const tmux of this.#bySocket.values()) this.#drop(tmux);
    await Promise.all(this.#closing);
  }

  /** Drops the least recently used idle server. Servers without a client are dropped first. */
  #evictIdle(): boolean {
    const since = this.#options.clock.monotonic() - IN_USE_MS_MAX;
    const idle = [...this.#bySocket.values()]
      .filter((tmux) => !tmux.busy && (!tmux.connected || tmux.used_at <= since));
    const [oldest] = idle.sort((a, b) =>
      Number(a.connected) - Number(b.connected) || a.used_at - b.used_at
    );
    if (oldest) this.#drop(oldest);
    return oldest !== undefined;
  }

  #drop(tmux: Tmux): void {
    this.#bySocket.delete(tmux.socket);
    this.#end(tmux);
  }

  #end(tmux: Tmux, why?: string): void {
    const closing = tmux.close(why).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** A tmux server, reached through one control client, which is reopened when it was lost. */
export class Tmux implements TerminalServer, AsyncDisposable {
  readonly kind = "tmux";
  readonly isPaneId = isPaneId;
  readonly socket: string;
  readonly cache: PaneCache;
  readonly #options: TmuxOptions;
  readonly #bufferPrefix: string;
  readonly #sessionNames: SessionNames;
  readonly #exclusive = new ExclusiveWork();
  #connection: TmuxConnection | undefined;
  #buffers = 0;
  #used_at: number;
  #untrusted: string | undefined;
  #closed: string | undefined;

  constructor(socket: string, options: TmuxOptions, sessionNames = new SessionNames()) {
    this.socket = socket;
    this.#sessionNames = sessionNames;
    this.cache = new PaneCache(this, options.clock);
    this.#options = options;
    this.#used_at = options.clock.monotonic();
    this.#bufferPrefix = `mesh-${Deno.pid}-${options.ids.next("tmux")}-`;
  }

  /** When the server was last used. */
  get used_at(): number {
    return this.#used_at;
  }

  get connected(): boolean {
    return this.#connection?.open ?? false;
  }

  /** True if a command waits for its answer or an exclusive operation runs. */
  get busy(): boolean {
    return !this.#exclusive.isIdle || (this.connected && !this.#connection?.idle);
  }

  /** Runs one command and returns its output as lines. Concurrent commands run in order. */
  run(command: readonly string[]): Promise<Result> {
    return this.#runLine(commandLine(command));
  }

  #runLine(line: string): Promise<Result> {
    this.#used_at = this.#options.clock.monotonic();
    const connection = this.#connected();
    return "ok" in connection ? Promise.resolve(connection) : connection.execute(line);
  }

  /**
   * Runs commands if a condition in tmux's format language holds for a pane. The server checks the
   * condition and runs the commands in one step. `done` means that all of them ran, `changed` that
   * none did. On a failure, some may have run (see `FailureReason`).
   */
  async runIf(
    pane_id: string,
    condition: string,
    commands: readonly (readonly string[])[],
  ): Promise<"done" | "changed" | Failure> {
    const done = [...commands.map(commandLine), "display-message -p done"].join(" ; ");
    const branches = [done, "display-message -p changed"];
    const result = await this.run(["if-shell", "-F", "-t", pane_id, condition, ...branches]);
    if (!result.ok) return result;
    return result.lines.includes("done") ? "done" : "changed";
  }

  /** Runs a read-only command, once more if the connection was lost, e.g. with its session. */
  query(command: readonly string[]): Promise<Result> {
    return this.#queryLine(commandLine(command));
  }

  async #queryLine(line: string): Promise<Result> {
    const result = await this.#runLine(line);
    return !result.ok && result.reason === "lost" ? await this.#runLine(line) : result;
  }

  async panes(): Promise<Answer<{ panes: readonly Pane[] }>> {
    const result = await this.query(["list-panes", "-a", "-F", PANE_FORMAT]);
    if (!result.ok) return result;
    const listed = result.lines.flatMap((line) => parsePane(line) ?? []);
    return { ok: true, panes: uniquePanes(this.#sessionNames.nameAll(listed)) };
  }

  /** Returns one pane. It is read from the list, which names all sessions that show it. */
  async pane(pane_id: string): Promise<Answer<{ pane: Pane | undefined }>> {
    const listed = await this.panes();
    if (!listed.ok) return listed;
    return { ok: true, pane: listed.panes.find((pane) => pane.pane_id === pane_id) };
  }

  /** The sessions of the server, with their stable names. */
  async sessions(): Promise<Answer<{ sessions: readonly ReportedSession[] }>> {
    const result = await this.query(["list-sessions", "-F", SESSION_FORMAT]);
    if (!result.ok) return result;
    const reported = result.lines.map((line) => parseSession(line));
    return { ok: true, sessions: this.#sessionNames.nameAll(reported) };
  }

  /** Parses the pane that a command has printed. */
  opened(line: string | undefined): Pane | undefined {
    const pane = parsePane(line);
    return pane && this.#sessionNames.nameAll([pane])[0];
  }

  capture(pane: string, history_rows = 0): Promise<Result> {
    return this.query(["capture-pane", "-p", "-e", "-S", String(-history_rows), "-t", pane]);
  }

  /**
   * A pane and the rows of its screen, both of one moment. Colours (SGR) hold until the next,
   * also in later rows. Undefined if tmux answers for a different pane.
   */
  async screen(pane_id: string): Promise<Answer<{ seen: SeenScreen | undefined }>> {
    if (!isPaneId(pane_id)) return { ok: true, seen: undefined };
    const readPane = commandLine(["display-message", "-p", "-t", pane_id, PANE_FORMAT]);
    const readRows = commandLine(["capture-pane", "-p", "-e", "-t", pane_id]);
    const result = await this.#queryLine(`${readPane} ; ${readRows}`);
    if (!result.ok) return result;
    const [head, ...rows] = result.lines;
    const pane = this.opened(head);
    return { ok: true, seen: pane?.pane_id === pane_id ? { pane, rows } : undefined };
  }

  /**
   * Loads a text into a new buffer and returns the buffer's name. The text goes through a private
   * file, because a text on the command line would stay in the server's message log
   * (`show-messages`).
   */
  async load(text: string): Promise<Answer<{ buffer: string }>> {
    const buffer = `${this.#bufferPrefix}${++this.#buffers}`;
    const file = `${this.#options.state_dir}/${buffer}`;
    try {
      await Deno.writeTextFile(file, text, { mode: 0o600, createNew: true });
    } catch (error) {
      return failure("no_file", String(error));
    }
    try {
      const result = await this.run(["load-buffer", "-b", buffer, file]);
      return result.ok ? { ok: true, buffer } : result;
    } finally {
      await Deno.remove(file);
    }
  }

  prepare(keys: readonly Keystroke[]): Promise<Answer<{ prepared: PreparedKeys }>> {
    return prepareKeys(this, keys);
  }

  /** Runs `work` exclusively for this key (a pane or a session), in the order of the calls. */
  runExclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#exclusive.run(key, work);
  }

  /**
   * Closes the connection and fails pending commands. Deletes our buffers unless a command is
   * pending or the server is stopped; then the next connection deletes them.
   */
  async close(why = "The connection was closed"): Promise<void> {
    this.#closed ??= why;
    const connection = this.#connection;
    const { clock } = this.#options;
    if (connection?.idle) await timeout(clock, CLOSE_MS_MAX, this.#deleteLeftovers(connection));
    await connection?.end("closed", why);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Checks the socket on each connect, because the socket may have been replaced. */
  #connected(): TmuxConnection | Failure {
    if (this.#closed !== undefined) return failure("closed", this.#closed);
    if (this.#connection?.open) return this.#connection;
    const checked = checkSocket(this.socket);
    if (checked.state === "missing") return failure("no_server", `No socket at ${this.socket}`);
    if (checked.state === "refused") return this.#refuse(checked.reason);
    try {
      this.#connection = new TmuxConnection(checked.path, this.#options);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return failure("no_tmux", "Cannot find tmux");
      return failure("no_tmux", String(error));
    }
    void this.#deleteLeftovers(this.#connection);
    return this.#connection;
  }

  /** Logs only when the reason changes, because panes are observed every few seconds. */
  #refuse(reason: string): Failure {
    if (reason !== this.#untrusted) {
      this.#options.log.warn("A tmux socket is not trusted", { socket: this.socket, reason });
    }
    this.#untrusted = reason;
    return failure("untrusted", reason);
  }

  /** Deletes buffers that an earlier connection, or a daemon that has ended, left in the server. */
  async #deleteLeftovers(connection: TmuxConnection): Promise<void> {
    const listed = await connection.execute(commandLine(["list-buffers", "-F", "#{buffer_name}"]));
    if (!listed.ok) return;
    for (const name of listed.lines.filter((name) => this.#isLeftover(name))) {
      await connection.execute(commandLine(["delete-buffer", "-b", name]));
    }
  }

  #isLeftover(buffer: string): boolean {
    const owner = /^mesh-(\d+)-tmux-/.exec(buffer)?.[1];
    if (owner === undefined) return false;
    return buffer.startsWith(this.#bufferPrefix) || !isAlive(Number(owner));
  }
}
