/** Stable names of tmux sessions, so that the peers of a session or group share one circle. */

/** Maximum number of names. The oldest entry is dropped first. */
const SESSIONS_MAX = 10_000;

/** A session as tmux reports it. */
export interface ReportedSession {
  /** The process of its tmux server, which gives each session's id once. */
  readonly server_pid: string;
  /** For example `$3`. */
  readonly session_id: string;
  readonly session: string;
  /** Empty for a session without a group. */
  readonly session_group: string;
}

export class SessionNames {
  /** By session, and by group. */
  readonly #names = new Map<string, string>();

  /**
   * Gives each session its stable name: the name under which it, or a session of its group, was
   * first seen. A new group begins with its own name, which stays when its sessions are renamed.
   */
  nameAll<S extends ReportedSession>(reported: readonly S[]): S[] {
    const known = reported.filter((pane) => this.#names.has(sessionKey(pane)));
    for (const pane of [...known, ...reported]) this.#learn(pane);
    return reported.map((pane) => ({
      ...pane,
      session: this.#names.get(sessionKey(pane)) ?? pane.session,
    }));
  }

  #learn(reported: ReportedSession): void {
    const { session, session_group } = reported;
    const key = sessionKey(reported), group = groupKey(reported);
    const ofGroup = group && this.#names.get(group);
    const name = this.#names.get(key) || ofGroup || session_group || session;
    this.#names.set(key, name);
    if (group && !ofGroup) this.#names.set(group, name);
    for (const oldest of this.#names.keys()) {
      if (this.#names.size <= SESSIONS_MAX) break;
      this.#names.delete(oldest);
    }
  }
}

function sessionKey({ server_pid, session_id }: ReportedSession): string {
  return `${server_pid} ${session_id}`;
}

function groupKey({ server_pid, session_group }: ReportedSession): string | undefined {
  return session_group === "" ? undefined : `${server_pid} group ${session_group}`;
}
