/** One control-mode client of a tmux server, from the client's start to its end. */

import type { Clock, Ids } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import type { Log } from "kit/core/log.ts";
import { Splitter } from "kit/core/text.ts";

/** Maximum number of commands that wait. A healthy server answers in well under 1 ms. */
const COMMANDS_MAX = 256;
/** Bytes of commands that may wait for an answer. Message texts do not count: files hold them. */
const COMMAND_BYTES_MAX = 1_048_576;
/** The connection ends if an answer takes longer, because the server is stopped or overloaded. */
export const ANSWER_MS_MAX = 5_000;

/**
 * Why a command has no answer. After `lost` and `timeout`, the command may have run. After `error`,
 * tmux refused the command. After any other reason, the command was never sent.
 */
type FailureReason =
  | "no_tmux"
  | "no_server"
  | "untrusted" // Another user could control the server, which can make its clients run programs.
  | "queue_full"
  | "closed"
  | "no_file"
  | "error"
  | "lost"
  | "timeout";
export type Failure = { ok: false; reason: FailureReason; message: string };
/** The answer of a terminal server. */
export type Answer<Data> = ({ ok: true } & Data) | Failure;
export type Result = Answer<{ lines: readonly string[] }>;

export interface TmuxOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** A private directory (0700) for the files from which tmux loads texts. */
  readonly state_dir: string;
  readonly answer_ms_max?: number;
  /** The `PATH` in which tmux is looked up. */
  readonly search_path: string;
}

/**
 * The whole environment of a tmux client. A client sends its environment to its server, so the
 * daemon's own environment, which may hold secrets, is not passed on. `TERM=dumb` makes the client
 * draw nothing. The empty `TMUX` keeps the client from connecting to another server.
 */
export function clientEnvironment(search_path: string): Record<string, string> {
  return { PATH: search_path, LC_ALL: "C.UTF-8", TERM: "dumb", TMUX: "" };
}

/**
 * Attaches to the first session that a user is attached to, because attaching to any other would
 * clear that session's bell flag and change which session `tmux attach` picks. If no session has a
 * user attached, `-t ''` picks the latest session. `-E` leaves the session's environment unchanged,
 * and `ignore-size` its size.
 */
const ATTACH = "attach-session -E -f no-output,ignore-size " +
  "-t '#{s/^([^ ]+) .*/\\1/:#{S:#{?session_attached,#{session_id} ,}}}'";

interface PendingCommand {
  readonly token: string;
  readonly bytes: number;
  readonly lines: string[];
  readonly deadline: number;
  readonly resolve: (result: Result) => void;
}

/** Runs commands one after the other; their answers arrive in the same order. */
export class TmuxConnection {
  readonly #options: TmuxOptions;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #pending: PendingCommand[] = [];
  readonly #secret: string;
  readonly #exited: Promise<void>;
  readonly #closing = new AbortController();
  #expiring = false;
  #sequence = 0;
  #attached = false;
  #bytes = 0;
  #open = true;

  /** `socket` is a path that `checkSocket` has just returned. */
  constructor(socket: string, options: TmuxOptions) {
    this.#options = options;
    this.#secret = options.ids.secret(12);
    this.#child = new Deno.Command("tmux", {
      // `-N`: do not start a server.
      args: ["-u", "-N", "-S", socket, "-C", "run-shell", "-C", ATTACH],
      env: clientEnvironment(options.search_path),
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#exited = this.#readOutput();
  }

  get open(): boolean {
    return this.#open;
  }

  get idle(): boolean {
    return this.#open && this.#pending.length === 0;
  }

  execute(line: string): Promise<Result> {
    if (!this.#open) return Promise.resolve(failure("closed", "The connection has ended"));
    const token = `mesh-end-${this.#secret}-${++this.#sequence}`;
    // The token ends the answer, which may have several blocks. No screen can forge this secret.
    const sent = new TextEncoder().encode(`${line}\ndisplay-message -p "${token}"\n`);
    const bytes = sent.length;
    if (this.#pending.length >= COMMANDS_MAX || this.#bytes + bytes > COMMAND_BYTES_MAX) {
      return Promise.resolve(failure("queue_full", "Too many commands wait for tmux"));
    }
    const { promise, resolve } = Promise.withResolvers<Result>();
    const { clock, answer_ms_max = ANSWER_MS_MAX } = this.#options;
    this.#pending.push({
      token,
      bytes,
      lines: [],
      deadline: clock.monotonic() + answer_ms_max,
      resolve,
    });
    this.#bytes += bytes;
    // If the pipe is broken, the client has ended, and `#readOutput` reports the reason.
    this.#input.write(sent).catch((error) =>
      this.#options.log.debug("Cannot write to the tmux client", { error })
    );
    if (!this.#expiring) void this.#expireWaiting();
    return promise;
  }

  /** Kills the client, which detaches it from its session, and fails all pending commands. */
  end(reason: FailureReason, message: string): Promise<void> {
    if (!this.#open) return this.#exited;
    this.#open = false;
    this.#closing.abort();
    for (const { resolve } of this.#pending.splice(0)) resolve(failure(reason, message));
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      this.#options.log.debug("The tmux client had already ended", { error });
    }
    return this.#exited;
  }

  /** One timer serves all pending commands, because the oldest command times out first. */
  async #expireWaiting(): Promise<void> {
    const { clock, answer_ms_max = ANSWER_MS_MAX } = this.#options;
    const { signal } = this.#closing;
    this.#expiring = true;
    for (let head = this.#pending[0]; head; head = this.#pending[0]) {
      await pause(clock, Math.max(0, head.deadline - clock.monotonic()), signal);
      if (signal.aborted) return;
      if (head !== this.#pending[0]) continue;
      return await this.end("timeout", `tmux did not answer in ${answer_ms_max} ms`);
    }
    this.#expiring = false;
  }

  /**
   * Reads until the client ends, or until this connection does: a tmux server holds the pipes of
   * its clients, too, and while it is stopped they do not end.
   */
  async #readOutput(): Promise<void> {
    const { signal } = this.#closing;
    const errors = this.#child.stderr.pipeThrough(new TextDecoderStream(), { signal });
    const errorText = Array.fromAsync(errors).then((parts) => parts.join(""), () => "");
    const output = this.#child.stdout.pipeThrough(new TextDecoderStream(), { signal });
    const lines = new Splitter("\n", 0);
    try {
      for await (const chunk of output) {
        for (const line of lines.push(chunk)) this.#receive(line);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    const { code } = await this.#child.status;
    const message = (await errorText).trim() || `The tmux client ended with code ${code}`;
    if (this.#open) void this.end(this.#attached ? "lost" : "no_server", message);
    // The pipe may already be broken. Its remaining content is not needed.
    this.#input.abort().catch((error) =>
      this.#options.log.debug("The tmux client's input was already closed", { error })
    );
  }

  #receive(line: string): void {
    this.#attached ||= line.startsWith("%end ");
    const head = this.#pending[0];
    if (!head) return;
    if (line !== head.token) {
      head.lines.push(line);
      return;
    }
    this.#pending.shift();
    this.#bytes -= head.bytes;
    head.resolve(readBlocks(head.lines.slice(0, -1)));
  }
}

/**
 * Returns the output between `%begin` and `%end` of each block that this client caused (flag 1).
 * All other blocks are notifications. Output may contain a line that looks like an end, so the last
 * such line counts.
 */
function readBlocks(received: readonly string[]): Result {
  const lines: string[] = [];
  for (let at = 0; at < received.length; at++) {
    const block = /^%begin (\d+ \d+ 1)$/.exec(received[at] ?? "")?.[1];
    if (block === undefined) continue;
    const isEnd = (line: string) => line === `%end ${block}` || line === `%error ${block}`;
    const end = received.findLastIndex(isEnd);
    const output = received.slice(at + 1, end);
    if (received[end] !== `%end ${block}`) return failure("error", output.join("\n"));
    lines.push(...output);
    at = end;
  }
  return { ok: true, lines };
}

export function failure(reason: FailureReason, message: string): Failure {
  return { ok: false, reason, message };
}
