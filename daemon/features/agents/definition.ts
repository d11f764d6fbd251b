/** The definition of one kind of agent: its facts, and the parts that are loaded when needed. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { Backend, Transport } from "./contract.ts";
import type { Env } from "../../host/paths.ts";
import type { IsAlive } from "../../host/processes.ts";
import type { TmuxServers } from "../../host/tmux/tmux.ts";
import type { Adapter, HookReader } from "./adapter.ts";
import type { Edit, SetupPlan } from "./install.ts";
import type { Fixture } from "./selftest/fixture.ts";

/**
 * Everything that depends on the kind of an agent, in one `agent.ts` a folder; `registry.ts` lists
 * them. A definition imports no package and nothing of Node's, because `mesh hook` loads all of
 * them and an agent waits for it: adapters, setup and fixtures are loaded by a function.
 */
export interface AgentDefinition {
  readonly id: Backend;
  /** The product's name, as users know it. */
  readonly title: string;
  /** The command that starts it, then other names that its process may have; none for `generic`. */
  readonly programs: readonly string[];
  /** The newest release it was tested with, e.g. `2.1.329`; null where there is no release. */
  readonly tested_version: string | null;
  /** The transports by which messages can reach it, best first. */
  readonly transports: readonly Transport[];
  /** Its names for permission modes, which a redacted command may show. */
  readonly permission_modes: readonly string[];
  /** No hook of its runs before the first prompt: a spawned one is found by its pane. */
  readonly silent_until_prompt?: true;
  /** Absent where `mesh setup` has nothing to write. */
  readonly setup?: AgentSetup;
  /** Absent where its hooks are no commands. */
  readonly hooks?: HookCommand;
  /** Loads the adapter, which looks up sessions, observes and delivers, and the hook reader. */
  open(host: AgentHost): Promise<AgentRuntime>;
  /** Loads what `mesh selftest` needs; absent where the program is not known. */
  fixture?(): Promise<Fixture>;
}

/** The agent's own files, and what `mesh setup` changes in them. */
export interface AgentSetup {
  /** Its settings folder. Where it exists, the agent is taken to be installed. */
  home(env: Env): string;
  /** The file that holds our hooks; absent where they are no commands. */
  hooks_file?(env: Env): string;
  /** The files that may hold our MCP server, the usual one first. */
  server_files(env: Env): readonly string[];
  edits(env: Env, plan: SetupPlan): Promise<readonly Edit[]>;
  /** What the user still has to do after setup. */
  readonly notice?: string;
}

type Payload = Readonly<Record<string, unknown>>;

/** How the agent calls `mesh hook ID EVENT`. */
export interface HookCommand {
  /** The events that wait for the human's decision. */
  readonly decision_events: readonly string[];
  /** The variable of the hook's environment that holds the pid of the agent. */
  readonly pid_variable: string;
  /** How an event's payload is changed before it is sent; undefined where it is sent as it came. */
  rewrite?(event: string | undefined): ((payload: Payload) => Payload) | undefined;
  /** The hook that runs beside an idle session until a message wakes it: the event `Wake`. */
  wait?(): Promise<WaitForWake>;
  /** The payload by which `mesh mcp` announces a session that no hook has announced yet. */
  announcement?(env: Env): Payload | undefined;
}

/** Waits until a message is to wake a session; returns the exit code. */
export type WaitForWake = (session_id: string, hook: WakeHookDeps) => Promise<number>;

export interface WakeHookDeps {
  /** Sends a question to the daemon; undefined when no daemon is running. */
  post(body: Record<string, unknown>): Promise<string | undefined>;
  /** Writes the text that wakes the session. */
  write(text: string): void;
  readonly clock?: Clock;
}

/** What an adapter needs of this machine. */
export interface AgentHost {
  readonly tmuxServers: TmuxServers;
  readonly clock: Clock;
  readonly log: Log;
  readonly isAlive: IsAlive;
  readonly env: Env;
}

export interface AgentRuntime {
  readonly adapter: Adapter;
  /** Absent where it has no hooks that post to the daemon. */
  readonly hooks?: HookReader;
}

/** The release line of a version: `2.1` of `2.1.329`. */
export function lineOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** Whether a version is of the tested release line, with the tested patch or a later one. */
export function isLaterPatch(version: string, tested: string): boolean {
  const line = `${lineOf(tested)}.`;
  if (!version.startsWith(line)) return false;
  const patch = version.slice(line.length);
  return /^\d+$/.test(patch) && Number(patch) >= Number(tested.slice(line.length));
}
