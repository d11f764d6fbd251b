/** A world with agents of two accounts, whose hooks and records tell of their limits. */

import { getMessage } from "protocol/messages/log.ts";
import { type LimitWindow, listLimits } from "protocol/limits/contract.ts";
import type { Limit } from "protocol/wire.ts";
import type { AgentPeer, Observation, TurnEnd } from "../../../daemon/features/agents/adapter.ts";
import { claudeCodeHooks } from "../../../daemon/features/agents/hooks/claude_format.ts";
import type { Backend } from "protocol/agents/contract.ts";
import { FakeAgents, FakePanes, SOCKET } from "../host/fake_panes.ts";
import { FakeSockets, type World, world, type WorldOptions } from "../world.ts";
import { get, peerOfSession, post, signIn } from "./peer_clients.ts";

/** Milliseconds from a limit to its reset. */
export const LIMITED_UNTIL = 3_600_000;

/** Agents with one account for each kind, and the recorded end of each session's last turn. */
export class LimitedAgents extends FakeAgents {
  readonly ends = new Map<string, TurnEnd>();
  /** The used windows that the records of each session show. */
  readonly windows = new Map<string, readonly LimitWindow[]>();

  account = () => ({ home: `/home/.${this.backend}` });
  limitWindows = (session_id: string) => this.windows.get(session_id) ?? [];

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
  readonly backend: "codex" | "gemini";
}

/** Two Codex peers, `api` and `web`, which share an account, and a Gemini CLI, `doc`. */
export async function limitWorld(options: WorldOptions = {}): Promise<LimitWorld & Agents> {
  const at = new LimitWorld(options);
  const api = await at.add("api", "codex", 101), web = await at.add("web", "codex", 102);
  return Object.assign(at, { api, web, doc: await at.add("doc", "gemini", 103) });
}

type Agents = Readonly<Record<"api" | "web" | "doc", LimitedAgent>>;

class LimitWorld implements AsyncDisposable {
  readonly w: World;
  readonly agents = { codex: new LimitedAgents("codex"), gemini: new LimitedAgents("gemini") };
  readonly #panes = new FakePanes();
  readonly #sockets = new FakeSockets();
  readonly #pids = new Map<string, number>();

  constructor(options: WorldOptions) {
    const hooks = { codex: claudeCodeHooks, gemini: claudeCodeHooks };
    const adapters = Object.values(this.agents);
    this.w = world({
      hooks,
      adapters,
      paneObserver: this.#panes,
      sockets: this.#sockets,
      ...options,
    });
  }

  /** A hook of the agent's own process. */
  hook = (
    { backend, session_id }: Pick<LimitedAgent, "backend" | "session_id">,
    hook_event_name: string,
    more: Record<string, unknown> = {},
  ) => {
    const body = { session_id, cwd: "/work", hook_event_name, ...more };
    const pid = this.#pids.get(session_id);
    return post(this.w, `/hooks/${backend}`, body, {
      "x-mesh-agent-pid": String(pid),
      "x-mesh-pane": `%${pid}`,
      "x-mesh-tmux": `${SOCKET},1,0`,
    });
  };

  async add(name: string, backend: LimitedAgent["backend"], pid: number): Promise<LimitedAgent> {
    const session_id = `session-${name}`;
    this.#pids.set(session_id, pid);
    this.w.processes.start(pid);
    this.#panes.open(`%${pid}`);
    await this.hook({ backend, session_id }, "SessionStart", { source: "startup" });
    const { peer_id = "" } = peerOfSession(this.w, session_id) ?? {};
    await post(this.w, `/peers/${peer_id}/name`, { name });
    return { peer_id, name, session_id, backend };
  }

  /** A turn of the agent ends at a limit, as its session file shows it. */
  hitLimit = async (
    agent: LimitedAgent,
    { in_ms = LIMITED_UNTIL, ...more }: Partial<TurnEnd> & { readonly in_ms?: number } = {},
    { prompt }: { readonly prompt?: string | undefined } = { prompt: "Go" },
  ): Promise<void> => {
    if (prompt !== undefined) await this.hook(agent, "UserPromptSubmit", { prompt });
    await this.w.tick(3);
    const at = this.w.clock.now();
    this.agents[agent.backend].ends.set(agent.session_id, {
      how: "failed",
      at,
      source: "session file",
      text: "usage_limit_exceeded",
      resets_at: at + in_ms,
      limit: { window: "five_hour", text: "You’ve hit your usage limit." },
      prompts_since: [],
      ...more,
    });
    await this.w.tick(3);
  };

  /** The limit of an account, that of Codex by default. */
  limit = async (backend: Backend = "codex"): Promise<Limit> => {
    const { limits } = await this.w.call(listLimits, { query: {} });
    const found = limits.find(({ account }) => account === `/home/.${backend}`);
    if (!found) throw new Error(`No account of ${backend}`);
    return found;
  };

  message = (id: string) => this.w.call(getMessage, { params: { id } });
  peer = (peer_id: string) => get(this.w, `/peers/${peer_id}`);

  /** Posts as a signed-in person, whose process is none of the agents'. */
  async postAsPerson(path: string) {
    this.#sockets.holders = [];
    const answer = await post(this.w, path, {}, await signIn(this.w));
    this.#sockets.holders = undefined;
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.w[Symbol.asyncDispose]();
  }
}

/** The ids of the messages to an agent, newest first. */
export async function sentTo(w: World, { peer_id }: LimitedAgent): Promise<string[]> {
  const { deliveries } = await get(w, `/deliveries?peer_id=${peer_id}`);
  return deliveries.map(({ delivery_id }: { delivery_id: string }) => delivery_id);
}
