/** A scripted agent with its terminal, on a daemon in memory: it may misbehave. */

import type { Adapter, OutgoingMessage } from "../../../daemon/features/agents/adapter.ts";
import { claudeCodeHooks } from "../../../daemon/features/agents/hooks/claude_format.ts";
import { CommandError } from "../../../cli/client/failures.ts";
import type { Subject } from "../../../tools/selftest/agents.ts";
import { AgentDriver, type DriverHarness } from "../../../tools/selftest/agent_driver.ts";
import { countOccurrences } from "../../../tools/selftest/model/scripted_model.ts";
import { world } from "../world.ts";

/** Defects of a fake agent. */
export type Defect =
  | "hears nothing"
  | "drops the draft"
  | "sends the draft"
  | "answers the dialog"
  | "says all twice"
  | "comes back as another"
  | "tells of no prompt";

const READY = "READY>";

/** An agent, its screen and its model. */
export class FakeAgent implements AsyncDisposable {
  readonly #defect: Defect | undefined;
  readonly #w;
  readonly #prompts: string[] = [];
  /** The messages that it has not read yet. */
  readonly #queue: string[] = [];
  #composer = "";
  #state: "off" | "idle" | "working" | "dialog" = "off";
  #isModelHeld = false;
  #sessions = 0;
  made = false;

  constructor(defect?: Defect) {
    this.#defect = defect;
    const adapter: Adapter = {
      backend: "claude-code",
      transports: () => [{
        name: "native",
        check: () => Promise.resolve({ ready: true }),
        deliver: async (_, outgoing) => {
          await this.#receive(outgoing);
          return { state: "sent" };
        },
      }],
      transport: () => "native",
      observe: () => Promise.resolve(undefined),
    };
    this.#w = world({ adapters: [adapter], hooks: { "claude-code": claudeCodeHooks } });
  }

  get driver(): AgentDriver {
    const model = {
      url: "http://127.0.0.1:9",
      occurrences: (text: string) => countOccurrences(text, this.#prompts.join("\n")),
      hold: () => {
        this.#isModelHeld = true;
        return { release: () => this.#releaseModel() };
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    return new AgentDriver(SUBJECT, this.#harness(), model);
  }

  #harness(): DriverHarness {
    const w = this.#w;
    return {
      testHome: { home: "/home", folder: "/work/api", version: "1.0.0" },
      env: {},
      call: w.call,
      forbidden: "/work/made",
      now: () => w.clock.now(),
      monotonic: () => w.clock.monotonic(),
      pause: (ms) => w.clock.advance(ms),
      exists: () => this.made,
      tmux: (...args) => this.#tmux(args),
      openPane: async (args) => {
        this.#state = "idle";
        if (!args.includes("--continue") || this.#defect === "comes back as another") {
          this.#sessions++;
        }
        await this.#hook("SessionStart", { source: "startup" });
        return { pane_id: "%1", pid: 1 };
      },
      isRunning: () => this.#state !== "off",
      closePane: async () => {
        this.#state = "off";
        await this.#hook("SessionEnd", { reason: "other" });
      },
      run: () => Promise.resolve(),
      startDaemon: () => Promise.resolve(),
      crashDaemon: () => Promise.resolve(),
      detach: () => Promise.resolve(),
      waitFor: async (what, probe, ms_max = 5_000) => {
        for (let waited = 0; waited <= ms_max; waited += 1_000) {
          await w.clock.settle();
          const found = await probe();
          if (found) return found;
          await w.tick();
        }
        throw new CommandError(`Timed out waiting for ${what}`);
      },
    };
  }

  async #tmux(args: readonly string[]): Promise<string> {
    if (args[0] === "capture-pane") {
      if (this.#state === "dialog") return "MAY I?";
      return this.#composer === "" ? READY : `> ${this.#composer}`;
    }
    const key = args.at(-1) ?? "";
    if (args.includes("-l")) this.#composer += key;
    else if (key === "C-u") this.#composer = "";
    else if (key === "Escape" && this.#state === "dialog") await this.#endTurn();
    else if (key === "Enter" && this.#composer !== "") {
      const prompt = this.#composer;
      this.#composer = "";
      await this.#runTurn(prompt);
    }
    return "";
  }

  async #receive({ framed }: OutgoingMessage): Promise<void> {
    if (this.#defect === "hears nothing") return;
    if (this.#defect === "answers the dialog" && this.#state === "dialog") {
      this.made = true;
      await this.#endTurn();
    }
    const draft = this.#defect === "sends the draft" ? this.#composer : "";
    if (this.#defect === "drops the draft" || draft !== "") this.#composer = "";
    this.#queue.push(draft + framed, ...(this.#defect === "says all twice" ? [framed] : []));
    if (this.#state === "idle") await this.#endTurn();
  }

  /** Begins a turn; it ends at once unless the model is held or permission is asked. */
  async #runTurn(prompt: string): Promise<void> {
    this.#state = "working";
    this.#prompts.push(prompt);
    const skipsPromptHook = this.#defect === "tells of no prompt";
    if (!skipsPromptHook) await this.#hook("UserPromptSubmit", { prompt });
    if (prompt.startsWith("LEAVE")) {
      this.#state = "dialog";
      await this.#hook("PermissionRequest", { tool_name: "Write", tool_input: {} });
    } else if (!this.#isModelHeld) await this.#endTurn();
  }

  /** The end of a turn; the messages that arrived meanwhile begin the next. */
  async #endTurn(): Promise<void> {
    this.#state = "idle";
    await this.#hook("Stop", { stop_hook_active: false });
    const next = this.#queue.shift();
    if (next !== undefined) await this.#runTurn(next);
  }

  #releaseModel(): void {
    if (!this.#isModelHeld) return;
    this.#isModelHeld = false;
    if (this.#state === "working") void this.#endTurn();
  }

  async #hook(hook_event_name: string, more: Record<string, unknown>): Promise<void> {
    const session = { session_id: `s-${this.#sessions}`, cwd: "/work/api" };
    const answer = await this.#w.post("/hooks/claude-code", {
      ...session,
      hook_event_name,
      ...more,
    });
    await answer.body?.cancel();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#w[Symbol.asyncDispose]();
  }
}

const SUBJECT: Subject = {
  agent: { id: "claude-code", title: "The twin" },
  fixture: {
    model_api: "messages",
    files: () => ({}),
    env: () => ({}),
    command: ["twin"],
    resume: ["--continue"],
    isReady: (screen) => screen === READY,
    dialog: {
      prompt: (_, mark) => `LEAVE ${mark}`,
      isOpen: (screen) => screen === "MAY I?",
      refusal: ["Escape"],
    },
    untested: {},
  },
};
