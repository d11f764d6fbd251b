/** One control-mode connection to each tmux server; it must leave no trace in the user's server. */

import type { Clock, Ids } from "kit/clock.ts";
import type { Log } from "kit/log.ts";
import { Splitter } from "kit/text.ts";
import { PaneLooks } from "./pane_looks.ts";
import { isAlive } from "./processes.ts";

/** Commands that may wait for their answers; a healthy server answers in well under 1 ms. */
export const COMMANDS_MAX = 256;
/** Bytes of commands that may wait to be answered. Message texts travel by file, not in here. */
export const COMMAND_BYTES_MAX = 1_048_576;
/** A server that has not answered by then is stopped or drowning; the connection is given up. */
export const ANSWER_MS_MAX = 5_000;

/**
 * Why a command has no answer. `lost` and `timeout`: it may have run. `error`: tmux refused it.
 * All others: it was never sent.
 */
export type FailureReason =
  | "no_tmux"
  | "no_server"
  | "queue_full"
  | "closed"
  | "no_file"
  | "error"
  | "lost"
  | "timeout";
export type Failure = { ok: false; reason: FailureReason; message: string };
export type Result = { ok: true; lines: readonly string[] } | Failure;

export interface Pane {
  readonly pane_id: string;
  readonly pane_pid: number;
  readonly dead: boolean;
  readonly in_mode: boolean;
  readonly session: string;
  readonly window: string;
  readonly command: string;
  readonly cwd: string;
}

export interface TmuxOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** A private directory (0700) in which texts lie for the moment of their loading. */
  readonly state_dir: string;
  readonly answer_ms_max?: number;
}

/**
 * One argument for tmux's command parser. Whatever is not plainly harmless goes as octal bytes,
 * so nothing in it can end the string, expand, or begin a new line.
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

/** A command as tmux's parser reads it: for a branch of `if-shell`, joined with ` ; `. */
export function commandLine(command: readonly string[]): string {
  return command.map(quote).join(" ");
}

/** The connections of a daemon, one for each server socket. */
export class Tmuxes implements AsyncDisposable {
  readonly #options: TmuxOptions;
  readonly #bySocket = new Map<string, Tmux>();

  constructor(options: TmuxOptions) {
    this.#options = options;
  }

  at(socket: string): Tmux {
    const known = this.#bySocket.get(socket);
    if (known) return known;
    const tmux = new Tmux(socket, this.#options);
    this.#bySocket.set(socket, tmux);
    return tmux;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#bySocket.values().map((tmux) => tmux.close()));
    this.#bySocket.clear();
  }
}

/** One tmux server, reached through one control client: opened when needed, reopened when lost. */
export class Tmux implements AsyncDisposable {
  readonly socket: string;
  readonly looks: PaneLooks;
  readonly #options: TmuxOptions;
  readonly #mark: string;
  readonly #turns = new Map<string, Promise<void>>();
  #connection: Connection | undefined;
  #server_pid: number | undefined;
  #buffers = 0;
  #closed = false;

  constructor(socket: string, options: TmuxOptions) {
    this.socket = socket;
    this.looks = new PaneLooks(this, options.clock);
    this.#options = options;
    this.#mark = `mesh-${Deno.pid}-${options.ids.next("tmux")}-`;
  }

  /** A server is its socket and this pid; undefined until it has answered once. */
  get server_pid(): number | undefined {
    return this.#server_pid;
  }

  /** Runs one command. Its output is split into lines; commands may overlap, and run in order. */
  run(command: readonly string[]): Promise<Result> {
    const connection = this.#connected();
    return "ok" in connection ? Promise.resolve(connection) : connection.ask(commandLine(command));
  }

  /** Runs a command that only reads: once more if the connection was lost, as with its session. */
  async look(command: readonly string[]): Promise<Result> {
    const result = await this.run(command);
    return !result.ok && result.reason === "lost" ? await this.run(command) : result;
  }

  async panes(): Promise<{ ok: true; panes: readonly Pane[] } | Failure> {
    const result = await this.look(["list-panes", "-a", "-F", PANE_COLUMNS.join("\t")]);
    return result.ok ? { ok: true, panes: result.lines.flatMap(readPane) } : result;
  }

  /** The pane's rows with their colours (SGR), the last `history_rows` above the screen first. */
  capture(pane: string, history_rows = 0): Promise<Result> {
    return this.look(["capture-pane", "-p", "-e", "-S", String(-history_rows), "-t", pane]);
  }

  /**
   * Puts a text into a buffer of its own and answers the buffer's name. It goes by a private
   * file: a text on the command line would stay in the server's message log (`show-messages`).
   */
  async load(text: string): Promise<{ ok: true; buffer: string } | Failure> {
    const buffer = `${this.#mark}${++this.#buffers}`;
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

  /** Runs `work` alone among all that was given for this pane, in the order of the calls. */
  async inTurn<T>(pane: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(pane);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#turns.set(pane, done);
    await before;
    try {
      return await work();
    } finally {
      if (this.#turns.get(pane) === done) this.#turns.delete(pane);
      resolve();
    }
  }

  /** Ends what waits. Texts never pasted go too, unless the server is busy: then at next start. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#connection?.idle) await this.#sweep(this.#connection);
    await this.#connection?.end("closed", "The connection was closed");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #connected(): Connection | Failure {
    if (this.#closed) return failure("closed", "The connection was closed");
    if (this.#connection?.open) return this.#connection;
    try {
      this.#connection = new Connection(this.socket, this.#options);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return failure("no_tmux", "Cannot find tmux");
      return failure("no_tmux", String(error));
    }
    void this.#greet(this.#connection);
    return this.#connection;
  }

  async #greet(connection: Connection): Promise<void> {
    void this.#sweep(connection);
    const who = await connection.ask(commandLine(["display-message", "-p", "#{pid}"]));
    if (who.ok) this.#server_pid = Number(who.lines[0]);
  }

  /** Clears the texts that a lost connection of ours, or a dead daemon, has left in the server. */
  async #sweep(connection: Connection): Promise<void> {
    const listed = await connection.ask(commandLine(["list-buffers", "-F", "#{buffer_name}"]));
    if (!listed.ok) return;
    for (const name of listed.lines.filter((name) => this.#isLeftover(name))) {
      await connection.ask(commandLine(["delete-buffer", "-b", name]));
    }
  }

  #isLeftover(buffer: string): boolean {
    const owner = /^mesh-(\d+)-tmux-/.exec(buffer)?.[1];
    if (owner === undefined) return false;
    return buffer.startsWith(this.#mark) || !isAlive(Number(owner));
  }
}

/**
 * Joins the first session that a user looks at: joining one that nobody does would clear its bell
 * mark, and turn `tmux attach` to another. Only without any, the latest one is joined (`-t ''`).
 * `-E` leaves its environment alone, `ignore-size` its size.
 */
const ATTACH = "attach-session -E -f no-output,ignore-size " +
  "-t '#{s/^([^ ]+) .*/\\1/:#{S:#{?session_attached,#{session_id} ,}}}'";

interface Waiting {
  readonly token: string;
  readonly bytes: number;
  readonly lines: string[];
  /** When it is given up. */
  readonly due: number;
  readonly resolve: (result: Result) => void;
}

/** One control client from its start to its end. Answers come in the order of the questions. */
class Connection {
  readonly #options: TmuxOptions;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #waiting: Waiting[] = [];
  readonly #secret: string;
  readonly #gone: Promise<void>;
  readonly #ending = new AbortController();
  #watched = false;
  #asked = 0;
  #attached = false;
  #bytes = 0;
  #open = true;

  constructor(socket: string, options: TmuxOptions) {
    this.#options = options;
    this.#secret = options.ids.secret(12);
    this.#child = new Deno.Command("tmux", {
      args: ["-u", "-N", "-S", socket, "-C", "run-shell", "-C", ATTACH], // -N: start no server.
      env: { LC_ALL: "C.UTF-8", TERM: "dumb", TMUX: "" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#gone = this.#listen();
  }

  get open(): boolean {
    return this.#open;
  }

  get idle(): boolean {
    return this.#open && this.#waiting.length === 0;
  }

  ask(line: string): Promise<Result> {
    if (!this.#open) return Promise.resolve(failure("closed", "The connection has ended"));
    const token = `mesh-end-${this.#secret}-${++this.#asked}`;
    // A command may answer in several blocks; this one ends them, and no screen can forge it.
    const sent = new TextEncoder().encode(`${line}\ndisplay-message -p "${token}"\n`);
    const bytes = sent.length;
    if (this.#waiting.length >= COMMANDS_MAX || this.#bytes + bytes > COMMAND_BYTES_MAX) {
      return Promise.resolve(failure("queue_full", "Too many commands wait for tmux"));
    }
    const { promise, resolve } = Promise.withResolvers<Result>();
    const { clock, answer_ms_max = ANSWER_MS_MAX } = this.#options;
    this.#waiting.push({ token, bytes, lines: [], due: clock.now() + answer_ms_max, resolve });
    this.#bytes += bytes;
    // A broken pipe means that the client has ended; its own end says why.
    this.#input.write(sent).catch((error) => this.#options.log.debug("tmux is gone", { error }));
    if (!this.#watched) void this.#watch();
    return promise;
  }

  /** Kills the client, which detaches it; everyone who waits hears why. */
  end(reason: FailureReason, message: string): Promise<void> {
    if (!this.#open) return this.#gone;
    this.#open = false;
    this.#ending.abort();
    for (const { resolve } of this.#waiting.splice(0)) resolve(failure(reason, message));
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      this.#options.log.debug("The tmux client had already ended", { error });
    }
    return this.#gone;
  }

  /** One timer for all that wait: the first of them is answered first. */
  async #watch(): Promise<void> {
    const { clock, answer_ms_max = ANSWER_MS_MAX } = this.#options;
    const { signal } = this.#ending;
    this.#watched = true;
    for (let head = this.#waiting[0]; head; head = this.#waiting[0]) {
      await clock.sleep(head.due - clock.now(), signal).catch(() => undefined);
      if (signal.aborted) return;
      if (head !== this.#waiting[0]) continue;
      return await this.end("timeout", `tmux did not answer in ${answer_ms_max} ms`);
    }
    this.#watched = false;
  }

  async #listen(): Promise<void> {
    const complaint = new Response(this.#child.stderr).text();
    const lines = new Splitter("\n", 0);
    for await (const chunk of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      for (const line of lines.push(chunk)) this.#hear(line);
    }
    const { code } = await this.#child.status;
    const message = (await complaint).trim() || `The tmux client ended with code ${code}`;
    if (this.#open) void this.end(this.#attached ? "lost" : "no_server", message);
    // The pipe may already be broken, and nobody waits for what is left in it.
    await this.#input.abort().catch((error) => this.#options.log.debug("tmux closed", { error }));
  }

  #hear(line: string): void {
    this.#attached ||= line.startsWith("%end ");
    const head = this.#waiting[0];
    if (!head) return;
    if (line !== head.token) {
      head.lines.push(line);
      return;
    }
    this.#waiting.shift();
    this.#bytes -= head.bytes;
    head.resolve(readBlocks(head.lines.slice(0, -1)));
  }
}

/**
 * The output between `%begin` and `%end` of every block that we caused (flag 1); what stands
 * outside is news. A screen could show a line that looks like an end: the last one counts.
 */
function readBlocks(heard: readonly string[]): Result {
  const lines: string[] = [];
  for (let at = 0; at < heard.length; at++) {
    const block = /^%begin (\d+ \d+ 1)$/.exec(heard[at] ?? "")?.[1];
    if (block === undefined) continue;
    const isEnd = (line: string) => line === `%end ${block}` || line === `%error ${block}`;
    const end = heard.findLastIndex(isEnd);
    const output = heard.slice(at + 1, end);
    if (heard[end] !== `%end ${block}`) return failure("error", output.join("\n"));
    lines.push(...output);
    at = end;
  }
  return { ok: true, lines };
}

const PANE_COLUMNS = [
  "#{pane_id}",
  "#{pane_pid}",
  "#{pane_dead}",
  "#{pane_in_mode}",
  "#{session_name}",
  "#{window_id}",
  "#{pane_current_command}",
  "#{pane_current_path}",
];

function readPane(line: string): Pane[] {
  const [pane_id, pane_pid, dead, in_mode, session, window, command, ...cwd] = line.split("\t");
  if (!pane_id || !session || !window) return [];
  return [{
    pane_id,
    pane_pid: Number(pane_pid),
    dead: dead === "1",
    in_mode: in_mode !== "0",
    session,
    window,
    command: command ?? "",
    cwd: cwd.join("\t"),
  }];
}

function failure(reason: FailureReason, message: string): Failure {
  return { ok: false, reason, message };
}
