/** A private tmux server in a directory of its own, and scripted programs to run in its panes. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { type Tmux, TmuxServers } from "../../../daemon/host/tmux/tmux.ts";
import { until as waitUntil } from "../waiting.ts";

/** Maximum time for a condition to come true on a busy machine. */
const TIMEOUT_MS = 10_000;
const POLL_MS = 5;

/** The path on which the tests find tmux. */
export const SEARCH_PATH = Deno.env.get("PATH") ?? "";

export const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A test with a real tmux; without tmux it is skipped, and its name says so. */
export function withTmux(
  name: string,
  test: (terminal: Terminal) => Promise<void>,
  { root = false }: { readonly root?: boolean } = {},
): void {
  const missingReason = tmuxIsMissing()
    ? "tmux is not installed"
    : root && Deno.uid() !== 0
    ? "only root can make files of another user"
    : undefined;
  const shown = missingReason === undefined ? name : `${name} (skipped: ${missingReason})`;
  Deno.test(shown, { ignore: missingReason !== undefined }, async () => {
    await using terminal = new Terminal();
    await test(terminal);
  });
}

function tmuxIsMissing(): boolean {
  try {
    return !new Deno.Command("tmux", { args: ["-V"] }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return true;
    throw error;
  }
}

/** Polls faster, and for a shorter time, than tests of real agents do. */
export function until<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  return waitUntil(what, probe, TIMEOUT_MS, POLL_MS);
}

export class Terminal implements AsyncDisposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-tmux-" });
  readonly socket = `${this.dir}/sock`;
  readonly tmuxServers = new TmuxServers({
    clock: systemClock,
    ids: randomIds,
    log: silent,
    state_dir: this.dir,
    search_path: SEARCH_PATH,
  });
  readonly tmux = this.tmuxServers.at(this.socket);

  /** Runs the tmux program, as a user would. */
  cli(...args: string[]): string {
    const { success, stdout, stderr } = this.#tmux(args);
    if (!success) throw new Error(`tmux ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout).trimEnd();
  }

  /** Opens a session with one pane that runs `command`; returns the pane's id. */
  start(command: string, session = "work"): string {
    const size = ["-x", "100", "-y", "30"];
    const shown = ["-P", "-F", "#{pane_id}"];
    return this.cli("new-session", "-d", "-s", session, ...size, ...shown, command);
  }

  format(pane: string, format: string): string {
    return this.cli("display-message", "-p", "-t", pane, format);
  }

  screen(pane: string): string {
    return this.cli("capture-pane", "-p", "-t", pane);
  }

  /** Writes a program into the directory; returns the command that runs it. */
  program(name: string, source: string): string {
    const file = `${this.dir}/${name}`;
    Deno.writeTextFileSync(file, source);
    return name.endsWith(".ts") ? `${Deno.execPath()} run -A --no-config ${file}` : `sh ${file}`;
  }

  read(name: string): string {
    try {
      return Deno.readTextFileSync(`${this.dir}/${name}`);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return "";
      throw error;
    }
  }

  /** Ends the server, if there is one, and returns when it is gone. */
  killServer(): void {
    const { success, stdout } = this.#tmux(["display-message", "-p", "#{pid}"]);
    if (!success) return;
    this.#tmux(["kill-server"]);
    waitSync("the server's end", () => !isAlive(Number(new TextDecoder().decode(stdout))));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tmuxServers[Symbol.asyncDispose]();
    this.killServer();
    await Deno.remove(this.dir, { recursive: true });
  }

  #tmux(args: string[]): Deno.CommandOutput {
    return new Deno.Command("tmux", {
      args: ["-u", "-S", this.socket, "-f", "/dev/null", ...args],
      env: { TMUX: "", LC_ALL: "C.UTF-8" },
    }).outputSync();
  }
}

/** A command that records all its input, with bracketed paste and without a line discipline. */
export function recorder(file: string): string {
  return `stty raw -echo; printf '\\033[?2004hready'; exec cat > ${file}`;
}

/** The same without yielding, for a hook that must be done when it returns. */
export function waitSync(what: string, probe: () => boolean): void {
  const deadline = Date.now() + TIMEOUT_MS;
  while (Date.now() < deadline) if (probe()) return;
  throw new assert.AssertionError({ message: `Timed out waiting for: ${what}` });
}

/**
 * An agent that draws itself as Claude Code does: raw mode, bracketed paste, a composer between two
 * rules, collapsed long pastes, a dialog on SIGUSR1. It logs its input and all that it submits.
 */
export const SCRIPTED_AGENT = String.raw`
const log = (event) =>
  Deno.writeTextFileSync(Deno.args[0], JSON.stringify(event) + "\n", { append: true });
const rule = "─".repeat(100);
let draft = "", pasted = "", pasting = false, dialog = false;
function draw() {
  const lines = draft.split("\n");
  const collapsed = draft.length > 800 || lines.length > 3;
  const shown = collapsed ? "[Pasted text #1 +" + lines.length + " lines]" : lines.join("\r\n  ");
  const screen = dialog
    ? [" Do you want to create perm.txt?", " \x1b7❯ 1. Yes", "   2. No", "",
      " Esc to cancel · Tab to amend"]
    : ["  Do you want to make something?", rule, "❯\u00a0" + shown + "\x1b7", rule, "  ? for help"];
  const text = "\x1b[2J\x1b[H" + screen.join("\r\n") + "\x1b8";
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}
function key(char) {
  if (char !== "\r") draft += char;
  else if (dialog) log({ approved: true });
  else { log({ submitted: draft }); draft = ""; }
}
function take(input) {
  for (const part of input.split(/(\x1b\[20[01]~)/)) {
    if (part === "\x1b[200~") pasting = true;
    else if (part === "\x1b[201~") {
      draft += pasted.replaceAll("\r", "\n");
      pasted = "";
      pasting = false;
    }
    else if (pasting) pasted += part;
    else for (const char of part) key(char);
  }
}
Deno.addSignalListener("SIGUSR1", () => { dialog = true; draw(); log({ dialog: true }); });
Deno.stdin.setRaw(true);
Deno.stdout.writeSync(new TextEncoder().encode("\x1b[?2004h"));
draw();
log({ ready: Deno.pid });
for await (const input of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  log({ input });
  take(input);
  draw();
}
`;

export interface AgentEvent {
  readonly ready?: number;
  readonly input?: string;
  readonly submitted?: string;
  readonly approved?: true;
  readonly dialog?: true;
}

/** A running agent of that kind. */
export class Agent {
  readonly pid: number;
  readonly pane: string;
  readonly #terminal: Terminal;

  private constructor(terminal: Terminal, pane: string, pid: number) {
    this.#terminal = terminal;
    this.pane = pane;
    this.pid = pid;
  }

  /** The command that runs it, and logs to `agent.log`. */
  static command(terminal: Terminal): string {
    return `${terminal.program("agent.ts", SCRIPTED_AGENT)} ${terminal.dir}/agent.log`;
  }

  static async start(terminal: Terminal, wrap = (command: string) => command): Promise<Agent> {
    const pane = terminal.start(wrap(Agent.command(terminal)));
    return await Agent.find(terminal, pane);
  }

  static async find(terminal: Terminal, pane: string): Promise<Agent> {
    const pid = await until(
      "the agent",
      () => Agent.#log(terminal).findLast((e) => e.ready)?.ready,
    );
    await until("its composer", () => terminal.screen(pane).includes("? for help"));
    return new Agent(terminal, pane, pid);
  }

  get events(): readonly AgentEvent[] {
    return Agent.#log(this.#terminal);
  }

  get submittedTexts(): readonly string[] {
    return this.events.flatMap(({ submitted }) => submitted ?? []);
  }

  get input(): string {
    return this.events.map(({ input }) => input ?? "").join("");
  }

  /** Opens its dialog; returns when it is on the screen. */
  openDialog(): void {
    Deno.kill(this.pid, "SIGUSR1");
    waitSync("the dialog", () => this.#terminal.screen(this.pane).includes("Esc to cancel"));
  }

  static #log(terminal: Terminal): readonly AgentEvent[] {
    const lines = terminal.read("agent.log").split("\n").slice(0, -1);
    return lines.map((line): AgentEvent => JSON.parse(line));
  }
}

/** The lines of a command's answer. */
export async function linesOf(result: ReturnType<Tmux["run"]>): Promise<readonly string[]> {
  const answer = await result;
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.lines;
}

/** Pastes a text as a delivery does: in one bracket, from a buffer that is deleted afterwards. */
export async function pasteInto(terminal: Terminal, pane: string, content: string): Promise<void> {
  const loaded = await terminal.tmux.load(content);
  assert.ok(loaded.ok);
  await linesOf(terminal.tmux.run(["paste-buffer", "-p", "-d", "-b", loaded.buffer, "-t", pane]));
}
