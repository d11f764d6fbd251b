/** Identifies the sender of a request, where the kernel can prove it (contract 2, 6 and 10). */

import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import type { Caller } from "kit/http/route.ts";
import { agentOfCommand } from "../../features/agents/registry.ts";
import type { HookFacts } from "../../features/agents/adapter.ts";
import type { IdentityLookup } from "../../features/peers/identity/identity_lookup.ts";
import type { IdentityFacts } from "../../features/peers/store.ts";
import { isLoopback } from "../../host/paths.ts";
import {
  argumentsOf,
  commandOf,
  lineageOf,
  type ProcessId,
  processIdOf,
  type ProcessTable,
} from "../../host/processes.ts";
import type { TcpConnection } from "../../host/sockets/sockets.ts";
import type { CallerFacts } from "../../host/sockets/caller_facts.ts";
import type { AgentProcesses } from "../../features/peers/identity/agent_processes.ts";

interface CallersDeps extends CallerFacts {
  readonly clock: Clock;
  /** Where the daemon listens; `port` is undefined until it is known. */
  readonly local: () => { readonly host: string; readonly port: number | undefined };
  readonly agentProcesses: AgentProcesses;
  readonly identityLookup: Pick<IdentityLookup, "peerOfProcesses">;
  readonly processes: Pick<ProcessTable, "parentOf" | "startTimeOf">;
}

/** The processes that a hook names: its own, and its agent's. */
type HookProcesses = Pick<HookFacts, "hook_pid" | "agent_pid">;

/** The header in which a CLI that runs in a terminal names its process. */
const TERMINAL_HEADER = "x-mesh-terminal";
/** The surface that only pages are. */
const PAGES = "dashboard";
const ROOT = 0;
/** Interval between two looks at the connection of a caller that waits. */
const CONNECTION_CHECK_MS = 500;

export class Callers {
  readonly #deps: CallersDeps;

  constructor(deps: CallersDeps) {
    this.#deps = deps;
  }

  /** True if this platform can tell callers apart by their user. */
  get canIdentify(): boolean {
    return this.#deps.sockets.canIdentify;
  }

  /** True if a socket is proved to be of the daemon's user or root, or the platform cannot tell. */
  isOwnUser(remote: Deno.NetAddr | undefined): boolean {
    const { sockets, uid } = this.#deps;
    if (!sockets.canIdentify || remote === undefined) return true;
    const socketEnd = sockets.find(this.#connectionOf(remote));
    return socketEnd !== undefined && (socketEnd.uid === uid || socketEnd.uid === ROOT);
  }

  /** True if the kernel knows that a caller on this machine has closed its connection. */
  hasHungUp(caller: Pick<Caller, "remote">): boolean {
    return this.#isConnected(caller) === false;
  }

  /** Undefined if the kernel knows no connection of such callers. */
  #isConnected({ remote }: Pick<Caller, "remote">): boolean | undefined {
    const { sockets } = this.#deps;
    if (!sockets.canIdentify || remote === undefined || !isLoopback(remote.hostname)) {
      return undefined;
    }
    return sockets.find(this.#connectionOf(remote)) !== undefined;
  }

  /**
   * Waits for `work`, whose signal aborts when the caller hangs up. The request's own signal is not
   * enough: in Deno 2.9.6 it never aborts if the head of the request came without the whole body.
   */
  async whileConnected<T>(
    caller: Pick<Caller, "remote">,
    signal: AbortSignal,
    work: (signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    const done = new AbortController();
    const hungUp = new AbortController();
    // The kernel may not know the connection, such as that of a container with its own network.
    if (this.#isConnected(caller)) void this.#abortOnHangUp(caller, hungUp, done.signal);
    try {
      return await work(AbortSignal.any([signal, hungUp.signal]));
    } finally {
      done.abort();
    }
  }

  async #abortOnHangUp(
    caller: Pick<Caller, "remote">,
    hungUp: AbortController,
    done: AbortSignal,
  ): Promise<void> {
    while (!done.aborted && !hungUp.signal.aborted) {
      await pause(this.#deps.clock, CONNECTION_CHECK_MS, done);
      if (!done.aborted && this.hasHungUp(caller)) hungUp.abort();
    }
  }

  /** True if the kernel proves that the process, or one of `max` descendants, sends the request. */
  isProcess(pid: number | undefined, { remote }: Pick<Caller, "remote">, max?: number): boolean {
    return pid !== undefined && remote !== undefined &&
      this.#deps.sockets.holderWithin(pid, this.#connectionOf(remote), max) !== undefined;
  }

  /**
   * Compares a process with that of the nearest registered peer at or above the calling process
   * (contract 11). A peer that an agent starts in its shell does not speak for the agent.
   */
  compare(own: ProcessId | null, caller: Pick<Caller, "remote">): "itself" | "another" | undefined {
    const found = this.#ownerOf(own, caller);
    return found && (found.is_own ? "itself" : "another");
  }

  /** The nearest registered peer at or above the calling process. */
  agentOf(caller: Pick<Caller, "remote">): IdentityFacts | undefined {
    return this.#ownerOf(null, caller)?.peer;
  }

  #ownerOf(own: ProcessId | null, caller: Pick<Caller, "remote">) {
    const { identityLookup, processes } = this.#deps;
    const pid = this.#processOf(caller, own?.pid);
    return pid === undefined
      ? undefined
      : identityLookup.peerOfProcesses(lineageOf(processes, pid), own);
  }

  /** The process of this user that the kernel proves to send the request; undefined on macOS. */
  senderOf({ remote }: Pick<Caller, "remote">): number | undefined {
    return remote && this.#deps.sockets.holderOf(this.#connectionOf(remote));
  }

  /** The nearest registered peer at or above the calling process, where the kernel proves it. */
  peerOf(caller: Pick<Caller, "remote">): string | undefined {
    return this.agentOf(caller)?.peer_id;
  }

  /** True if this process sends the request, or a descendant of it that is no other peer's. */
  isPeerProcess(pid: number | undefined, caller: Pick<Caller, "remote">): boolean {
    const own = processIdOf(this.#deps.processes, pid);
    return own !== undefined && this.compare(own, caller) === "itself";
  }

  /** The process that sends the request, if an agent's process or `own` may send it. */
  #processOf({ remote }: Pick<Caller, "remote">, own: number | undefined): number | undefined {
    if (remote === undefined) return undefined;
    const { agentProcesses, sockets } = this.#deps;
    if (own === undefined && !agentProcesses.isAnyRunning) return undefined;
    const connection = this.#connectionOf(remote);
    return sockets.holderOf(connection) ??
      (own === undefined ? undefined : sockets.holderWithin(own, connection));
  }

  /**
   * The processes that a hook names. A process is left out unless the kernel proves that it is the
   * hook's own process or its agent's. An agent's hook does not name the agent that started it.
   */
  provenProcesses(
    named: HookProcesses,
    caller: Pick<Caller, "remote">,
  ): HookProcesses & Pick<HookFacts, "is_late"> {
    const { hook_pid, agent_pid } = named;
    const isAdopter = agent_pid !== undefined && this.#isAdopter(agent_pid);
    const isAgent = !isAdopter && this.isPeerProcess(agent_pid, caller);
    const proven = {
      hook_pid: this.isProcess(hook_pid, caller) ? hook_pid : undefined,
      agent_pid: isAgent ? agent_pid : undefined,
    };
    return { ...proven, is_late: isAdopter || (!isAgent && this.#isLate(named, proven, caller)) };
  }

  /**
   * True for an init, which a hook whose agent has ended may name as its parent. In a container, an
   * agent itself may be process 1.
   */
  #isAdopter(pid: number): boolean {
    if (this.#deps.isUserFacing(pid)) return true;
    return pid === 1 && agentOfCommand(commandOf(pid) ?? "", argumentsOf(pid)) === undefined;
  }

  /** True if a hook has closed its connection, or runs without the agent that it names. */
  #isLate(
    named: HookProcesses,
    { hook_pid }: HookProcesses,
    { remote }: Pick<Caller, "remote">,
  ): boolean {
    const { sockets, processes } = this.#deps;
    const { agent_pid } = named;
    if (!sockets.canIdentify || remote === undefined) return false;
    if (hook_pid !== undefined) {
      return agent_pid !== undefined &&
        !lineageOf(processes, hook_pid).some((pid) => pid === agent_pid);
    }
    const namesProcess = named.hook_pid !== undefined || agent_pid !== undefined;
    // The kernel knows no connection of another machine, nor of a container with its own network.
    return namesProcess && this.hasHungUp({ remote });
  }

  /**
   * True if a registered agent, or a process it started, sends the request. All descendants are
   * checked, so that an agent with many child processes is recognized, too.
   */
  isAgent(caller: Pick<Caller, "remote">): boolean {
    return this.#deps.agentProcesses.all().some(({ agent_pid }) =>
      agent_pid !== null && this.isProcess(agent_pid, caller, Infinity)
    );
  }

  /**
   * True if the human sends the request, either from a page that a person signed in to, or from the
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
   * True if an answer in the human's name counts as the human's (contract 2). A surface, which is a
   * program that is not an agent's, vouches for its author. A page vouches for nobody: it counts
   * like any other message of the page, whichever surface it names.
   */
  isHumanAnswer(caller: Caller, headers: Headers, surface?: string): boolean {
    const isPage = caller.via !== undefined || surface === PAGES;
    return isPage ? this.isHuman(caller, headers) : !this.isAgent(caller);
  }

  /** True if the caller may open a page that speaks as the human. */
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
