/** The subagents of the served session: its child sessions, and theirs. Reports start and end. */

import type { Frame } from "./connection.ts";
import type { Properties } from "./opencode.ts";

/** Maximum child sessions remembered. A start of a forgotten session is not noticed again. */
const KNOWN_MAX = 1000;

export class Subagents {
  readonly #send: (frame: Frame) => void;
  /** The kind of each child session. */
  readonly #types = new Map<string, string>();
  readonly #running = new Set<string>();

  constructor(send: (frame: Frame) => void) {
    this.#send = send;
  }

  /** Follows an event of any session; `served` is the id of the session that is the peer's. */
  follow(type: string, { info, sessionID, status }: Properties, served: string | undefined): void {
    const id = sessionID ?? info?.id;
    if (id === undefined) return;
    if (type === "session.created") {
      const parent = info?.parentID;
      const isChild = parent !== undefined && (parent === served || this.#types.has(parent));
      if (isChild) this.#add(id, info?.agent ?? "");
    } else if (!this.#types.has(id) && !this.#running.has(id)) return;
    else if (type === "session.status" && status?.type !== "idle") this.#start(id);
    else if (/^session\.(idle|deleted|status)$/.test(type)) this.#end(id);
  }

  /** Reports the running subagents to a daemon that may not know them. */
  reportAgain(): void {
    for (const id of this.#running) this.#report(id, "started");
  }

  #add(id: string, type: string): void {
    this.#types.set(id, type);
    const [oldest] = this.#types.keys();
    if (this.#types.size > KNOWN_MAX && oldest !== undefined) this.#types.delete(oldest);
    this.#start(id);
  }

  #start(id: string): void {
    if (this.#running.has(id)) return;
    this.#running.add(id);
    this.#report(id, "started");
  }

  #end(id: string): void {
    if (this.#running.delete(id)) this.#report(id, "ended");
  }

  #report(agent_id: string, phase: "started" | "ended"): void {
    const agent_type = this.#types.get(agent_id) ?? "";
    this.#send({ type: "subagent", agent_id, agent_type, phase });
  }
}
