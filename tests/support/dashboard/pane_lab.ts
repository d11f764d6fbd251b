/** A dashboard whose daemon has a tmux of its own: programs in panes, folders, and spawns. */

import assert from "node:assert/strict";
import { linkPane } from "protocol/lifecycle.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { temporary } from "../programs/child.ts";
import { print, until } from "../waiting.ts";
import { DashboardLab } from "./dashboard_lab.ts";

/** A program that shows its lines and repeats what is typed, as an agent in a pane does. */
const AGENT = `printf '\\033[1;32mready\\033[0m \\033[38;2;255;120;0mto work\\033[0m\\n'; exec cat`;

/** A test with such a lab; it fails if a page did what none may do. */
export function paneTest(
  name: string,
  run: (lab: PaneLab) => Promise<void>,
  settings: Record<string, string> = {},
): void {
  Deno.test(name, async () => {
    const lab = await PaneLab.start(settings);
    if (!lab) return print(`skipped: ${name} (no Chromium; install the package chromium)`);
    await using _lab = lab;
    await run(lab);
    assert.deepEqual(lab.dashboard.offences, []);
  });
}

/** A command that shows an agent's screen: colours, line drawings, a prompt. */
export const AGENT_SCREEN =
  "printf '\\033[1;32m✓\\033[0m 41 tests passed \\033[2m(12.3 s)\\033[0m\\n" +
  "\\033[1;31m✗\\033[0m login.test.ts \\033[38;2;255;150;60mflaky\\033[0m\\n\\n" +
  "\\033[31m- await sleep(100);\\033[0m\\n\\033[32m+ await clock.tick();\\033[0m\\n\\n" +
  "╭──────────────────────────────╮\\n│ 2 files changed, 1 test left │\\n" +
  "╰──────────────────────────────╯\\n> '; exec cat";

export interface PanedPeer {
  readonly peer_id: string;
  readonly pane_id: string;
  readonly pid: number;
}

export class PaneLab implements AsyncDisposable {
  readonly dashboard: DashboardLab;
  /** The folder in which agents may start, with the folders `api` and `app/src`. */
  readonly folder: string;
  readonly #temporary: { readonly path: string } & Disposable;

  private constructor(dashboard: DashboardLab, at: { readonly path: string } & Disposable) {
    this.dashboard = dashboard;
    this.#temporary = at;
    this.folder = at.path;
  }

  /** Undefined without Chromium. */
  static async start(more: Record<string, string> = {}): Promise<PaneLab | undefined> {
    const at = temporary();
    for (const name of ["api", "app/src"]) {
      Deno.mkdirSync(`${at.path}/${name}`, { recursive: true });
    }
    const settings = {
      TMUX: "",
      TMUX_TMPDIR: at.path,
      MESH_SPAWN__COMMANDS: JSON.stringify({
        generic: ["sh", "-c", AGENT],
        gemini: ["sh", "-c", "exec cat", "--model", "small"],
      }),
      MESH_SPAWN__PROFILES: JSON.stringify({
        careful: { backend: "generic", args: ["--slow"], env: { SECRET: "hidden value" } },
      }),
      MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([at.path]),
      ...more,
    };
    const dashboard = await DashboardLab.start(settings);
    if (!dashboard) {
      at[Symbol.dispose]();
      return undefined;
    }
    await dashboard.startTerminal();
    return new PaneLab(dashboard, at);
  }

  get #socket(): string {
    return `${this.folder}/tmux-${Deno.uid()}/default`;
  }

  /** Runs the tmux program on the server of the agents. */
  tmux(...args: string[]): string {
    const { success, stdout, stderr } = this.#tmux(args);
    if (!success) throw new Error(`tmux ${args[0]}: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout).trimEnd();
  }

  /** Runs a command in a new pane of 80 × 24; returns the pane's id. */
  pane(command: string = AGENT, session = "work"): string {
    Deno.mkdirSync(`${this.folder}/tmux-${Deno.uid()}`, { recursive: true, mode: 0o700 });
    const size = ["-x", "80", "-y", "24", "-c", `${this.folder}/api`];
    return this.tmux(
      "new-session",
      "-d",
      "-s",
      session,
      ...size,
      "-P",
      "-F",
      "#{pane_id}",
      command,
    );
  }

  /** A peer whose program runs in a pane; the daemon has proved both. */
  async peer(name: string, command: string = AGENT): Promise<PanedPeer> {
    const pane_id = this.pane(command, name);
    await until("the program", () => this.tmux("capture-pane", "-p", "-t", pane_id));
    return await this.adopt(pane_id, name);
  }

  /** Makes a peer of the program in a pane. */
  async adopt(pane_id: string, name: string): Promise<PanedPeer> {
    const body = { backend: "generic", name, circle: "work", tmux_socket: this.#socket } as const;
    const linked = await this.dashboard.call(linkPane, { params: { pane_id }, query: {}, body });
    assert.ok(linked.linked, JSON.stringify(linked));
    const pid = Number(this.tmux("display-message", "-p", "-t", pane_id, "#{pane_pid}"));
    return { peer_id: linked.peer_id, pane_id, pid };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dashboard[Symbol.asyncDispose]();
    const { success, stdout } = this.#tmux(["display-message", "-p", "#{pid}"]);
    if (success) {
      this.#tmux(["kill-server"]);
      const pid = Number(new TextDecoder().decode(stdout));
      await until("the end of tmux", () => !isAlive(pid));
    }
    this.#temporary[Symbol.dispose]();
  }

  #tmux(args: readonly string[]): Deno.CommandOutput {
    return new Deno.Command("tmux", {
      args: ["-u", "-S", this.#socket, "-f", "/dev/null", ...args],
      env: { TMUX: "", LC_ALL: "C.UTF-8" },
    }).outputSync();
  }
}
