/** The definition of one kind of agent: its facts, and the parts that are loaded on demand. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { Backend, Transport } from "protocol/agents/contract.ts";
import type { Env } from "../../host/paths.ts";
import type { IsAlive } from "../../host/processes.ts";
import type { TerminalServers } from "../../host/terminal_server.ts";
import type { Adapter, HookReader } from "./adapter.ts";
import type { Edit, SetupPlan } from "./install.ts";
import type { ScopeReader, SwitchedOff } from "./settings_files/switched_off.ts";
import type { Fixture } from "./selftest/fixture.ts";
import type { SessionFiles } from "./sessions/session_files.ts";

/**
 * Everything that depends on the kind of agent, in one `agent.ts` per folder; `registry.ts` lists
 * them. `mesh hook` loads all definitions while an agent waits, so a definition imports no package
 * and no Node module. Adapters, setup and fixtures are loaded by functions, on demand.
 */
export interface AgentDefinition {
  readonly id: Backend;
  /** The product's name. */
  readonly title: string;
  /** The command that starts the agent, then other names of its process. Empty for `generic`. */
  readonly programs: readonly string[];
  /** The newest tested release, e.g. `2.1.329`; null if the agent has no releases. */
  readonly tested_version: string | null;
  /**
   * The transport that is used instead of the best one, unless the release is the tested patch or a
   * later one. Absent if the agent itself is asked what it supports.
   */
  readonly untested_transport?: Transport;
  /** The transports that can reach the agent, best first. */
  readonly transports: readonly Transport[];
  /** The agent's permission modes, which may be shown in a redacted command. */
  readonly permission_modes: readonly string[];
  /** True if no hook runs before the first prompt. A spawned agent is then found by its pane. */
  readonly silent_until_prompt?: true;
  /** Absent if `mesh setup` has nothing to write. */
  readonly setup?: AgentSetup;
  /** The command with which the agent calls `mesh hook`. Absent if its hooks are not commands. */
  readonly hooks?: HookCommand;
  /** Loads the adapter and the hook reader. */
  open(host: AgentHost): Promise<AgentRuntime>;
  /** Loads the reader of the agent's session files; absent if it keeps none. */
  sessionFiles?(env: Env): Promise<SessionFiles>;
  /** Loads the fixture for `mesh selftest`; absent if the agent has no fixed program. */
  fixture?(): Promise<Fixture>;
}

/** The agent's own files, and the changes of `mesh setup`. */
export interface AgentSetup {
  /** The agent's settings folder. If the folder exists, the agent counts as installed. */
  home(env: Env): string;
  /** The changes that setup makes, one for each file. */
  edits(env: Env, plan: SetupPlan): Promise<readonly Edit[]>;
  /** The settings that keep our hooks or our MCP server from running. */
  switchedOff(env: Env, files: ScopeReader): Promise<readonly SwitchedOff[]>;
  /** The reason why a status line that was asked for is not added; absent for other agents. */
  keptStatusLine?(env: Env, files: ScopeReader, script: string): Promise<string | undefined>;
  /** The words of the setting by which the agent uses mesh's tools without a question each time. */
  readonly permission?: string;
  /** The steps that the user has to take after setup. */
  readonly notice?: string;
}

export type Payload = Readonly<Record<string, unknown>>;

/** The command with which the agent calls `mesh hook ID EVENT`. */
export interface HookCommand {
  /** The events that wait for the human's decision. */
  readonly decision_events: readonly string[];
  /** The environment variable of hooks that holds the agent's pid. */
  readonly pid_variable: string;
  /** Returns a function that changes an event's payload before it is sent, if it must change. */
  rewrite?(event: string | undefined): ((payload: Payload) => Payload) | undefined;
  /** Loads the hook that waits beside an idle session until a message wakes it (event `Wake`). */
  wait?(): Promise<WaitForWake>;
  /** The payload with which `mesh mcp` announces a session before its first hook. */
  announcement?(env: Env): Payload | undefined;
}

/** Waits until a message has to wake a session; returns the exit code. */
export type WaitForWake = (session_id: string, hook: WakeHookDeps) => Promise<number>;

export interface WakeHookDeps {
  /** Sends a question to the daemon; undefined if no daemon runs. */
  post(body: Record<string, unknown>): Promise<string | undefined>;
  /** Writes the text that wakes the session. */
  write(text: string): void;
  readonly clock?: Clock;
}

/** Services of this machine that an adapter uses. */
interface AgentHost {
  readonly terminalServers: TerminalServers;
  readonly clock: Clock;
  readonly log: Log;
  readonly isAlive: IsAlive;
  /** True if an MCP client of this agent's process has connected to the daemon. */
  hasTools(agent_pid: number): boolean;
  readonly env: Env;
}

interface AgentRuntime {
  readonly adapter: Adapter;
  /** Absent if the agent has no hooks that post to the daemon. */
  readonly hooks?: HookReader;
}

/** The release line of a version: `2.1` of `2.1.329`. */
export function lineOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** True if a version has the same major and minor number as `tested`, and no lower patch number. */
export function isTestedPatchOrLater(version: string, tested: string): boolean {
  const line = `${lineOf(tested)}.`;
  if (!version.startsWith(line)) return false;
  const patch = version.slice(line.length);
  return /^\d+$/.test(patch) && Number(patch) >= Number(tested.slice(line.length));
}
