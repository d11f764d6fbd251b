/** `deno task recording`: records the README's first ask in a real terminal, as an animated picture. */

import { systemClock } from "kit/core/clock.ts";
import { ROOT } from "../../support/documents/blocks.ts";
import { DocumentMesh } from "../../support/documents/document_mesh.ts";
import { type Frame, terminalSvg } from "../../support/documents/terminal_svg.ts";
import { print, until } from "../../support/waiting.ts";

const PICTURE = `${ROOT}docs/pictures/first-ask.svg`;
const SIZE = { columns: 92, rows: 19 } as const;
const PROMPT = "$ ";
/** Keys that are typed at once; each step is one frame. */
const KEYS_PER_STEP = 3;
const KEY_MS = 90;
const SAMPLE_MS = 40;
/** Maximum time without a change: longer pauses are shortened, as a reader would only wait. */
const STILL_MS_MAX = 700;
const READ_MS = 1500;
const END_MS = 4000;

/** Commands in order; `ASK` stands for the first digits of the ask's id. */
export const TYPED: readonly string[] = [
  "mesh peers",
  'mesh ask api "Which port do you listen on?" --wait',
  "mesh why ASK",
];

/** A shell in a tmux server of its own. */
class Terminal implements AsyncDisposable {
  readonly #socket: string;
  readonly #env: Record<string, string>;
  readonly frames: Frame[] = [];
  #now_ms = 0;

  constructor(mesh: DocumentMesh) {
    this.#socket = mesh.path("recording.sock");
    const bin = mesh.path("real");
    Deno.mkdirSync(bin);
    const run = `exec "${Deno.execPath()}" run -A --cached-only --quiet "${ROOT}main.ts" "$@"\n`;
    Deno.writeTextFileSync(`${bin}/mesh`, `#!/bin/sh\n${run}`, { mode: 0o755 });
    const { NO_COLOR: _, PATH = "", ...env } = mesh.env;
    this.#env = { ...env, PATH: `${bin}:${PATH}`, PS1: PROMPT, TERM: "xterm-256color" };
  }

  async start(cwd: string): Promise<void> {
    const { columns, rows } = SIZE;
    const size = ["-x", String(columns), "-y", String(rows)];
    const shell = ["bash", "--norc", "--noprofile", "-i"];
    await this.#tmux("-f", "/dev/null", "new-session", "-d", ...size, "-c", cwd, ...shell);
    await this.#tmux("set-option", "-g", "status", "off");
    await until("the prompt", () => this.#atPrompt());
  }

  /** Types a command, and records until the prompt is back. */
  async type(command: string): Promise<void> {
    for (let at = 0; at < command.length; at += KEYS_PER_STEP) {
      await this.#tmux("send-keys", "-l", "--", command.slice(at, at + KEYS_PER_STEP));
      await systemClock.sleep(SAMPLE_MS);
      await this.#record(KEY_MS);
    }
    await this.#tmux("send-keys", "Enter");
    await until(
      `the end of ${command}`,
      async () => {
        await this.#record(SAMPLE_MS);
        return await this.#atPrompt();
      },
      undefined,
      SAMPLE_MS,
    );
    this.#now_ms += READ_MS;
  }

  async screen(): Promise<string> {
    return (await this.#rows()).join("\n");
  }

  svg(): string {
    return terminalSvg(this.frames, this.#now_ms + END_MS, SIZE);
  }

  async #record(passed_ms: number): Promise<void> {
    const rows = await this.#rows();
    const last = this.frames.at(-1);
    if (last && rows.every((row, at) => row === last.rows[at])) {
      this.#now_ms = Math.min(this.#now_ms + passed_ms, last.at_ms + STILL_MS_MAX);
      return;
    }
    this.#now_ms += passed_ms;
    this.frames.push({ at_ms: last ? this.#now_ms : 0, rows });
  }

  async #rows(): Promise<string[]> {
    const text = await this.#tmux("capture-pane", "-p", "-e");
    const rows = text.split("\n").slice(0, SIZE.rows);
    return Array.from({ length: SIZE.rows }, (_, at) => rows[at]?.trimEnd() ?? "");
  }

  /** True if the last line is an empty prompt. */
  async #atPrompt(): Promise<boolean> {
    const rows = (await this.#tmux("capture-pane", "-p")).trimEnd().split("\n");
    return rows.at(-1)?.trimEnd() === PROMPT.trim();
  }

  async #tmux(...args: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("tmux", {
      args: ["-u", "-S", this.#socket, ...args],
      env: this.#env,
      clearEnv: true,
    }).output();
    const decoder = new TextDecoder();
    if (!success) throw new Error(`tmux ${args[0]}: ${decoder.decode(stderr)}`);
    return decoder.decode(stdout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server");
  }
}

async function record(): Promise<void> {
  await using mesh = await DocumentMesh.start({ reply_ms: 1500 });
  await using terminal = new Terminal(mesh);
  await terminal.start(mesh.work);
  for (const line of TYPED) {
    const [ask = ""] = /ask-[0-9a-f]{4}/.exec(await terminal.screen()) ?? [];
    await terminal.type(line.replace("ASK", ask));
  }
  const picture = terminal.svg();
  Deno.writeTextFileSync(PICTURE, picture);
  print(`${await terminal.screen()}\n${PICTURE}: ${Math.ceil(picture.length / 1024)} kB`);
}

if (import.meta.main) await record();
