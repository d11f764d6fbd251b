/** A session of Claude Code or Codex in a world, whose hooks report subagents. */

import { claudeCodeHooks } from "../../../daemon/features/agents/hooks/claude_format.ts";
import { codexHooks } from "../../../daemon/features/agents/codex/hooks.ts";
import { copilotHooks } from "../../../daemon/features/agents/copilot/hooks.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { type World, world, type WorldOptions } from "../world.ts";
import { peerOfSession, post } from "../daemon/peer_clients.ts";

const HOOKS = { "claude-code": claudeCodeHooks, codex: codexHooks(), copilot: copilotHooks };

/** A real payload of an agent's hook, from the golden files. */
export function realPayload(agent: string, event: string): Record<string, unknown> {
  const url = new URL(`../../golden/hooks/${agent}/${event}.json`, import.meta.url);
  return JSON.parse(Deno.readTextFileSync(url));
}

/** The process of the session, which runs until a test ends it. */
export const SESSION_PID = 700;

/**
 * A world with a session whose hooks are Claude Code's. `without_process`: the process is not
 * known, so that requests of the test are not taken as the agent's own.
 */
export async function worldWithSession(
  { without_process = false, ...options }: WorldOptions & { readonly without_process?: boolean } =
    {},
) {
  const w = world({ hooks: HOOKS, ...options });
  if (!without_process) w.processes.start(SESSION_PID);
  const session = new SessionHooks(w);
  await session.start();
  return { w, session, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

/** Posts what the hooks of one session report. */
export class SessionHooks {
  readonly #w: World;
  readonly session_id: string;

  constructor(w: World, session_id = "s-1") {
    this.#w = w;
    this.session_id = session_id;
  }

  /** Sends an event of the session; returns the hook's output. */
  send(hook_event_name: string, fields: Record<string, unknown> = {}) {
    const payload = { session_id: this.session_id, cwd: "/work/api", hook_event_name, ...fields };
    const runs = this.#w.processes.isAlive(SESSION_PID);
    const headers = runs ? { "x-mesh-agent-pid": String(SESSION_PID) } : {};
    return post(this.#w, "/hooks/claude-code", payload, headers);
  }

  start() {
    return this.send("SessionStart", { source: "startup" });
  }

  /** The end of a turn; the tasks are those that Claude Code still runs. */
  stop(background_tasks?: readonly unknown[]) {
    return this.send("Stop", { stop_hook_active: false, background_tasks });
  }

  subagentStarts(agent_id: string, agent_type = "Explore") {
    return this.send("SubagentStart", { agent_id, agent_type });
  }

  subagentStops(agent_id: string, agent_type = "Explore") {
    return this.send("SubagentStop", { agent_id, agent_type, stop_hook_active: false });
  }

  get peer_id(): string {
    return peerOfSession(this.#w, this.session_id)?.peer_id ?? "";
  }

  record() {
    return this.#w.call(getPeer, { params: { id: this.peer_id }, query: {} });
  }

  /** The name and status of each child, newest first. */
  async children(): Promise<string[]> {
    const { children } = await this.record();
    return children.map(({ name, status }) => `${name} ${status}`);
  }
}
