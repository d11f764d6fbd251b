/** The machine of a wake storm: agents with sessions, of which two programs may never share one. */

import assert from "node:assert/strict";
import type {
  Adapter,
  AgentPeer,
  AgentTransport,
  Hooks,
} from "../../../daemon/features/agents/adapter.ts";
import type { Launch, OpenResult } from "../../../daemon/host/tmux/terminals.ts";
import type { Pane } from "../../../daemon/host/tmux/pane.ts";
import { FakeTerminals } from "../../support/daemon/spawns.ts";
import { type FakeSession, sessionFilesOf } from "../../support/sessions/fake_session_files.ts";
import { FakeProcesses } from "../../support/world.ts";

/** The sessions, each of the agent with this name. */
export const AGENTS = ["api", "db", "ui"] as const;
export type AgentName = (typeof AGENTS)[number];

/** The panes of all runs of the daemon. What a run does after its end has no effect. */
class Terminals extends FakeTerminals {
  readonly #machine: WakeMachine;

  constructor(processes: FakeProcesses, machine: WakeMachine) {
    super(processes);
    this.#machine = machine;
  }

  override openWindow(socket: string, session: string, launch: Launch): Promise<OpenResult> {
    return super.openWindow(socket, session, launch).then((opened) => {
      if (opened.ok) this.#machine.opened(launch.argv.at(-1) ?? "", opened.pane);
      return opened;
    });
  }
}

/** The terminals as one run of the daemon reaches them: its end makes every call a no-op. */
export function terminalsOfRun(machine: WakeMachine) {
  let hasEnded = false;
  const NOTHING: ReadonlySet<PropertyKey> = new Set(["openWindow", "closeIfSame", "close"]);
  const terminals = new Proxy(machine.terminals, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) =>
        hasEnded && NOTHING.has(name)
          ? Promise.resolve({ ok: false, reason: "the daemon has ended" })
          : value.apply(target, args);
    },
  });
  return { terminals, end: () => void (hasEnded = true) };
}

export class WakeMachine {
  readonly processes = new FakeProcesses();
  readonly terminals: Terminals;
  readonly sessions: FakeSession[];
  /** The session of each process that was started. */
  readonly #sessionOf = new Map<number, string>();
  /** The number of times that each delivery was typed. */
  readonly typed = new Map<string, number>();
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    this.terminals = new Terminals(this.processes, this);
    this.sessions = AGENTS.map((name) => ({
      session_id: name,
      title: null,
      folder,
      updated_at: 0,
    }));
  }

  /** A program runs in a new pane with a session. */
  opened(session: string, { pane_pid }: Pane): void {
    this.#sessionOf.set(pane_pid, session);
    this.checkOneWriter();
  }

  /** The running programs of a session. */
  runningOf(session: string): number[] {
    return [...this.#sessionOf].filter(([pid, of]) => of === session && this.processes.isAlive(pid))
      .map(([pid]) => pid);
  }

  paneOf(pid: number): Pane | undefined {
    return [...this.terminals.panes.values()].find(({ pane_pid }) => pane_pid === pid);
  }

  checkOneWriter(): void {
    for (const name of AGENTS) {
      const running = this.runningOf(name);
      assert.ok(running.length <= 1, `${running.length} programs run the session of ${name}`);
    }
  }

  /** The adapter for one run of the daemon, after whose end nothing is typed. */
  adapter(hasEnded: () => boolean): Adapter {
    const pane: AgentTransport = {
      name: "pane",
      check: (peer) =>
        Promise.resolve(
          this.#reads(peer) ? { ready: true } : { ready: false, reason: "agent_gone" },
        ),
      deliver: (peer, { delivery_id }) => {
        if (hasEnded()) return Promise.resolve({ state: "unclear", reason: "transport_failed" });
        if (!this.#reads(peer)) return Promise.resolve({ state: "refused", reason: "agent_gone" });
        this.typed.set(delivery_id, (this.typed.get(delivery_id) ?? 0) + 1);
        return Promise.resolve({ state: "sent" });
      },
    };
    return {
      backend: "codex",
      transports: () => [pane],
      transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
      observe: () => Promise.resolve(undefined),
      resume: ({ runtime_session_id: id }) => ({ ok: true, args: ["resume", id] }),
      processOf: (session) => this.runningOf(session)[0],
    };
  }

  sessionFiles() {
    return { codex: sessionFilesOf(this.sessions) };
  }

  #reads({ agent_pid, agent_started }: AgentPeer): boolean {
    return agent_pid !== null && this.processes.isAlive(agent_pid, agent_started ?? undefined) &&
      this.paneOf(agent_pid) !== undefined;
  }
}

export const HOOKS: Hooks = {
  codex: {
    read: () => ({ event: "SessionStart", session_id: "none" }),
    answer: () => ({}),
  },
};
