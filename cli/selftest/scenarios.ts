/** What is tried with each agent, in this order: does a message arrive, and is nothing harmed? */

import type { TransportName } from "../../daemon/features/agents/contract.ts";
import { CommandError } from "../client/failures.ts";
import { saveVerdict } from "./verdicts.ts";
import type { AgentDriver, Sent } from "./agent_driver.ts";

export interface Scenario {
  readonly name: string;
  /** For the table's reader: what is tried. */
  readonly description: string;
  /** The transport that it is about, where that is not the agent's best. */
  readonly transport?: TransportName;
  /** Absent where it is tried with every agent. */
  applies?(driver: AgentDriver): Promise<boolean>;
  /** How it went: the message that came, and what is worth a remark. */
  run(driver: AgentDriver): Promise<ScenarioOutcome>;
}

export interface ScenarioOutcome {
  readonly sent: Sent;
  /** From when it could be read until it was proved to be. */
  readonly ms: number;
  readonly remark?: string;
}

export const SCENARIOS: readonly Scenario[] = [
  { name: "idle", description: "nothing goes on", run: (driver) => sendAndWait(driver, "idle") },
  {
    name: "by pane",
    description: "nothing goes on, and its socket is not to be relied on",
    transport: "pane",
    applies: hasNativeAndPane,
    run: viaPane,
  },
  { name: "draft", description: "its user has typed half a prompt", run: withDraft },
  { name: "busy", description: "a turn runs", run: whileBusy },
  { name: "dialog", description: "it asks its user for leave", run: atDialog },
  {
    name: "daemon killed",
    description: "the daemon is killed and started anew",
    run: afterDaemonKill,
  },
  { name: "detached", description: "nobody looks at the terminal", run: detached },
  { name: "resumed", description: "it was ended, and takes its session up again", run: resumed },
];

/** Nothing is in the way. */
async function sendAndWait(driver: AgentDriver, description: string): Promise<ScenarioOutcome> {
  const startedAt = driver.harness.now();
  const sent = await driver.send(driver.marker(description));
  await driver.waitForArrival(sent);
  const ms = driver.harness.now() - startedAt;
  await driver.mustArriveOnce(sent);
  return { sent, ms };
}

/** A better transport than its pane leads to it: that one has to step back for a moment. */
async function hasNativeAndPane(driver: AgentDriver): Promise<boolean> {
  const peer = await driver.peer();
  return peer?.transport === "native" && peer.pane_id !== null;
}

async function viaPane(driver: AgentDriver): Promise<ScenarioOutcome> {
  const { id: agent } = driver.agent;
  const stepBack = async (degraded: boolean) => {
    const verdict = { degraded, why: null };
    const { version } = driver.harness.testHome;
    saveVerdict(driver.harness.env, agent, {
      version,
      at: driver.harness.now(),
      transports: { native: verdict },
    });
    const status = degraded ? "degraded" : "ok";
    await driver.harness.waitFor(`its socket to be ${status}`, async () => {
      return (await driver.peer())?.inbound_status === status;
    });
  };
  await stepBack(true);
  try {
    return await sendAndWait(driver, "pane");
  } finally {
    await stepBack(false);
  }
}

async function withDraft(driver: AgentDriver): Promise<ScenarioOutcome> {
  const draft = `half a thought ${driver.marker("draft")}`;
  await driver.type(draft);
  let startedAt = driver.harness.now();
  const sent = await driver.send(driver.marker("beside"));
  const outcome = await driver.harness.waitFor(
    "the message, or why it waits",
    async () =>
      driver.model.occurrences(sent.marker) > 0
        ? "no"
        : await driver.isWaiting(sent, "draft") && "yes",
  );
  if (outcome === "no") await driver.waitForArrival(sent);
  let ms = driver.harness.now() - startedAt;
  const isDraftKept = await driver.isOnScreen(draft);
  if (!isDraftKept) throw new CommandError("The draft is gone");
  await driver.press("C-u");
  if (outcome === "yes") {
    startedAt = driver.harness.now();
    await driver.waitForArrival(sent);
    ms = driver.harness.now() - startedAt;
  }
  await driver.mustArriveOnce(sent);
  if (driver.model.occurrences(draft) > 0) throw new CommandError("The draft was sent as well");
  return { sent, ms, remark: outcome === "yes" ? "waited until the draft was gone" : "draft kept" };
}

async function whileBusy(driver: AgentDriver): Promise<ScenarioOutcome> {
  const held = driver.model.hold();
  try {
    const marker = driver.marker("turn");
    await driver.submitPrompt(`@@SAY ${marker}`, marker);
    await driver.harness.waitFor("the turn", async () => {
      return (await driver.peer())?.turn_state === "working";
    });
    let startedAt = driver.harness.now();
    const sent = await driver.send(driver.marker("busy"));
    await driver.harness.waitFor(
      "the message to be out, or why it waits",
      async () => await driver.wasSent(sent) || await driver.isWaiting(sent, ":"),
    );
    const readDuringTurn = driver.model.occurrences(sent.marker) > 0;
    if (!readDuringTurn) startedAt = driver.harness.now();
    held.release();
    await driver.waitForArrival(sent);
    const ms = driver.harness.now() - startedAt;
    await driver.mustArriveOnce(sent);
    return { sent, ms, remark: readDuringTurn ? "read during the turn" : "read after the turn" };
  } finally {
    held.release();
  }
}

async function atDialog(driver: AgentDriver): Promise<ScenarioOutcome> {
  const { dialog } = driver.fixture;
  const { forbidden } = driver.harness;
  const marker = driver.marker("leave");
  await driver.submitPrompt(dialog.prompt(forbidden, marker), marker);
  await driver.harness.waitFor("its dialog", async () => {
    const waiting = (await driver.peer())?.turn_state === "awaiting_input";
    return waiting && dialog.isOpen(await driver.screen());
  });
  const sent = await driver.send(driver.marker("dialog"));
  await driver.harness.waitFor(
    "the message to be out, or why it waits",
    async () => await driver.wasSent(sent) || await driver.isWaiting(sent, "dialog"),
  );
  await driver.harness.pause(ENTER_MS);
  const wasQueued = await driver.isWaiting(sent, "dialog");
  if (driver.harness.exists(forbidden) || !dialog.isOpen(await driver.screen())) {
    throw new CommandError("The message has answered the dialog");
  }
  const startedAt = driver.harness.now();
  await driver.press(...dialog.refusal);
  await driver.waitForArrival(sent);
  const ms = driver.harness.now() - startedAt;
  await driver.mustArriveOnce(sent);
  if (driver.harness.exists(forbidden)) throw new CommandError("What was refused was done");
  const location = wasQueued ? "waited with us" : "waited with the agent";
  return { sent, ms, remark: `${location}; the dialog was left alone` };
}

/** An Enter that follows a paste comes by then. */
const ENTER_MS = 700;

async function afterDaemonKill(driver: AgentDriver): Promise<ScenarioOutcome> {
  await driver.harness.crashDaemon();
  await driver.harness.startDaemon();
  await driver.harness.waitFor("the agent among the peers again", () => driver.peer());
  return await sendAndWait(driver, "killed");
}

async function detached(driver: AgentDriver): Promise<ScenarioOutcome> {
  await driver.harness.detach();
  return await sendAndWait(driver, "detached");
}

async function resumed(driver: AgentDriver): Promise<ScenarioOutcome> {
  const before = await driver.peer();
  await driver.end();
  await driver.harness.waitFor(
    "the mesh to notice its end",
    async () => !await driver.peer(),
    AGENT_GONE_MS_MAX,
  );
  const sent = await driver.send(driver.marker("resumed"));
  const startedAt = driver.harness.now();
  await driver.start(...driver.fixture.resume);
  await driver.waitForArrival(sent);
  const ms = driver.harness.now() - startedAt;
  await driver.mustArriveOnce(sent);
  const after = await driver.peer();
  if (after?.peer_id !== before?.peer_id) throw new CommandError("It came back as another peer");
  return { sent, ms, remark: "waited for it; the same peer" };
}

/** An agent whose process ends is missed within seconds. */
const AGENT_GONE_MS_MAX = 30_000;
