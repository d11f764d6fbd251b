/**
 * Kills a real daemon while it wakes an agent in a real tmux, in each stored phase of the wake: two
 * programs never have the session open, no ask is lost, and each is answered once.
 */

import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { isAlive } from "../../../daemon/host/processes.ts";
import { RealDaemon, spawn, temporary } from "../../support/programs/child.ts";
import { TextLineStream } from "../../support/programs/lines.ts";
import { Chance } from "../../support/seeded_random.ts";
import { until } from "../../support/waiting.ts";

/** The phases of a wake that need no person. The simulation kills in the others, too. */
export const PHASES = ["checking", "starting", "launched", "awake", "resting"] as const;
export type Phase = (typeof PHASES)[number];

const AGENT = fileURLToPath(new URL("agent.ts", import.meta.url));
const KILLER = fileURLToPath(new URL("killer.ts", import.meta.url));
const RUN = ["run", "-A", "--no-config", "--quiet"];

/** Time within which an ask is answered, and the agent sleeps again, after a kill. */
const SETTLE_MS_MAX = 30_000;

/** Numbers of faults; each one breaks a promise. */
export interface WakeFaults {
  doubled: number;
  started_twice: number;
  answered_twice: number;
  read_twice: number;
  panes_left: number;
}

interface LoggedAct {
  readonly pid: number;
  readonly act: string;
  readonly id: string;
}

/** A daemon whose agent `api` sleeps, with a tmux server of its own. */
class WakeKills implements AsyncDisposable {
  readonly #state = temporary();
  #daemon: RealDaemon | undefined;
  readonly faults: WakeFaults = {
    doubled: 0,
    started_twice: 0,
    answered_twice: 0,
    read_twice: 0,
    panes_left: 0,
  };

  constructor() {
    Deno.writeTextFileSync(this.#log, "");
  }

  /** Starts the daemon and the agent, which then ends. */
  async up(): Promise<void> {
    const { path } = this.#state;
    await this.#start();
    await this.#post("/peers", { name: "web", path, backend: "sdk" });
    await this.#post("/spawn", { backend: "claude-code", path, name: "api" });
    await until("its registration", () => this.#acts("registered")[0], SETTLE_MS_MAX);
    for (const { pid } of this.#acts("start")) Deno.kill(pid, "SIGTERM");
    await until("its sleep", async () => (await this.#get("/peers/api")).wake?.state === "asleep");
  }

  /** Asks the agent, and kills the daemon in this phase. Returns the phase that was stored then. */
  async killIn(phase: Phase, delay_us: number): Promise<string> {
    const starts = this.#acts("start").length;
    const pid = String(this.#daemon?.pid);
    const args = [KILLER, this.#database, phase, pid, String(delay_us)];
    const killer = spawn([...RUN, ...args], { stdout: "piped" });
    const lines = killer.stdout.pipeThrough(new TextLineStream()).getReader();
    await lines.read();
    const { correlation_id } = await this.#ask();
    await killer.status;
    await lines.cancel();
    await this.#daemon?.stop(); // It was killed; this waits for its end.
    const stored = this.#latestWake();
    await this.#start();
    const id = correlation_id ?? this.#latestAsk();
    await this.#untilAsleep(id);
    if (this.#acts("start").length > starts + 1) this.faults.started_twice++;
    this.faults.panes_left += this.#tmux("list-panes", "-a").length;
    return stored;
  }

  /** Counts the faults of all acts so far. */
  check(): WakeFaults {
    const count = (act: string) => {
      const ids = this.#acts(act).map(({ id }) => id);
      return ids.length - new Set(ids).size;
    };
    this.faults.doubled = this.#acts("double").length;
    this.faults.answered_twice = count("answered");
    this.faults.read_twice = count("read");
    return this.faults;
  }

  /** The killed daemon may have stored the ask and not answered. */
  async #ask(): Promise<{ correlation_id?: string }> {
    try {
      return await this.#post("/ask", { from_peer: "web", to_peer: "api", text: "Ready?" });
    } catch (error) {
      if (error instanceof TypeError) return {};
      throw error;
    }
  }

  /** Waits until the ask is answered and the agent sleeps again. */
  async #untilAsleep(correlation_id: string | undefined): Promise<void> {
    await until("its answer", async () => {
      return (await this.#get(`/asks/${correlation_id}`)).reply === "Yes";
    }, SETTLE_MS_MAX);
    await until("its sleep", async () => {
      const { wake } = await this.#get("/peers/api");
      return wake?.state === "asleep" && !this.#acts("start").some(({ pid }) => isAlive(pid));
    }, SETTLE_MS_MAX);
  }

  async #start(): Promise<void> {
    const { path } = this.#state;
    const argv = [Deno.execPath(), ...RUN, AGENT, path];
    const settings = {
      TMUX: `${this.#socket},1,0`,
      CLAUDE_CONFIG_DIR: `${path}/.claude`,
      MESH_DAEMON__WAKE: "always",
      MESH_DAEMON__WAKE_IDLE_MINUTES: "0",
      MESH_SPAWN__COMMANDS: JSON.stringify({ "claude-code": argv }),
      MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([path]),
    };
    this.#daemon = await RealDaemon.start(path, { settings });
  }

  get #socket(): string {
    return `${this.#state.path}/tmux.sock`;
  }

  get #log(): string {
    return `${this.#state.path}/agents.log`;
  }

  get #database(): string {
    return `${this.#state.path}/mesh.db`;
  }

  #latestWake(): string {
    return String(this.#read("select state as value from wakes order by seq desc limit 1"));
  }

  #latestAsk(): string | undefined {
    const found = this.#read(
      "select correlation_id as value from messages where kind = 'ask' order by seq desc limit 1",
    );
    return found === undefined ? undefined : String(found);
  }

  #read(sql: string): unknown {
    using database = new DatabaseSync(this.#database);
    return database.prepare(sql).get()?.["value"];
  }

  #acts(act: string): LoggedAct[] {
    return Deno.readTextFileSync(this.#log).split("\n").filter(Boolean).map((line) => {
      const [pid, act = "", id = ""] = line.split(" ");
      return { pid: Number(pid), act, id };
    }).filter((logged) => logged.act === act);
  }

  #tmux(...args: string[]): string[] {
    const command = new Deno.Command("tmux", { args: ["-S", this.#socket, ...args] });
    return new TextDecoder().decode(command.outputSync().stdout).split("\n").filter(Boolean);
  }

  async #get(path: string) {
    return await (await fetch(`${this.#daemon?.base}${path}`)).json();
  }

  async #post(path: string, body: unknown) {
    const init = { method: "POST", body: JSON.stringify(body) };
    return await (await fetch(`${this.#daemon?.base}${path}`, init)).json();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon?.stop();
    this.#tmux("kill-server");
    const isRunning = () => this.#acts("start").some(({ pid }) => isAlive(pid));
    await until("the agents' end", () => !isRunning());
    this.#state[Symbol.dispose]();
  }
}

/** Maximum repetitions of a kill that came after the wanted phase: some phases are short. */
const TRIES_MAX = 8;
/** Every second kill comes up to this long after the phase has begun. */
const DELAY_US_MAX = 20_000;

/** Kills the daemon this often, in one phase after the other. `hits`: kills that found each. */
export async function killInPhases(
  { kills, seed }: { readonly kills: number; readonly seed: number },
): Promise<{ hits: Readonly<Record<string, number>>; faults: WakeFaults }> {
  const chance = new Chance(seed);
  const hits: Record<string, number> = {};
  await using proof = new WakeKills();
  await proof.up();
  for (let kill = 0; kill < kills; kill++) {
    const phase = PHASES[kill % PHASES.length] ?? "checking";
    const isFirstRound = kill < PHASES.length;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const isLate = !isFirstRound && tries === 0 && chance.oneIn(2);
      const stored = await proof.killIn(phase, isLate ? chance.below(DELAY_US_MAX) : 0);
      hits[stored] = (hits[stored] ?? 0) + 1;
      if (stored === phase || isLate) break;
    }
  }
  return { hits, faults: proof.check() };
}
