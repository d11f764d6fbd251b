/** Panes and agents for tests of lifecycles: tmux as a list, and a scripted transport. */

import type {
  Adapter,
  AgentTransport,
  Observation,
} from "../../../daemon/features/agents/adapter.ts";
import type { PaneFacts, PaneObserver } from "../../../daemon/host/tmux/pane_observer.ts";
import type { ReportedWait } from "protocol/peers/record.ts";
import type { Reason } from "protocol/reasons.ts";
import type { Pane } from "../../../daemon/host/tmux/pane.ts";
import type { Backend } from "protocol/agents/contract.ts";

export const SOCKET = "/missing/tmux-1/default";

/** A pane in which an agent may run. */
export function paneRecord(more: Partial<Pane> & Pick<Pane, "pane_id">): Pane {
  return {
    pane_pid: 100,
    dead: false,
    in_mode: false,
    synchronized: false,
    width: 80,
    height: 24,
    cursor_x: 0,
    cursor_y: 0,
    cursor_shown: true,
    written_s: 0,
    session: "work",
    window: "@1",
    command: "claude",
    cwd: "/work",
    ...more,
  };
}

/** tmux's panes, until a test removes them. */
export class FakePanes implements PaneObserver {
  readonly panes: PaneFacts[] = [];
  /** The process in each pane. */
  readonly within = new Map<string, number>();
  reachable = true;
  /** The rows of every screen. */
  rows: readonly string[] = [];

  open(pane_id: string, more: Partial<PaneFacts> = {}): PaneFacts {
    const pane = { ...paneRecord({ pane_id }), tmux_socket: SOCKET, foreground: null, ...more };
    this.panes.push(pane);
    if (pane.foreground) this.within.set(pane_id, pane.foreground.pid);
    return pane;
  }

  close(pane_id: string): void {
    this.panes.splice(this.panes.findIndex((pane) => pane.pane_id === pane_id), 1);
  }

  all(sockets: readonly string[]): Promise<PaneFacts[]> {
    const servers = [SOCKET, ...sockets];
    return Promise.resolve(this.panes.filter(({ tmux_socket }) => servers.includes(tmux_socket)));
  }

  /** All servers have their sockets in one folder. */
  everywhere(): Promise<PaneFacts[]> {
    return Promise.resolve(this.panes);
  }

  at(tmux_socket: string | null, pane_id: string) {
    if (!this.reachable) return Promise.resolve({ state: "unknown" } as const);
    const pane = this.panes.find((pane) =>
      pane.pane_id === pane_id && pane.tmux_socket === (tmux_socket ?? SOCKET)
    );
    return Promise.resolve(
      pane ? { state: "found", pane } as const : { state: "missing" } as const,
    );
  }

  async stateOf(tmux_socket: string | null, pane_id: string) {
    return (await this.at(tmux_socket, pane_id)).state;
  }

  screen(tmux_socket: string | null, pane_id: string) {
    if (!this.reachable) return Promise.resolve({ state: "unknown" } as const);
    const pane = this.panes.find((pane) =>
      pane.pane_id === pane_id && pane.tmux_socket === (tmux_socket ?? SOCKET)
    );
    const rows = this.rows;
    return Promise.resolve(
      pane ? { state: "found", pane, rows } as const : { state: "missing" } as const,
    );
  }

  holds({ pane_id }: PaneFacts, pid: number): boolean {
    return this.within.get(pane_id) === pid;
  }
}

/** An agent with one transport, which is ready unless a test gives a reason. */
export class FakeAgents implements Adapter {
  readonly backend: Backend;
  refusalReason: Reason | undefined;
  /** The dialog on the agent's screen. */
  dialog: ReportedWait | undefined;
  /** The observation of the agent from outside. */
  observation: Observation | undefined;
  /** Work of a test while the transport is checked. */
  onCheck: () => void = () => undefined;

  constructor(backend: Backend = "claude-code") {
    this.backend = backend;
  }

  transports(): readonly AgentTransport[] {
    const reason = this.refusalReason;
    return [{
      name: "pane",
      check: () => {
        this.onCheck();
        const waits_for = this.dialog;
        return Promise.resolve(
          reason ? { ready: false, reason, ...(waits_for && { waits_for }) } : { ready: true },
        );
      },
      deliver: () => Promise.resolve(reason ? { state: "refused", reason } : { state: "sent" }),
    }];
  }

  transport({ pane_id }: { pane_id: string | null }) {
    return pane_id === null ? "none" : "pane";
  }

  observe() {
    this.onCheck();
    return Promise.resolve(this.observation);
  }
}
