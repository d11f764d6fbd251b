/** A world with two agents of one account, whose hooks and records tell of its limit. */

import { getMessage } from "protocol/messages/log.ts";
import { listLimits } from "protocol/limits/contract.ts";
import type { Limit } from "protocol/wire.ts";
import type { AgentPeer, Observation, TurnEnd } from "../../../daemon/features/agents/adapter.ts";
import { claudeCodeHooks } from "../../../daemon/features/agents/hooks/claude_format.ts";
import type { Backend } from "protocol/agents/contract.ts";
import { FakeAgents, FakePanes, SOCKET } from "../host/fake_panes.ts";
import { FakeSockets, type World, world, type WorldOptions } from "../world.ts";
import { get, peerOfSession, post, signIn } from "./peer_clients.ts";

/** Milliseconds from a limit to its reset. */
export const LIMITED_UNTIL = 3_600_000;

/** Agents with one account for each kind, and an observation of each session. */
export class LimitedAgents extends FakeAgents {
  readonly ends = new Map<string, TurnEnd>();

  account = () => ({ home: `/home/.${this.backend}` });

  override observe(peer?: AgentPeer): Promise<Observation | undefined> {
    const end = this.ends.get(peer?.runtime_session_id ?? "");
    const observed = { alive: true, turn_state: null, source: "process table" };
    return Promise.resolve(end ? { ...observed, end } : undefined);
  }
}

export interface LimitedAgent {
  readonly peer_id: string;
  readonly name: string;
  readonly session_id: string;
  readonly backend: Backend;
}

export async function limitWorld(options: WorldOptions = {}) {
  const agents = { codex: new LimitedAgents("codex"), gemini: new LimitedAgents("gemini") };
  const hooks = { codex: claudeCodeHooks, gemini: claudeCodeHooks };
  const panes = new FakePanes(), sockets = new FakeSockets();
  const w = world({
    hooks,
    adapters: Object.values(agents),
    paneObserver: panes,
    sockets,
    ...options,
  });
  const pids = new Map<string, number>();
  const hook = (
    { backend, session_id }: Pick<LimitedAgent, "backend" | "session_id">,
    hook_event_name: string,
    more: Record<string, unknown> = {},
  ) => {
    const body = { session_id, cwd: "/work", hook_event_name, ...more };
    const pid = pids.get(session_id);
    return post(w, `/hooks/${backend}`, body, {
      "x-mesh-agent-pid": String(pid),
      "x-mesh-pane": `%${pid}`,
      "x-mesh-tmux": `${SOCKET},1,0`,
    });
  };
  const add = async (name: string, backend: Backend, pid: number): Promise<LimitedAgent> => {
    const session_id = `session-${name}`;
    pids.set(session_id, pid);
    w.processes.start(pid);
    panes.open(`%${pid}`);
    await hook({ backend, session_id }, "SessionStart", { source: "startup" });
    const { peer_id = "" } = peerOfSession(w, session_id) ?? {};
    await post(w, `/peers/${peer_id}/name`, { name });
    return { peer_id, name, session_id, backend };
  };
  const api = await add("api", "codex", 101), web = await add("web", "codex", 102);
  const doc = await add("doc", "gemini", 103);
  /** A turn of the agent ends at a limit, as its session file shows it. */
  const hitLimit = async (
    agent: LimitedAgent,
    { in_ms = LIMITED_UNTIL, ...more }: Partial<TurnEnd> & { readonly in_ms?: number } = {},
    { prompt }: { readonly prompt?: string | undefined } = { prompt: "Go" },
  ) => {
    if (prompt !== undefined) await hook(agent, "UserPromptSubmit", { prompt });
    await w.tick(3);
    const at = w.clock.now();
    const all = { codex: agents.codex, gemini: agents.gemini };
    all[agent.backend === "codex" ? "codex" : "gemini"].ends.set(agent.session_id, {
      how: "failed",
      at,
      source: "session file",
      text: "usage_limit_exceeded",
      resets_at: at + in_ms,
      limit: { window: "five_hour", text: "You’ve hit your usage limit." },
      prompts_since: [],
      ...more,
    });
    await w.tick(3);
  };
  const limits = async () => (await w.call(listLimits, {})).limits;
  const limit = async (backend: Backend = "codex"): Promise<Limit> => {
    const found = (await limits()).find((one) => one.account === `/home/.${backend}`);
    if (!found) throw new Error(`No limit of ${backend}`);
    return found;
  };
  const message = (id: string) => w.call(getMessage, { params: { id } });
  /** Posts as a signed-in person, whose process is none of the agents'. */
  const postAsPerson = async (path: string) => {
    sockets.holders = [];
    const answer = await post(w, path, {}, await signIn(w));
    sockets.holders = undefined;
    return answer;
  };
  return {
    w,
    agents,
    postAsPerson,
    api,
    web,
    doc,
    add,
    hook,
    hitLimit,
    limit,
    limits,
    message,
    peer: (peer_id: string) => get(w, `/peers/${peer_id}`),
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

/** The ids of the messages to an agent, newest first. */
export async function sentTo(w: World, { peer_id }: LimitedAgent): Promise<string[]> {
  const { deliveries } = await get(w, `/deliveries?peer_id=${peer_id}`);
  return deliveries.map(({ delivery_id }: { delivery_id: string }) => delivery_id);
}
