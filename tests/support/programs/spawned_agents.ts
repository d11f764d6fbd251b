/** Spawned agents in a tmux of their own, and every process that we run for them. */

import { readdirSync, readFileSync } from "node:fs";
import { RealDaemon } from "./child.ts";
import { proportionalMb, residentMb } from "./process_facts.ts";
import { isOurs, meshCommand } from "./program.ts";
import { until } from "../waiting.ts";

/** Half of the agents read their pane only; the other half has the tools, over a stdio proxy. */
export const FLEET_SIZE = 20;

/** First messages of an agent to its MCP server. */
const INITIALIZE = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "agent", version: "1" },
    },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: 2, method: "tools/list" },
];

/** A process that runs because of us. */
export interface FleetProcess {
  readonly pid: number;
  readonly kind: "daemon" | "stdio proxy" | "tmux client" | "other";
  readonly command_line: string;
  readonly resident_mb: number;
  /** Its own memory, and its share of shared memory. */
  readonly proportional_mb: number;
}

export class AgentFleet implements AsyncDisposable {
  readonly daemon: RealDaemon;
  readonly #dir: string;
  readonly #socket: string;
  /** Ids of the panes of the spawned agents. */
  readonly panes: string[] = [];

  private constructor(daemon: RealDaemon, dir: string) {
    this.daemon = daemon;
    this.#dir = dir;
    this.#socket = `${dir}/tmux-${Deno.uid()}/default`;
  }

  static async start(dir: string): Promise<AgentFleet> {
    const greeting = INITIALIZE.map((message) => JSON.stringify(message)).join("\n");
    Deno.writeTextFileSync(`${dir}/greeting`, `${greeting}\n`);
    const mesh = meshCommand(["mcp"]).join(" ");
    const proxied = `cat ${dir}/greeting - | ${mesh} >> ${dir}/answers`;
    const settings = {
      TMUX: "",
      TMUX_TMPDIR: dir,
      MESH_SPAWN__COMMANDS: JSON.stringify({ generic: ["cat"], gemini: ["sh", "-c", proxied] }),
      MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([dir]),
    };
    const fleet = new AgentFleet(await RealDaemon.start(dir, { settings }), dir);
    for (let member = 0; member < FLEET_SIZE; member++) {
      await fleet.#startAgent(member % 2 === 0 ? "generic" : "gemini", `member-${member}`);
    }
    const answered = () => fleet.#answers === FLEET_SIZE / 2;
    await until("the tools of all proxies", answered);
    return fleet;
  }

  /** Every process below the daemon, and every program of ours in the agents' panes. */
  processes(): FleetProcess[] {
    const all = listProcesses();
    const isDescendant = (pid: number, root: number): boolean =>
      pid === root ||
      (all.get(pid)?.parent ?? 0) > 0 && isDescendant(all.get(pid)?.parent ?? 0, root);
    const server = Number(this.tmux("display-message", "-p", "#{pid}"));
    return [...all].flatMap(([pid, { command_line }]) => {
      const isDaemonProcess = isDescendant(pid, this.daemon.pid);
      if (
        !isDaemonProcess &&
        !(isDescendant(pid, server) && isOurs(command_line) && !command_line.startsWith("sh "))
      ) {
        return [];
      }
      return [{
        pid,
        kind: this.#kindOf(pid, command_line),
        command_line,
        resident_mb: residentMb(pid),
        proportional_mb: proportionalMb(pid),
      }];
    });
  }

  tmux(...args: string[]): string {
    const { success, stdout, stderr } = new Deno.Command("tmux", {
      args: ["-u", "-S", this.#socket, ...args],
      env: { TMUX: "" },
    }).outputSync();
    if (!success) throw new Error(`tmux ${args[0]}: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout).trimEnd();
  }

  async get(path: string): Promise<Record<string, unknown>> {
    return await (await fetch(`${this.daemon.base}${path}`)).json();
  }

  async post(path: string, body: unknown): Promise<Record<string, unknown>> {
    const init = { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${this.daemon.base}${path}`, init);
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = Number(this.tmux("display-message", "-p", "#{pid}"));
    const proxies = this.processes().filter(({ kind }) => kind === "stdio proxy");
    this.tmux("kill-server");
    const pids = [server, ...proxies.map(({ pid }) => pid)];
    await until("the agents' end", () => !pids.some((pid) => listProcesses().has(pid)));
    await this.daemon.stop();
  }

  /** Spawned by the daemon; it registers as an agent's own hook would. */
  async #startAgent(backend: string, name: string): Promise<void> {
    const { pane_id } = await this.post("/spawn", { backend, path: this.#dir, name });
    const shown = this.tmux("display-message", "-p", "-t", String(pane_id), "#{pane_pid}");
    const location = { pane_id, tmux_socket: this.#socket, agent_pid: Number(shown) };
    await this.post("/peers", { backend, path: this.#dir, ...location });
    this.panes.push(String(pane_id));
  }

  /** Number of proxies that have answered their last request. */
  get #answers(): number {
    try {
      return Deno.readTextFileSync(`${this.#dir}/answers`).match(/"id":2\b/g)?.length ?? 0;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return 0;
      throw error;
    }
  }

  #kindOf(pid: number, command_line: string): FleetProcess["kind"] {
    if (pid === this.daemon.pid) return "daemon";
    if (isOurs(command_line, "mcp")) return "stdio proxy";
    return /^(?:\S*\/)?tmux /.test(command_line) ? "tmux client" : "other";
  }
}

/** All processes of the machine: their command lines and their parents. */
function listProcesses(): Map<number, { command_line: string; parent: number }> {
  const found = new Map<number, { command_line: string; parent: number }>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const command_line = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ")
        .trim();
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (state !== "Z") found.set(Number(name), { command_line, parent: Number(parent) });
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error; // It has ended meanwhile.
    }
  }
  return found;
}
