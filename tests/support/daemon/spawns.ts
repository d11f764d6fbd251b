/** Fake tmux panes and processes, and worlds in which agents can be spawned. */

import type {
  Adapter,
  Hooks,
  ResumableSession,
  ResumeResult,
} from "../../../daemon/features/agents/adapter.ts";
import type { Launch, OpenResult, Terminals } from "../../../daemon/host/tmux/terminals.ts";
import type { Pane } from "../../../daemon/host/tmux/pane.ts";
import { paneRecord } from "../host/fake_panes.ts";
import { post } from "./peer_clients.ts";
import { FakeProcesses, type World, world, type WorldOptions } from "../world.ts";

export const SOCKET = "/missing/tmux-test/default";

/** Panes whose programs run until the test or a signal ends them. */
export class FakeTerminals implements Terminals {
  home = "/home/sam";
  readonly socket = SOCKET;
  readonly panes = new Map<string, Pane>();
  readonly launches: (Launch & { pane_id: string; how: string })[] = [];
  readonly kept = new Set<string>();
  /** Reason why opening a pane fails; undefined if it works. */
  broken: string | undefined;
  there = true;
  /** True if the commands' programs exist. */
  installed = true;
  /** True if other programs run in the panes, too. */
  shared = false;
  readonly #processes: FakeProcesses;
  #pids = 1000;
  #pane_ids = 0;

  constructor(processes: FakeProcesses) {
    this.#processes = processes;
    processes.endOnSignal = (pid) => this.end(pid);
  }

  /** Signals that the processes ignore. */
  set deaf(signals: readonly string[]) {
    this.#processes.ignored = signals;
  }

  isAvailable(): Promise<boolean> {
    return Promise.resolve(this.there);
  }

  openWindow(_socket: string, session: string, launch: Launch): Promise<OpenResult> {
    return this.#open(session, launch, "window");
  }

  splitWindow(_socket: string, pane_id: string, launch: Launch): Promise<OpenResult> {
    const { session = "none" } = this.panes.get(pane_id) ?? {};
    return this.#open(session, launch, `split ${pane_id}`);
  }

  getPane(_socket: string, pane_id: string): Promise<Pane | undefined> {
    return Promise.resolve(this.panes.get(pane_id));
  }

  isGone(_socket: string, pane_id: string): Promise<boolean> {
    return Promise.resolve(this.panes.get(pane_id)?.dead ?? true);
  }

  close(_socket: string, pane_id: string): Promise<void> {
    this.panes.delete(pane_id);
    return Promise.resolve();
  }

  /** The panes whose windows a person's terminal shows. */
  readonly watched = new Set<string>();

  isWatched(_socket: string, pane_id: string): Promise<boolean> {
    return Promise.resolve(this.watched.has(pane_id));
  }

  find(_socket: string, mark: string): Promise<Pane | undefined> {
    const launch = this.launches.find((launch) => launch.mark === mark);
    return Promise.resolve(launch && this.panes.get(launch.pane_id));
  }

  addedWords(_socket: string, pane_id: string): Promise<readonly string[]> {
    const launch = this.launches.findLast((launch) => launch.pane_id === pane_id);
    return Promise.resolve(launch?.added ?? []);
  }

  closeIfSame(
    _socket: string,
    { pane_id, pane_pid }: Pick<Pane, "pane_id" | "pane_pid">,
  ): Promise<boolean> {
    if (this.panes.get(pane_id)?.pane_pid !== pane_pid) return Promise.resolve(false);
    this.panes.delete(pane_id);
    if (!this.#processes.ignored.includes("SIGHUP")) this.#processes.end(pane_pid);
    return Promise.resolve(true);
  }

  keep(_socket: string, pane_id: string, kept: boolean): Promise<void> {
    if (kept) this.kept.add(pane_id);
    else this.kept.delete(pane_id);
    return Promise.resolve();
  }

  respawn(_socket: string, seen: Pane, launch: Launch): Promise<OpenResult> {
    if (this.broken) return Promise.resolve({ ok: false, reason: this.broken });
    const pane = { ...seen, pane_pid: this.#start(), dead: false };
    this.panes.set(seen.pane_id, pane);
    this.launches.push({ ...launch, pane_id: seen.pane_id, how: "respawn" });
    return Promise.resolve({ ok: true, pane });
  }

  hasProgram(): Promise<boolean> {
    return Promise.resolve(this.installed);
  }

  isSameJob(pid: number, job_pid: number): boolean {
    return this.isWithin(pid, job_pid);
  }

  isWithin(pid: number, pane_pid: number): boolean {
    return pid === pane_pid || this.#processes.parentOf(pid) === pane_pid;
  }

  isShared(): Promise<boolean> {
    return Promise.resolve(this.shared);
  }

  /** Ends a program. Its pane closes, unless it is kept. */
  end(pid: number): void {
    this.#processes.end(pid);
    for (const pane of this.panes.values()) {
      if (pane.pane_pid !== pid) continue;
      if (this.kept.has(pane.pane_id)) this.panes.set(pane.pane_id, { ...pane, dead: true });
      else this.panes.delete(pane.pane_id);
    }
  }

  /** Adds a pane in which a user has started a program. */
  userPane(session = "office"): Pane {
    const pane_id = `%${++this.#pane_ids}`;
    const pane = paneRecord({ pane_id, pane_pid: this.#start(), session, window: "@4" });
    this.panes.set(pane_id, pane);
    return pane;
  }

  #open(session: string, launch: Launch, how: string): Promise<OpenResult> {
    if (this.broken) return Promise.resolve({ ok: false, reason: this.broken });
    const pane = this.userPane(session);
    this.launches.push({ ...launch, pane_id: pane.pane_id, how });
    return Promise.resolve({ ok: true, pane });
  }

  #start(): number {
    this.#processes.start(++this.#pids);
    return this.#pids;
  }
}

/** An agent whose sessions can be resumed and copied, unless their id says that they are lost. */
export const codex: Adapter = {
  backend: "codex",
  transports: () => [],
  transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
  observe: () => Promise.resolve(undefined),
  resume: (session) => argsOf("resume", session),
  fork: (session) => argsOf("fork", session),
};

function argsOf(command: string, { runtime_session_id }: ResumableSession): ResumeResult {
  return runtime_session_id.startsWith("lost")
    ? { ok: false, reason: "session_file_missing" }
    : { ok: true, args: [command, runtime_session_id] };
}

/** An agent without hooks that cannot be resumed. */
export const generic: Adapter = {
  backend: "generic",
  transports: () => [],
  transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
  observe: () => Promise.resolve(undefined),
};
const hooks: Hooks = {
  codex: {
    read: () => ({ event: "SessionStart", session_id: "s-1" }),
    answer: () => ({}),
  },
};

export const COMMANDS = {
  codex: ["/opt/bin/codex", "--model", "gpt-9", "--sandbox", "read-only", "--key", "k-secret"],
  generic: ["sh", "agent.sh"],
};

export type WorldSettings = NonNullable<WorldOptions["settings"]>;

export interface SpawningOptions extends WorldOptions {
  readonly isConfigured?: boolean;
  /** Opens the world; by default, one that stands alone. */
  readonly open?: (options: WorldOptions) => World | Promise<World>;
}

/** A world with a folder in which agents can be spawned. */
export async function spawningWorld(
  { isConfigured = true, open = world, ...options }: SpawningOptions = {},
) {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "mesh-spawn-" }));
  const processes = options.processes ?? new FakeProcesses();
  const terminals = new FakeTerminals(processes);
  if (!isConfigured) terminals.home = folder;
  const w = await open({
    adapters: [codex, generic],
    hooks,
    terminals,
    ...options,
    processes,
    settings: {
      ...(isConfigured && {
        "spawn.commands": JSON.stringify(COMMANDS),
        "spawn.allowed_paths": JSON.stringify([folder]),
      }),
      ...options.settings,
    },
  });
  return {
    w,
    folder,
    terminals,
    processes,
    async [Symbol.asyncDispose](): Promise<void> {
      await w[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Advances the clock by quarter seconds until a promise settles. */
export async function advanceUntilSettled<T>(w: World, work: Promise<T>): Promise<T> {
  let done = false;
  const watched = work.finally(() => done = true);
  watched.catch(() => undefined); // It is awaited below.
  await w.clock.advanceUntil("the end of the work", () => done);
  return await watched;
}

/** Registers the agent of a pane, as its hook does. */
export function registerSpawned(w: World, pane_id: string, more: Record<string, unknown> = {}) {
  const location = { path: "/work", backend: "codex", pane_id, tmux_socket: SOCKET };
  return post(w, "/peers", { ...location, tmux_session: "main", ...more });
}
