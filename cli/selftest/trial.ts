/** One agent under test: its session, what is typed there, and how a message came to it. */

import { getTrace } from "../../daemon/features/messages/contract.ts";
import { notifyPeer } from "../../daemon/features/notifications/contract.ts";
import { listPeers } from "../../daemon/features/peers/contract.ts";
import { Failed } from "../client/failures.ts";
import type { Scripted } from "./model/scripted.ts";
import type { Pane, Room } from "./environment.ts";
import type { Subject } from "./agents.ts";

/** The first start of some copies the program into their home. */
const START_MS_MAX = 60_000;
/** Between two keys, as of a quick person. */
const KEY_MS = 150;
/** A screen that was just drawn swallows a key now and then; a busy machine tells it late. */
const SWALLOWED_MS = 8_000;
const PRESSES_MAX = 4;

/** A message on its way to the agent. */
export interface Sent {
  readonly id: string;
  readonly mark: string;
}

export interface Arrival {
  readonly rung: string;
}

/** What a trial asks of the room that it is in. */
export type Stage = Pick<
  Room,
  | "premises"
  | "env"
  | "call"
  | "forbidden"
  | "now"
  | "pause"
  | "until"
  | "holds"
  | "tmux"
  | "openPane"
  | "closePane"
  | "lives"
  | "run"
  | "startDaemon"
  | "crashDaemon"
  | "detach"
>;

export class Trial {
  readonly agent: Subject["agent"];
  readonly fixture: Subject["fixture"];
  readonly room: Stage;
  readonly model: Scripted;
  #pane: Pane | undefined;
  /** As the mesh knew it last: it may be away. */
  #peer_id: string | undefined;
  #last: Sent | undefined;
  #marks = 0;
  /** Whether the first start has asked its user: a composer is shown for a moment before. */
  #asked: boolean;

  constructor({ agent, fixture }: Subject, room: Stage, model: Scripted) {
    this.agent = agent;
    this.fixture = fixture;
    this.room = room;
    this.model = model;
    this.#asked = fixture.atStart === undefined;
  }

  /** A word that nobody has said yet. */
  mark(about: string): string {
    return `selftest-${about}-${++this.#marks}`;
  }

  /** Starts the agent in a pane, and waits until the mesh knows it and it takes keys. */
  async start(...more: readonly string[]): Promise<void> {
    const { agent, fixture, room } = this;
    const pane = this.#pane = await room.openPane([...fixture.command, ...more]);
    await room.until(`${agent.title} to start`, async () => {
      if (!room.lives(pane)) throw new Failed(`${agent.title} has ended instead of starting`);
      const screen = await this.screen();
      const key = fixture.atStart?.(screen);
      if (key !== undefined) {
        this.#asked = true;
        await this.press(key);
      }
      return this.#asked && fixture.isReady(screen);
    }, START_MS_MAX);
    if (agent.silent_until_prompt && more.length === 0) {
      const mark = this.mark("first");
      await this.say(`@@SAY ${mark}`, mark);
    }
    const known = () => this.peer();
    const { peer_id } = await room.until(`${agent.title} among the peers`, known, START_MS_MAX);
    this.#peer_id = peer_id;
    await this.calm();
  }

  /** Ends the agent as closing its window does. */
  async end(): Promise<void> {
    const { fixture, room } = this;
    const pane = this.#pane;
    this.#pane = undefined;
    if (pane) await room.closePane(pane);
    await fixture.end?.(room.run);
  }

  get running(): boolean {
    return this.#pane !== undefined;
  }

  /** The agent, as the mesh has it; undefined while it is not there. */
  async peer() {
    const { peers } = await this.room.call(listPeers, { query: {} });
    return peers.find(({ backend, status }) =>
      backend === this.agent.id && (status === "online" || status === "busy")
    );
  }

  /** Waits until no turn runs, no dialog is open and the composer is empty. */
  async calm(): Promise<void> {
    await this.room.until(`${this.agent.title} to be idle again`, async () => {
      const turn = (await this.peer())?.turn_state;
      const idle = turn === "idle" || turn === "pending_first_turn";
      return idle && this.fixture.isReady(await this.screen());
    });
  }

  async screen(): Promise<string> {
    if (!this.#pane) return "";
    return await this.room.tmux("capture-pane", "-p", "-t", this.#pane.pane_id);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await this.room.tmux("send-keys", "-t", this.#pane?.pane_id ?? "", key);
      await this.room.pause(KEY_MS);
    }
  }

  /** Types a text, and sees it in the composer. */
  async type(text: string): Promise<void> {
    await this.room.tmux("send-keys", "-t", this.#pane?.pane_id ?? "", "-l", "--", text);
    await this.room.until("the typed text on the screen", () => this.shows(text));
  }

  /** However it is wrapped. */
  async shows(text: string): Promise<boolean> {
    const bare = (await this.screen()).replaceAll(/[\s┃│]+/g, "");
    return bare.includes(text.replaceAll(/\s+/g, "").slice(-16));
  }

  /** Types a prompt and submits it; its mark tells that the model has it. */
  async say(prompt: string, mark: string): Promise<void> {
    await this.type(prompt);
    // Until the model has it no dialog can be open: to press again does no harm.
    for (let presses = 1; this.model.times(mark) === 0; presses++) {
      await this.press("Enter");
      const taken = () => this.model.times(mark) > 0;
      const last = presses === PRESSES_MAX;
      await this.room.until("the prompt at the model", taken, SWALLOWED_MS).catch((fault) => {
        if (last || !(fault instanceof Failed)) throw fault;
      });
    }
  }

  /** A peer tells the agent something. */
  async send(mark: string): Promise<Sent> {
    const peer_id = (await this.peer())?.peer_id ?? this.#peer_id;
    if (peer_id === undefined) throw new Failed(`${this.agent.title} is not known to the mesh`);
    const body = {
      from_peer: "selftest",
      to_peer: peer_id,
      text: `A test of mesh, nothing to do: ${mark}`,
      bypass_circle: true,
    };
    const { delivery_id } = await this.room.call(notifyPeer, { body });
    return this.#last = { id: delivery_id, mark };
  }

  async stages({ id }: Sent) {
    const { stages } = await this.room.call(getTrace, { params: { trace_id: id } });
    return stages;
  }

  /** Whether it waits with us, for such a reason. */
  async waits(sent: Sent, reason: string): Promise<boolean> {
    return (await this.stages(sent)).some(({ detail }) => detail?.includes(reason));
  }

  async isOut(sent: Sent): Promise<boolean> {
    const stages = await this.stages(sent);
    return stages.some(({ stage }) => stage === "sent" || stage === "accepted");
  }

  /** The model has it, the mesh has its proof, and it came once. */
  async arrived(sent: Sent): Promise<Arrival> {
    await this.room.until("the message at the model", () => this.model.times(sent.mark) > 0)
      .catch(async (fault) => {
        throw fault instanceof Failed
          ? new Failed(`${fault.message}, ${await this.#told(sent)}`)
          : fault;
      });
    await this.room.until(
      "the proof that it was seen",
      async () => (await this.stages(sent)).some(({ stage }) => stage === "seen"),
    );
    return { rung: await this.rungOf(sent) };
  }

  /** It is said once, after the turn as well. */
  async cameOnce({ mark }: Sent): Promise<void> {
    await this.calm();
    const times = this.model.times(mark);
    if (times !== 1) throw new Failed(`The message came ${times} times`);
  }

  /** The rung that a message took last; else the best that there is. */
  async rungOf(sent: Sent): Promise<string> {
    return await this.#triedFor(sent) ?? (await this.peer())?.transport ?? "none";
  }

  /** The rung that the last message took, if it took any; the next one is another matter. */
  async lastRung(): Promise<string | null> {
    const last = this.#last;
    this.#last = undefined;
    return last ? await this.#triedFor(last) : null;
  }

  /** What the mesh knows of a message in vain, and whether it can be read in the terminal. */
  async #told(sent: Sent): Promise<string> {
    const told = (await this.stages(sent)).map(({ stage, detail }) =>
      detail === null ? stage : `${stage} (${detail})`
    );
    const where = await this.shows(sent.mark) ? "on the screen" : "nowhere on the screen";
    return `which is ${where}: ${told.join(", ")}`;
  }

  async #triedFor(sent: Sent): Promise<string | null> {
    const tried = (await this.stages(sent)).filter(({ stage }) => stage === "attempting");
    return tried.at(-1)?.detail ?? null;
  }
}
