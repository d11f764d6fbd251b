/** A scripted twin of an agent and its terminal, on a daemon in memory: it may misbehave. */

import type { Adapter, Parcel } from "../../../daemon/features/agents/adapter.ts";
import { claudeCodeHooks } from "../../../daemon/features/agents/claude_code/hooks.ts";
import { Failed } from "../../../cli/client/failures.ts";
import type { Subject } from "../../../cli/selftest/agents.ts";
import { type Stage, Trial } from "../../../cli/selftest/trial.ts";
import { countOf } from "../../../cli/selftest/model/scripted.ts";
import { world } from "../world.ts";

/** What is wrong with it. */
export type Vice =
  | "hears nothing"
  | "drops the draft"
  | "sends the draft"
  | "answers the dialog"
  | "says all twice"
  | "comes back as another"
  | "tells of no prompt";

const READY = "READY>";

/** One agent, its screen and its model. */
export class Twin implements AsyncDisposable {
  readonly #vice: Vice | undefined;
  readonly #w;
  readonly #said: string[] = [];
  /** What came in and is not read yet. */
  readonly #queue: string[] = [];
  #composer = "";
  #state: "off" | "idle" | "working" | "dialog" = "off";
  #held = false;
  #sessions = 0;
  made = false;

  constructor(vice?: Vice) {
    this.#vice = vice;
    const adapter: Adapter = {
      backend: "claude-code",
      rungs: () => [{
        name: "native",
        check: () => Promise.resolve({ ready: true }),
        deliver: async (_, parcel) => {
          await this.#receive(parcel);
          return { state: "sent" };
        },
      }],
      transport: () => "native",
      sight: () => Promise.resolve(undefined),
    };
    this.#w = world({ adapters: [adapter], hooks: { "claude-code": claudeCodeHooks } });
  }

  get trial(): Trial {
    const model = {
      url: "http://127.0.0.1:9",
      times: (text: string) => countOf(text, this.#said.join("\n")),
      hold: () => {
        this.#held = true;
        return { release: () => this.#release() };
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    return new Trial(SUBJECT, this.#stage(), model);
  }

  #stage(): Stage {
    const w = this.#w;
    return {
      premises: { home: "/home", folder: "/work/api", version: "1.0.0" },
      env: {},
      call: w.call,
      forbidden: "/work/made",
      now: () => w.clock.now(),
      pause: (ms) => w.clock.advance(ms),
      holds: () => this.made,
      tmux: (...words) => this.#tmux(words),
      openPane: async (words) => {
        this.#state = "idle";
        if (!words.includes("--continue") || this.#vice === "comes back as another") {
          this.#sessions++;
        }
        await this.#hook("SessionStart", { source: "startup" });
        return { pane_id: "%1", pid: 1 };
      },
      lives: () => this.#state !== "off",
      closePane: async () => {
        this.#state = "off";
        await this.#hook("SessionEnd", { reason: "other" });
      },
      run: () => Promise.resolve(),
      startDaemon: () => Promise.resolve(),
      crashDaemon: () => Promise.resolve(),
      detach: () => Promise.resolve(),
      until: async (what, probe, ms_max = 5_000) => {
        for (let waited = 0; waited <= ms_max; waited += 1_000) {
          await w.clock.settle();
          const found = await probe();
          if (found) return found;
          await w.beat();
        }
        throw new Failed(`Waited in vain for ${what}`);
      },
    };
  }

  async #tmux(words: readonly string[]): Promise<string> {
    if (words[0] === "capture-pane") {
      if (this.#state === "dialog") return "MAY I?";
      return this.#composer === "" ? READY : `> ${this.#composer}`;
    }
    const key = words.at(-1) ?? "";
    if (words.includes("-l")) this.#composer += key;
    else if (key === "C-u") this.#composer = "";
    else if (key === "Escape" && this.#state === "dialog") await this.#rest();
    else if (key === "Enter" && this.#composer !== "") {
      const prompt = this.#composer;
      this.#composer = "";
      await this.#read(prompt);
    }
    return "";
  }

  async #receive({ framed }: Parcel): Promise<void> {
    if (this.#vice === "hears nothing") return;
    if (this.#vice === "answers the dialog" && this.#state === "dialog") {
      this.made = true;
      await this.#rest();
    }
    const draft = this.#vice === "sends the draft" ? this.#composer : "";
    if (this.#vice === "drops the draft" || draft !== "") this.#composer = "";
    this.#queue.push(draft + framed, ...(this.#vice === "says all twice" ? [framed] : []));
    if (this.#state === "idle") await this.#rest();
  }

  /** A turn begins with a prompt, and ends at once unless the model is held or leave is asked. */
  async #read(prompt: string): Promise<void> {
    this.#state = "working";
    this.#said.push(prompt);
    const silent = this.#vice === "tells of no prompt";
    if (!silent) await this.#hook("UserPromptSubmit", { prompt });
    if (prompt.startsWith("LEAVE")) {
      this.#state = "dialog";
      await this.#hook("PermissionRequest", { tool_name: "Write", tool_input: {} });
    } else if (!this.#held) await this.#rest();
  }

  /** The end of a turn; what came in meanwhile begins the next. */
  async #rest(): Promise<void> {
    this.#state = "idle";
    await this.#hook("Stop", { stop_hook_active: false });
    const next = this.#queue.shift();
    if (next !== undefined) await this.#read(next);
  }

  #release(): void {
    if (!this.#held) return;
    this.#held = false;
    if (this.#state === "working") void this.#rest();
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
