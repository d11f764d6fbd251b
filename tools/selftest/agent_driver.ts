/** Drives one agent under test: starts it, types in its terminal, and sends it messages. */

import { getTrace } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { CommandError } from "../../cli/client/failures.ts";
import type { ScriptedModel } from "./model/scripted_model.ts";
import type { Pane, TestHarness } from "./harness.ts";
import type { Subject } from "./agents.ts";

/**
 * Time limit for an agent's start. Some agents copy their program into their home at the first
 * start.
 */
const START_MS_MAX = 60_000;
/** The pause between two keys, like that of a person who types fast. */
const KEY_MS = 150;
/**
 * The time after which Enter is pressed again, because a screen that is being redrawn may drop a
 * key.
 */
const SUBMIT_RETRY_MS = 8_000;
const PRESSES_MAX = 4;

/** A message sent to the agent. `marker` is the unique word in its text. */
export interface Sent {
  readonly id: string;
  readonly marker: string;
}

/** The functions of the harness that the driver and the scenarios use. */
export type DriverHarness = Omit<TestHarness, "state" | "extendEnv" | "openTmux" | "cleanUp">;

export class AgentDriver {
  readonly agent: Subject["agent"];
  readonly fixture: Subject["fixture"];
  readonly harness: DriverHarness;
  readonly model: ScriptedModel;
  #pane: Pane | undefined;
  /** The peer's last known id, which is used while the agent is offline. */
  #peer_id: string | undefined;
  #last: Sent | undefined;
  #markerCount = 0;
  /**
   * True if the start dialog was shown. Some agents briefly show their composer before this dialog.
   */
  #startDialogShown: boolean;

  constructor({ agent, fixture }: Subject, harness: DriverHarness, model: ScriptedModel) {
    this.agent = agent;
    this.fixture = fixture;
    this.harness = harness;
    this.model = model;
    this.#startDialogShown = fixture.atStart === undefined;
  }

  marker(label: string): string {
    return `selftest-${label}-${++this.#markerCount}`;
  }

  /** Starts the agent in a pane, and waits until it is registered and accepts keys. */
  async start(...more: readonly string[]): Promise<void> {
    const { agent, fixture, harness } = this;
    const pane = this.#pane = await harness.openPane([...fixture.command, ...more]);
    await harness.waitFor(`${agent.title} to start`, async () => {
      if (!harness.isRunning(pane)) {
        throw new CommandError(`${agent.title} exited instead of starting`);
      }
      const screen = await this.screen();
      const key = fixture.atStart?.(screen);
      if (key !== undefined) {
        this.#startDialogShown = true;
        await this.press(key);
      }
      return this.#startDialogShown && fixture.isReady(screen);
    }, START_MS_MAX);
    if (agent.silent_until_prompt && more.length === 0) {
      const marker = this.marker("first");
      await this.submitPrompt(`@@SAY ${marker}`, marker);
    }
    const registering = `${agent.title} to register as a peer`;
    const known = await harness.waitFor(registering, () => this.peer(), START_MS_MAX);
    this.#peer_id = known.peer_id;
    await this.waitUntilIdle();
  }

  /** Ends the agent by closing its pane. */
  async end(): Promise<void> {
    const { fixture, harness } = this;
    const pane = this.#pane;
    this.#pane = undefined;
    if (pane) await harness.closePane(pane);
    await fixture.end?.(harness.run);
  }

  get running(): boolean {
    return this.#pane !== undefined;
  }

  /** The agent's peer; undefined while it is not online. */
  async peer() {
    const { peers } = await this.harness.call(listPeers, { query: {} });
    return peers.find(({ backend, status }) =>
      backend === this.agent.id && (status === "online" || status === "busy")
    );
  }

  /** Waits until no turn runs, no dialog is open and the composer is empty. */
  async waitUntilIdle(): Promise<void> {
    await this.harness.waitFor(`${this.agent.title} to be idle again`, async () => {
      const turnState = (await this.peer())?.turn_state;
      const idle = turnState === "idle" || turnState === "pending_first_turn";
      return idle && this.fixture.isReady(await this.screen());
    });
  }

  async screen(): Promise<string> {
    if (!this.#pane) return "";
    return await this.harness.tmux("capture-pane", "-p", "-t", this.#pane.pane_id);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await this.harness.tmux("send-keys", "-t", this.#pane?.pane_id ?? "", key);
      await this.harness.pause(KEY_MS);
    }
  }

  /** Types a text, and waits until the composer shows it. */
  async type(text: string): Promise<void> {
    await this.harness.tmux("send-keys", "-t", this.#pane?.pane_id ?? "", "-l", "--", text);
    await this.harness.waitFor("the typed text to be on the screen", () => this.isOnScreen(text));
  }

  /** True if the screen shows the end of the text, whatever the line breaks. */
  async isOnScreen(text: string): Promise<boolean> {
    const screenText = (await this.screen()).replaceAll(/[\s┃│]+/g, "");
    return screenText.includes(text.replaceAll(/\s+/g, "").slice(-16));
  }

  /** Types a prompt that contains `marker` and submits it until the model has received it. */
  async submitPrompt(prompt: string, marker: string): Promise<void> {
    await this.type(prompt);
    // Pressing Enter again is harmless, because no dialog can be open before the model has the
    // prompt.
    for (let presses = 1; this.model.occurrences(marker) === 0; presses++) {
      await this.press("Enter");
      const received = () => this.model.occurrences(marker) > 0;
      const last = presses === PRESSES_MAX;
      await this.harness.waitFor("the prompt to reach the model", received, SUBMIT_RETRY_MS).catch(
        (error) => {
          if (last || !(error instanceof CommandError)) throw error;
        },
      );
    }
  }

  async send(marker: string): Promise<Sent> {
    const peer_id = (await this.peer())?.peer_id ?? this.#peer_id;
    if (peer_id === undefined) {
      throw new CommandError(`${this.agent.title} is not a known peer`);
    }
    const body = {
      from_peer: "selftest",
      to_peer: peer_id,
      text: `This is a test of mesh; no action is needed: ${marker}`,
      bypass_circle: true,
    };
    const { delivery_id } = await this.harness.call(notifyPeer, { body });
    return this.#last = { id: delivery_id, marker };
  }

  async stages({ id }: Sent) {
    const { stages } = await this.harness.call(getTrace, { params: { trace_id: id } });
    return stages;
  }

  /** True if the daemon holds the message back for this reason. */
  async isWaiting(sent: Sent, reason: string): Promise<boolean> {
    return (await this.stages(sent)).some(({ detail }) => detail?.includes(reason));
  }

  async wasSent(sent: Sent): Promise<boolean> {
    const stages = await this.stages(sent);
    return stages.some(({ stage }) => stage === "sent" || stage === "accepted");
  }

  /** Waits until the model has received the message and the daemon has marked it as seen. */
  async waitForArrival(sent: Sent): Promise<void> {
    const { harness } = this;
    const hasArrived = () => this.model.occurrences(sent.marker) > 0;
    await harness.waitFor("the message to reach the model", hasArrived).catch(async (error) => {
      if (!(error instanceof CommandError)) throw error;
      throw new CommandError(`${error.message}, ${await this.#describeStages(sent)}`);
    });
    const isSeen = async () => (await this.stages(sent)).some(({ stage }) => stage === "seen");
    await harness.waitFor("the message to be marked as seen", isSeen);
  }

  /** Throws unless the message arrived exactly once, counted after the turn. */
  async mustArriveOnce({ marker }: Sent): Promise<void> {
    await this.waitUntilIdle();
    const occurrences = this.model.occurrences(marker);
    if (occurrences !== 1) {
      throw new CommandError(`The message arrived ${occurrences} times instead of once`);
    }
  }

  /**
   * The last transport attempted for a message. If none was attempted, the agent's best transport.
   */
  async transportOf(sent: Sent): Promise<string> {
    return await this.#attemptedTransport(sent) ?? (await this.peer())?.transport ?? "none";
  }

  /**
   * Returns the last transport attempted for the message that was sent last, and forgets that
   * message.
   */
  async takeLastTransport(): Promise<string | null> {
    const last = this.#last;
    this.#last = undefined;
    return last ? await this.#attemptedTransport(last) : null;
  }

  /** Describes a message that did not arrive: its stages, and whether the terminal shows it. */
  async #describeStages(sent: Sent): Promise<string> {
    const steps = (await this.stages(sent)).map(({ stage, detail }) =>
      detail === null ? stage : `${stage} (${detail})`
    );
    const location = await this.isOnScreen(sent.marker) ? "on the screen" : "not on the screen";
    return `which is ${location}: ${steps.join(", ")}`;
  }

  async #attemptedTransport(sent: Sent): Promise<string | null> {
    const attempts = (await this.stages(sent)).filter(({ stage }) => stage === "attempting");
    return attempts.at(-1)?.detail ?? null;
  }
}
