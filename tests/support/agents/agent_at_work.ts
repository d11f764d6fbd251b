/** A Codex session in a world, at work: its hooks, the messages in its queue, and its marker. */

import { codexHooks } from "../../../daemon/features/agents/codex/hooks.ts";
import type {
  Adapter,
  AgentPeer,
  OutgoingMessage,
} from "../../../daemon/features/agents/adapter.ts";
import { get, post } from "../daemon/peer_clients.ts";
import { type World, world, type WorldOptions } from "../world.ts";

const SESSION = { session_id: "s-1", cwd: "/work/api" };

export class AgentAtWork implements AsyncDisposable {
  readonly w: World;
  /** The texts in the queue that Codex reads after its turn. */
  readonly queued: string[] = [];
  /** The agents that have a marker. */
  markers: readonly string[] = [];
  /** Number of times that all markers were made again. */
  restored = 0;
  /** Number of times that a message was about to go to the queue. */
  checks = 0;
  name = "";

  constructor(options: WorldOptions = {}) {
    this.w = world({
      hooks: { codex: codexHooks(() => undefined) },
      adapters: [this.#adapter()],
      markers: {
        keep: (agents) => void (this.markers = [...agents]),
        restore: () => void this.restored++,
      },
      ...options,
    });
  }

  /** Starts a session, and its first turn. */
  async start(): Promise<this> {
    await this.hook("SessionStart", { source: "startup" });
    const { peers } = await get(this.w, "/peers?role=agent");
    this.name = peers.find(({ backend }: { backend: string }) => backend === "codex").name;
    await this.prompt();
    return this;
  }

  async prompt(): Promise<string> {
    return await this.hook("UserPromptSubmit", { prompt: "Run the tests" });
  }

  /** The end of a tool call; returns what the model reads beside its result. */
  async toolCall(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return await this.hook("PostToolUse", { tool_name: "shell", ...more });
  }

  async modelAnswer(status = "completed"): Promise<void> {
    await this.hook("PostModelRequest", { status });
  }

  async stop(): Promise<void> {
    await this.hook("Stop", { stop_hook_active: false, last_assistant_message: "Done" });
    await this.w.clock.settle();
  }

  /** Reports an event; returns the context that its answer adds. */
  async hook(hook_event_name: string, more: Readonly<Record<string, unknown>>): Promise<string> {
    const answer = await post(this.w, "/hooks/codex", { ...SESSION, hook_event_name, ...more });
    await this.w.clock.settle();
    return answer.hookSpecificOutput?.additionalContext ?? "";
  }

  async state(delivery_id: string): Promise<string> {
    return (await get(this.w, `/messages/${delivery_id}`)).state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.w[Symbol.asyncDispose]();
  }

  #adapter(): Adapter {
    const transport = {
      name: "native" as const,
      waits_for_turn_end: true,
      check: () => {
        this.checks++;
        return Promise.resolve({ ready: true as const });
      },
      deliver: (_: AgentPeer, { framed }: OutgoingMessage) => {
        this.queued.push(framed);
        return Promise.resolve({ state: "accepted" as const });
      },
    };
    return {
      backend: "codex",
      transports: () => [transport],
      transport: () => "native",
      observe: () => Promise.resolve(undefined),
    };
  }
}
