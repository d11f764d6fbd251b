/** Who sends a request, where the kernel can prove it (contract 2, 6 and 10). */

import type { Caller } from "kit/http/route.ts";
import type { TcpConnection } from "../../host/sockets/sockets.ts";
import type { CallerFacts } from "../../host/sockets/caller_facts.ts";
import type { AgentProcesses } from "./agent_processes.ts";

export interface CallersDeps extends CallerFacts {
  /** Where the daemon listens; `port` is undefined until it is known. */
  readonly local: () => { readonly host: string; readonly port: number | undefined };
  readonly agentProcesses: AgentProcesses;
  readonly processes: { parentOf(pid: number): number | undefined };
}

/** The processes that a hook names: its own, and its agent's. */
export interface HookProcesses {
  readonly hook_pid?: number | undefined;
  readonly agent_pid: number | undefined;
}

/** The header in which a CLI that runs in a terminal names its process. */
const TERMINAL_HEADER = "x-mesh-terminal";
/** The surface that only pages are. */
const PAGES = "dashboard";
const ROOT = 0;
/** How many ancestors of a hook's process are searched for its agent. */
const GENERATIONS_MAX = 32;

export class Callers {
  readonly #deps: CallersDeps;

  constructor(deps: CallersDeps) {
    this.#deps = deps;
  }

  /** Whether this platform can tell callers apart by their user. */
  get canIdentify(): boolean {
    return this.#deps.sockets.canIdentify;
  }

  /**
   * Whether a socket is proved to belong to the daemon's user or to root. Always true on platforms
   * that cannot tell.
   */
  isOwnUser(remote: Deno.NetAddr | undefined): boolean {
    const { sockets, uid } = this.#deps;
    if (!sockets.canIdentify || remote === undefined) return true;
    const socketEnd = sockets.find(this.#connectionOf(remote));
    return socketEnd !== undefined && (socketEnd.uid === uid || socketEnd.uid === ROOT);
  }

  /**
   * Whether the kernel proves that this process, or one of its descendants, sends the request.
   * `max` limits how many descendants are checked.
   */
  isProcess(pid: number | undefined, { remote }: Pick<Caller, "remote">, max?: number): boolean {
    return pid !== undefined && remote !== undefined &&
      this.#deps.sockets.ownsSocket(pid, this.#connectionOf(remote), max);
  }

  /**
   * True if a peer's process sends the request, or a descendant that no other agent has started.
   * A peer that an agent starts in its shell does not speak for the agent.
   */
  isPeerProcess(pid: number, caller: Pick<Caller, "remote">): boolean {
    return this.isProcess(pid, caller, Infinity) && !this.#isOtherBelow(pid, caller);
  }

  /** True if another agent below this process sends the request, or a process that it started. */
  #isOtherBelow(pid: number, caller: Pick<Caller, "remote">): boolean {
    return this.#deps.agentProcesses.all().some(({ agent_pid: other }) =>
      other !== null && other !== pid && this.#isAncestor(pid, other) &&
      this.isProcess(other, caller, Infinity)
    );
  }

  /**
   * The process that sends the request, if an agent's process or `own` may send it. `own` is the
   * process on the record of the peer that the caller claims to be.
   */
  processOf({ remote }: Pick<Caller, "remote">, own: number | undefined): number | undefined {
    if (remote === undefined) return undefined;
    const { agentProcesses, sockets } = this.#deps;
    if (own === undefined && !agentProcesses.isAnyRunning) return undefined;
    const connection = this.#connectionOf(remote);
    return sockets.holderOf(connection) ??
      (own !== undefined && sockets.ownsSocket(own, connection) ? own : undefined);
  }

  /** True if a process may be an agent's alone. */
  mayBeAgent(pid: number): boolean {
    return this.#deps.agentProcesses.mayBeAgent(pid);
  }

  /**
   * The processes that a hook names. A process is left out unless the kernel proves that it is the
   * hook's own process or its agent's. An agent's hook does not name the agent that started it.
   */
  provenProcesses(
    { hook_pid, agent_pid }: HookProcesses,
    caller: Pick<Caller, "remote">,
  ): HookProcesses {
    const hook = this.isProcess(hook_pid, caller) ? hook_pid : undefined;
    const isAncestor = hook !== undefined && this.#isAncestor(agent_pid, hook);
    const proven = agent_pid !== undefined && (isAncestor || this.isProcess(agent_pid, caller)) &&
      !this.#isOtherBelow(agent_pid, caller);
    return { hook_pid: hook, agent_pid: proven ? agent_pid : undefined };
  }

  #isAncestor(ancestor: number | undefined, pid: number): boolean {
    let at: number | undefined = pid;
    for (let depth = 0; at !== undefined && depth < GENERATIONS_MAX; depth++) {
      if (at === ancestor) return true;
      at = this.#deps.processes.parentOf(at);
    }
    return false;
  }

  /**
   * Whether a registered agent, or a process it started, sends the request. All descendants are
   * checked, so that an agent with many child processes is recognized, too.
   */
  isAgent(caller: Pick<Caller, "remote">): boolean {
    return this.#deps.agentProcesses.all().some(({ agent_pid }) =>
      agent_pid !== null && this.isProcess(agent_pid, caller, Infinity)
    );
  }

  /**
   * Whether the human sends the request, either from a page that a person signed in to, or from the
   * CLI at a terminal that a person opened. False in both cases if an agent's process sends it.
   */
  isHuman(caller: Caller, headers: Headers): boolean {
    // A request without a socket comes through the relay, which has authenticated the browser.
    if (caller.remote === undefined) return caller.human;
    if (caller.human) return !this.isAgent(caller);
    const pid = Number(headers.get(TERMINAL_HEADER) ?? NaN);
    if (!Number.isSafeInteger(pid) || pid <= 0 || !this.isProcess(pid, caller)) return false;
    return this.#deps.isPersonAtTerminal(pid, this.#deps.agentProcesses.all());
  }

  /**
   * Whether an answer in the human's name counts as the human's (contract 2). A surface, which is a
   * program that is not an agent's, vouches for its author. A page vouches for nobody: it counts
   * like any other message of the page, whichever surface it names.
   */
  isHumanAnswer(caller: Caller, headers: Headers, surface?: string): boolean {
    const isPage = caller.via !== undefined || surface === PAGES;
    return isPage ? this.isHuman(caller, headers) : !this.isAgent(caller);
  }

  /** Whether the caller may open a page that speaks as the human. */
  mayOpenPage(caller: Caller, headers: Headers): boolean {
    if (this.isHuman(caller, headers)) return true;
    // On a platform that cannot prove terminals, the token distinguishes the human from other
    // users.
    return !this.canIdentify && caller.holds_token;
  }

  #connectionOf(remote: Deno.NetAddr): TcpConnection {
    const { host, port = 0 } = this.#deps.local();
    return { remote, local_host: host, local_port: port };
  }
}
