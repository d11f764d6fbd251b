/** One agent under test: its session, what is typed there, and how a message came to it. */

import { getTrace } from "../../daemon/features/messages/contract.ts";
import { notifyPeer } from "../../daemon/features/notifications/contract.ts";
import { listPeers } from "../../daemon/features/peers/contract.ts";
import { CommandError } from "../client/failures.ts";
import type { ScriptedModel } from "./model/scripted_model.ts";
import type { Pane, TestHarness } from "./harness.ts";
import type { Subject } from "./agents.ts";

/** The first start of some copies the program into their home. */
const START_MS_MAX = 60_000;
/** Between two keys, as of a quick person. */
const KEY_MS = 150;
/** A screen that was just drawn swallows a key now and then; a busy machine tells it late. */
const SUBMIT_RETRY_MS = 8_000;
const PRESSES_MAX = 4;

/** A message on its way to the agent. */
export interface Sent {
  readonly id: string;
  readonly marker: string;
}

export interface Arrival {
  readonly transport: string;
}

/** What a trial asks of the room that it is in. */
export type DriverHarness = Pick<
  TestHarness,
  | "testHome"
  | "env"
  | "call"
  | "forbidden"
  | "now"
  | "pause"
  | "waitFor"
  | "exists"
  | "tmux"
  | "openPane"
  | "closePane"
  | "isRunning"
  | "run"
  | "startDaemon"
  | "crashDaemon"
  | "detach"
>;

export class AgentDriver {
  readonly agent: Subject["agent"];
  readonly fixture: Subject["fixture"];
  readonly harness: DriverHarness;
  readonly model: ScriptedModel;
  #pane: Pane | undefined;
  /** As the mesh knew it last: it may be away. */
  #peer_id: string | undefined;
  #last: Sent | undefined;
  #markerCount = 0;
  /** Whether the first start has asked its user: a composer is shown for a moment before. */
  #startDialogShown: boolean;

  constructor({ agent, fixture }: Subject, harness: DriverHarness, model: ScriptedModel) {
    this.agent = agent;
    this.fixture = fixture;
    this.harness = harness;
    this.model = model;
    this.#startDialogShown = fixture.atStart === undefined;
  }

  /** A word that nobody has said yet. */
  marker(label: string): string {
    return `selftest-${label}-${++this.#markerCount}`;
  }

  /** Starts the agent in a pane, and waits until the mesh knows it and it takes keys. */
  async start(...more: readonly string[]): Promise<void> {
    const { agent, fixture, harness } = this;
    const pane = this.#pane = await harness.openPane([...fixture.command, ...more]);
    await harness.waitFor(`${agent.title} to start`, async () => {
      if (!harness.isRunning(pane)) {
        throw new CommandError(`${agent.title} has ended instead of starting`);
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
    const known = () => this.peer();
    const { peer_id } = await harness.waitFor(
      `${agent.title} among the peers`,
      known,
      START_MS_MAX,
    );
    this.#peer_id = peer_id;
    await this.waitUntilIdle();
  }

  /** Ends the agent as closing its window does. */
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

  /** The agent, as the mesh has it; undefined while it is not there. */
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

  /** Types a text, and sees it in the composer. */
  async type(text: string): Promise<void> {
    await this.harness.tmux("send-keys", "-t", this.#pane?.pane_id ?? "", "-l", "--", text);
    await this.harness.waitFor("the typed text on the screen", () => this.isOnScreen(text));
  }

  /** However it is wrapped. */
  async isOnScreen(text: string): Promise<boolean> {
    const screenText = (await this.screen()).replaceAll(/[\s┃│]+/g, "");
    return screenText.includes(text.replaceAll(/\s+/g, "").slice(-16));
  }

  /** Types a prompt and submits it; its mark tells that the model has it. */
  async submitPrompt(prompt: string, marker: string): Promise<void> {
    await this.type(prompt);
    // Until the model has it no dialog can be open: to press again does no harm.
    for (let presses = 1; this.model.occurrences(marker) === 0; presses++) {
      await this.press("Enter");
      const received = () => this.model.occurrences(marker) > 0;
      const last = presses === PRESSES_MAX;
      await this.harness.waitFor("the prompt at the model", received, SUBMIT_RETRY_MS).catch(
        (error) => {
          if (last || !(error instanceof CommandError)) throw error;
        },
      );
    }
  }

  /** A peer tells the agent something. */
  async send(marker: string): Promise<Sent> {
    const peer_id = (await this.peer())?.peer_id ?? this.#peer_id;
    if (peer_id === undefined) {
      throw new CommandError(`${this.agent.title} is not known to the mesh`);
    }
    const body = {
      from_peer: "selftest",
      to_peer: peer_id,
      text: `A test of mesh, nothing to do: ${marker}`,
      bypass_circle: true,
    };
    const { delivery_id } = await this.harness.call(notifyPeer, { body });
    return this.#last = { id: delivery_id, marker };
  }

  async stages({ id }: Sent) {
    const { stages } = await this.harness.call(getTrace, { params: { trace_id: id } });
    return stages;
  }

  /** Whether it waits with us, for such a reason. */
  async isWaiting(sent: Sent, reason: string): Promise<boolean> {
    return (await this.stages(sent)).some(({ detail }) => detail?.includes(reason));
  }

  async wasSent(sent: Sent): Promise<boolean> {
    const stages = await this.stages(sent);
    return stages.some(({ stage }) => stage === "sent" || stage === "accepted");
  }

  /** The model has it, the mesh has its proof, and it came once. */
  async waitForArrival(sent: Sent): Promise<Arrival> {
    await this.harness.waitFor(
      "the message at the model",
      () => this.model.occurrences(sent.marker) > 0,
    )
      .catch(async (error) => {
        throw error instanceof CommandError
          ? new CommandError(`${error.message}, ${await this.#describeStages(sent)}`)
          : error;
      });
    await this.harness.waitFor(
      "the proof that it was seen",
      async () => (await this.stages(sent)).some(({ stage }) => stage === "seen"),
    );
    return { transport: await this.transportOf(sent) };
  }

  /** It is said once, after the turn as well. */
  async mustArriveOnce({ marker }: Sent): Promise<void> {
    await this.waitUntilIdle();
    const occurrences = this.model.occurrences(marker);
    if (occurrences !== 1) throw new CommandError(`The message came ${occurrences} times`);
  }

  /** The transport that a message took last; else the best that there is. */
  async transportOf(sent: Sent): Promise<string> {
    return await this.#attemptedTransport(sent) ?? (await this.peer())?.transport ?? "none";
  }

  /** The transport that the last message took, if it took any; the next one is another matter. */
  async takeLastTransport(): Promise<string | null> {
    const last = this.#last;
    this.#last = undefined;
    return last ? await this.#attemptedTransport(last) : null;
  }

  /** What the mesh knows of a message in vain, and whether it can be read in the terminal. */
  async #describeStages(sent: Sent): Promise<string> {
    const steps = (await this.stages(sent)).map(({ stage, detail }) =>
      detail === null ? stage : `${stage} (${detail})`
    );
    const location = await this.isOnScreen(sent.marker) ? "on the screen" : "nowhere on the screen";
    return `which is ${location}: ${steps.join(", ")}`;
  }

  async #attemptedTransport(sent: Sent): Promise<string | null> {
    const attempts = (await this.stages(sent)).filter(({ stage }) => stage === "attempting");
    return attempts.at(-1)?.detail ?? null;
  }
}
