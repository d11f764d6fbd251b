/** What is tried with each agent, in this order: does a message arrive, and is nothing harmed? */

import type { RungName } from "../../daemon/features/agents/contract.ts";
import { Failed } from "../client/failures.ts";
import { keepVerdict } from "./verdicts.ts";
import type { Sent, Trial } from "./trial.ts";

export interface Scenario {
  readonly name: string;
  /** For the table's reader: what is tried. */
  readonly about: string;
  /** The rung that it is about, where that is not the agent's best. */
  readonly rung?: RungName;
  /** Absent where it is tried with every agent. */
  fits?(trial: Trial): Promise<boolean>;
  /** How it went: the message that came, and what is worth a remark. */
  play(trial: Trial): Promise<Played>;
}

export interface Played {
  readonly sent: Sent;
  /** From when it could be read until it was proved to be. */
  readonly ms: number;
  readonly remark?: string;
}

export const SCENARIOS: readonly Scenario[] = [
  { name: "idle", about: "nothing goes on", play: (trial) => simply(trial, "idle") },
  {
    name: "by pane",
    about: "nothing goes on, and its socket is not to be relied on",
    rung: "pane",
    fits: hasPane,
    play: byPane,
  },
  { name: "draft", about: "its user has typed half a prompt", play: withDraft },
  { name: "busy", about: "a turn runs", play: whileBusy },
  { name: "dialog", about: "it asks its user for leave", play: atDialog },
  { name: "daemon killed", about: "the daemon is killed and started anew", play: overKill },
  { name: "detached", about: "nobody looks at the terminal", play: detached },
  { name: "resumed", about: "it was ended, and takes its session up again", play: resumed },
];

/** Nothing is in the way. */
async function simply(trial: Trial, about: string): Promise<Played> {
  const began = trial.room.now();
  const sent = await trial.send(trial.mark(about));
  await trial.arrived(sent);
  const ms = trial.room.now() - began;
  await trial.cameOnce(sent);
  return { sent, ms };
}

/** A better rung than its pane leads to it: that one has to step back for a moment. */
async function hasPane(trial: Trial): Promise<boolean> {
  const peer = await trial.peer();
  return peer?.transport === "native" && peer.pane_id !== null;
}

async function byPane(trial: Trial): Promise<Played> {
  const { id: agent } = trial.agent;
  const stepBack = async (degraded: boolean) => {
    const verdict = { degraded, why: null };
    const { version } = trial.room.premises;
    keepVerdict(trial.room.env, agent, {
      version,
      at: trial.room.now(),
      rungs: { native: verdict },
    });
    const status = degraded ? "degraded" : "ok";
    await trial.room.until(`its socket to be ${status}`, async () => {
      return (await trial.peer())?.inbound_status === status;
    });
  };
  await stepBack(true);
  try {
    return await simply(trial, "pane");
  } finally {
    await stepBack(false);
  }
}

async function withDraft(trial: Trial): Promise<Played> {
  const draft = `half a thought ${trial.mark("draft")}`;
  await trial.type(draft);
  let began = trial.room.now();
  const sent = await trial.send(trial.mark("beside"));
  const waits = await trial.room.until(
    "the message, or why it waits",
    async () => trial.model.times(sent.mark) > 0 ? "no" : await trial.waits(sent, "draft") && "yes",
  );
  if (waits === "no") await trial.arrived(sent);
  let ms = trial.room.now() - began;
  const kept = await trial.shows(draft);
  if (!kept) throw new Failed("The draft is gone");
  await trial.press("C-u");
  if (waits === "yes") {
    began = trial.room.now();
    await trial.arrived(sent);
    ms = trial.room.now() - began;
  }
  await trial.cameOnce(sent);
  if (trial.model.times(draft) > 0) throw new Failed("The draft was sent as well");
  return { sent, ms, remark: waits === "yes" ? "waited until the draft was gone" : "draft kept" };
}

async function whileBusy(trial: Trial): Promise<Played> {
  const held = trial.model.hold();
  try {
    const mark = trial.mark("turn");
    await trial.say(`@@SAY ${mark}`, mark);
    await trial.room.until("the turn", async () => {
      return (await trial.peer())?.turn_state === "working";
    });
    let began = trial.room.now();
    const sent = await trial.send(trial.mark("busy"));
    await trial.room.until(
      "the message to be out, or why it waits",
      async () => await trial.isOut(sent) || await trial.waits(sent, ":"),
    );
    const during = trial.model.times(sent.mark) > 0;
    if (!during) began = trial.room.now();
    held.release();
    await trial.arrived(sent);
    const ms = trial.room.now() - began;
    await trial.cameOnce(sent);
    return { sent, ms, remark: during ? "read during the turn" : "read after the turn" };
  } finally {
    held.release();
  }
}

async function atDialog(trial: Trial): Promise<Played> {
  const { dialog } = trial.fixture;
  const { forbidden } = trial.room;
  const mark = trial.mark("leave");
  await trial.say(dialog.prompt(forbidden, mark), mark);
  await trial.room.until("its dialog", async () => {
    const waiting = (await trial.peer())?.turn_state === "awaiting_input";
    return waiting && dialog.isOpen(await trial.screen());
  });
  const sent = await trial.send(trial.mark("dialog"));
  await trial.room.until(
    "the message to be out, or why it waits",
    async () => await trial.isOut(sent) || await trial.waits(sent, "dialog"),
  );
  await trial.room.pause(ENTER_MS);
  const waited = await trial.waits(sent, "dialog");
  if (trial.room.holds(forbidden) || !dialog.isOpen(await trial.screen())) {
    throw new Failed("The message has answered the dialog");
  }
  const began = trial.room.now();
  await trial.press(...dialog.refusal);
  await trial.arrived(sent);
  const ms = trial.room.now() - began;
  await trial.cameOnce(sent);
  if (trial.room.holds(forbidden)) throw new Failed("What was refused was done");
  const where = waited ? "waited with us" : "waited with the agent";
  return { sent, ms, remark: `${where}; the dialog was left alone` };
}

/** An Enter that follows a paste comes by then. */
const ENTER_MS = 700;

async function overKill(trial: Trial): Promise<Played> {
  await trial.room.crashDaemon();
  await trial.room.startDaemon();
  await trial.room.until("the agent among the peers again", () => trial.peer());
  return await simply(trial, "killed");
}

async function detached(trial: Trial): Promise<Played> {
  await trial.room.detach();
  return await simply(trial, "detached");
}

async function resumed(trial: Trial): Promise<Played> {
  const before = await trial.peer();
  await trial.end();
  await trial.room.until(
    "the mesh to notice its end",
    async () => !await trial.peer(),
    AWAY_MS_MAX,
  );
  const sent = await trial.send(trial.mark("resumed"));
  const began = trial.room.now();
  await trial.start(...trial.fixture.resume);
  await trial.arrived(sent);
  const ms = trial.room.now() - began;
  await trial.cameOnce(sent);
  const after = await trial.peer();
  if (after?.peer_id !== before?.peer_id) throw new Failed("It came back as another peer");
  return { sent, ms, remark: "waited for it; the same peer" };
}

/** An agent whose process ends is missed within seconds. */
const AWAY_MS_MAX = 30_000;
