/** Real opencode offline: the pinned CLI in a pane, with a daemon of its own. */

import { join } from "node:path";
import type { Call } from "kit/http/client.ts";
import { openAsk } from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { listPeers, registerPeer } from "protocol/peers/contract.ts";
import { type TurnState } from "protocol/agents/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import {
  OPENCODE_ENVIRONMENT,
  opencodePackage,
  opencodeSettings,
} from "../../../daemon/features/agents/opencode/fixture.ts";
import { writeFiles } from "../../../tools/selftest/agent_run.ts";
import { ChatModel } from "../../../tools/selftest/model/chat.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { isRemoved } from "../../../tools/selftest/harness.ts";
import { binOf, makeRunDir, OPENCODE, opencodeCli } from "./installed_agents.ts";
import { inPane, Mesh, run, tmux, userEnvironment } from "./programs.ts";
import { holdsPrompt, retryUntil, typePrompt } from "./typing.ts";
import { until } from "../waiting.ts";

const START_MS = 60_000;

/** A home after `mesh setup`, a scripted model, a tmux server, and a daemon. */
export class OpencodeLab implements AsyncDisposable {
  readonly dir: string;
  readonly model: ChatModel;
  readonly env: Readonly<Record<string, string>>;
  readonly mesh: Mesh;
  readonly folder: string;
  readonly tmux_socket: string;
  readonly #pids: number[] = [];

  constructor(rules: readonly ScriptedReply[]) {
    this.dir = makeRunDir();
    this.folder = join(this.dir, "api");
    this.model = new ChatModel(rules);
    this.tmux_socket = join(this.dir, "tmux");
    for (const name of ["home", "api", "tmp"]) Deno.mkdirSync(join(this.dir, name));
    this.env = { ...userEnvironment(this.dir, binOf(opencodeCli)), ...OPENCODE_ENVIRONMENT };
    this.mesh = new Mesh(this);
    const config_dir = join(this.dir, "home/.config/opencode");
    writeFiles(opencodePackage(config_dir, OPENCODE.version));
    const settings = JSON.stringify(opencodeSettings(this.model.url), null, 2);
    Deno.writeTextFileSync(join(config_dir, "opencode.jsonc"), `// The user's own.\n${settings}\n`);
  }

  get call(): Call {
    return this.mesh.call;
  }

  async peer() {
    const { peers } = await this.call(listPeers, { query: { subagents: "false" } });
    return peers.find(({ backend }) => backend === "opencode");
  }

  /** The peer, once its plugin is connected and its turn is in this state. */
  waitForPeer(turn_state?: TurnState) {
    return until(`a plugin, ${turn_state ?? "in any turn"}`, async () => {
      const peer = await this.peer();
      const fits = turn_state === undefined || peer?.turn_state === turn_state;
      return peer?.ws_connected && fits ? peer : undefined;
    }, START_MS);
  }

  /** Registers the asker. */
  async enterWeb(): Promise<void> {
    const body = { name: "web", path: "/work/web", backend: "sdk" as const, circle: "office" };
    await this.call(registerPeer, { body });
  }

  /** Asks opencode; returns the ask's id. */
  async ask(text: string): Promise<string> {
    const body = { from_peer: "web", to_peer: "api-opencode", text };
    const { correlation_id } = await this.call(openAsk, { body });
    return correlation_id ?? "";
  }

  async stages(id: string): Promise<string[]> {
    const { stages } = await this.call(getTrace, { params: { trace_id: id } });
    return stages.map(({ stage }) => stage);
  }

  /** Waits until a delivery has reached a stage. */
  waitForStage(id: string, stage: string): Promise<string[]> {
    return until(`${id} to be ${stage}`, async () => {
      const stages = await this.stages(id);
      return stages.includes(stage) ? stages : undefined;
    });
  }

  /** Starts opencode in a pane of its own, and waits until it takes keys. */
  async start(...args: readonly string[]): Promise<void> {
    const command = inPane(this.folder, this.env, ["opencode", ...args]);
    const shown = ["-P", "-F", "#{pane_pid}"];
    const at = ["-d", "-s", "office", "-x", "160", "-y", "45"];
    this.#pids.push(Number(this.tmux("new-session", ...at, ...shown, ...command)));
    await until("the composer", () => this.screen.includes("ctrl+p"), START_MS);
  }

  /** The process that was started last, and its pane. */
  get pane(): { readonly pid: number; readonly pane_id: string } {
    const pane_id = this.tmux("display-message", "-p", "-t", "office", "#{pane_id}");
    return { pid: this.#pids.at(-1) ?? 0, pane_id };
  }

  get screen(): string {
    return this.tmux("capture-pane", "-p", "-t", "office");
  }

  type(text: string): void {
    this.keys("-l", "--", text);
  }

  press(...keys: readonly string[]): void {
    this.keys(...keys);
  }

  keys(...keys: readonly string[]): void {
    this.tmux("send-keys", "-t", "office", ...keys);
  }

  /** The whole screen is searched, because every text of a test is unique. */
  holds(prompt: string): boolean {
    return holdsPrompt(this.screen, prompt);
  }

  /** Types a prompt, waits until the screen shows it, and submits it until the model has it. */
  async sendPrompt(prompt: string): Promise<void> {
    await typePrompt(this, prompt);
    const isTaken = () => this.model.promptOccurrences(prompt) > 0;
    await retryUntil(this, `"${prompt}" to be taken`, () => this.press("Enter"), isTaken);
  }

  tmux(...args: readonly string[]): string {
    return tmux(this, args);
  }

  /** Ends the pane and its programs, and waits until they are gone. */
  async endAgents(): Promise<void> {
    run("tmux", ["-S", this.tmux_socket, "kill-server"]); // It may have ended with its last pane.
    await until("the end of every agent", () => !this.#pids.some((pid) => isAlive(pid)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endAgents();
    await this.mesh.crash();
    await this.model[Symbol.asyncDispose]();
    await until("the last writes of what was ended", () => isRemoved(this.dir));
  }
}
