/** The scenarios of the self-test in order: each sends a message and checks how it arrives. */

import type { TransportName } from "protocol/agents/contract.ts";
import { CommandError } from "../../cli/client/failures.ts";
import { saveVerdict } from "./verdicts.ts";
import type { AgentDriver, Sent } from "./agent_driver.ts";

export interface Scenario {
  readonly name: string;
  /** The situation that is tested. */
  readonly description: string;
  /** The transport under test, if it is not the agent's best transport. */
  readonly transport?: TransportName;
  /** Returns true if the scenario applies to this agent. Absent if it applies to every agent. */
  applies?(driver: AgentDriver): Promise<boolean>;
  /** Throws when the scenario fails. */
  run(driver: AgentDriver): Promise<ScenarioOutcome>;
}

interface ScenarioOutcome {
  readonly sent: Sent;
  /**
   * The time between the moment when the agent could read the message and the moment when the
   * message was marked as seen.
   */
  readonly ms: number;
  readonly remark?: string;
}

export const SCENARIOS: readonly Scenario[] = [
  { name: "idle", description: "the agent is idle", run: (driver) => sendAndWait(driver, "idle") },
  {
    name: "by pane",
    description: "the agent is idle, and its native transport is degraded",
    transport: "pane",
    applies: hasNativeAndPane,
    run: viaPane,
  },
  { name: "draft", description: "the user has typed half a prompt", run: withDraft },
  { name: "busy", description: "a turn is running", run: whileBusy },
  { name: "dialog", description: "the agent asks for permission", run: atDialog },
  {
    name: "daemon killed",
    description: "the daemon is killed and restarted",
    run: afterDaemonKill,
  },
  { name: "detached", description: "no tmux client is attached", run: whileDetached },
  { name: "resumed", description: "the agent has ended and resumes its session", run: afterResume },
];

async function sendAndWait(driver: AgentDriver, description: string): Promise<ScenarioOutcome> {
  const startedAt = driver.harness.monotonic();
  const sent = await driver.send(driver.marker(description));
  const ms = await timeArrival(driver, sent, startedAt);
  return { sent, ms };
}

/** Waits until the message has arrived, exactly once; returns the time since `startedAt`. */
async function timeArrival(driver: AgentDriver, sent: Sent, startedAt: number): Promise<number> {
  await driver.waitForArrival(sent);
  const ms = driver.harness.monotonic() - startedAt;
  await driver.mustArriveOnce(sent);
  return ms;
}

/** True if the agent has a native transport that is preferred to its pane. */
async function hasNativeAndPane(driver: AgentDriver): Promise<boolean> {
  const peer = await driver.peer();
  return peer?.transport === "native" && peer.pane_id !== null;
}

async function viaPane(driver: AgentDriver): Promise<ScenarioOutcome> {
  const { id: agent } = driver.agent;
  const setNativeDegraded = async (degraded: boolean) => {
    const { version } = driver.harness.testHome;
    const transports = { native: { degraded, why: null } };
    saveVerdict(driver.harness.env, agent, { version, at: driver.harness.now(), transports });
    const status = degraded ? "degraded" : "ok";
    await driver.harness.waitFor(`the native transport to be ${status}`, async () => {
      return (await driver.peer())?.inbound_status === status;
    });
  };
  await setNativeDegraded(true);
  try {
    return await sendAndWait(driver, "pane");
  } finally {
    await setNativeDegraded(false);
  }
}

async function withDraft(driver: AgentDriver): Promise<ScenarioOutcome> {
  const draft = `half a thought ${driver.marker("draft")}`;
  await driver.type(draft);
  let startedAt = driver.harness.monotonic();
  const sent = await driver.send(driver.marker("beside"));
  const outcome = await driver.harness.waitFor(
    "the message to arrive or be held back",
    async () => {
      if (driver.model.occurrences(sent.marker) > 0) return "no";
      return await driver.isWaiting(sent, "draft") && "yes";
    },
  );
  if (outcome === "no") await driver.waitForArrival(sent);
  let ms = driver.harness.monotonic() - startedAt;
  const isDraftKept = await driver.isOnScreen(draft);
  if (!isDraftKept) throw new CommandError("The draft was lost");
  await driver.press("C-u");
  if (outcome === "yes") {
    startedAt = driver.harness.monotonic();
    await driver.waitForArrival(sent);
    ms = driver.harness.monotonic() - startedAt;
  }
  await driver.mustArriveOnce(sent);
  if (driver.model.occurrences(draft) > 0) throw new CommandError("The draft was sent, too");
  const remark = outcome === "yes" ? "waited until the draft was cleared" : "draft kept";
  return { sent, ms, remark };
}

async function whileBusy(driver: AgentDriver): Promise<ScenarioOutcome> {
  const held = driver.model.hold();
  try {
    const marker = driver.marker("turn");
    await driver.submitPrompt(`@@SAY ${marker}`, marker);
    await driver.harness.waitFor("the turn to start", async () => {
      return (await driver.peer())?.turn_state === "working";
    });
    let startedAt = driver.harness.monotonic();
    const sent = await driver.send(driver.marker("busy"));
    await driver.harness.waitFor(
      "the message to be out, or why it waits",
      async () => await driver.wasSent(sent) || await driver.isWaiting(sent, ":"),
    );
    const readDuringTurn = driver.model.occurrences(sent.marker) > 0;
    if (!readDuringTurn) startedAt = driver.harness.monotonic();
    held.release();
    const ms = await timeArrival(driver, sent, startedAt);
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
  await driver.harness.waitFor("the permission dialog", async () => {
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
    throw new CommandError("The message answered the dialog");
  }
  const startedAt = driver.harness.monotonic();
  await driver.press(...dialog.refusal);
  const ms = await timeArrival(driver, sent, startedAt);
  if (driver.harness.exists(forbidden)) throw new CommandError("The agent did the refused action");
  const location = wasQueued ? "held by the daemon" : "held by the agent";
  return { sent, ms, remark: `${location}; the dialog was not answered` };
}

/** Time within which Enter follows a paste. */
const ENTER_MS = 700;

async function afterDaemonKill(driver: AgentDriver): Promise<ScenarioOutcome> {
  await driver.harness.crashDaemon();
  await driver.harness.startDaemon();
  await driver.harness.waitFor("the agent to register again", () => driver.peer());
  return await sendAndWait(driver, "killed");
}

async function whileDetached(driver: AgentDriver): Promise<ScenarioOutcome> {
  await driver.harness.detach();
  return await sendAndWait(driver, "detached");
}

async function afterResume(driver: AgentDriver): Promise<ScenarioOutcome> {
  const before = await driver.peer();
  await driver.end();
  await driver.harness.waitFor(
    "the daemon to notice that the agent ended",
    async () => !await driver.peer(),
    AGENT_GONE_MS_MAX,
  );
  const sent = await driver.send(driver.marker("resumed"));
  const startedAt = driver.harness.monotonic();
  await driver.start(...driver.fixture.resume);
  const ms = await timeArrival(driver, sent, startedAt);
  const after = await driver.peer();
  if (after?.peer_id !== before?.peer_id) {
    throw new CommandError("The agent returned as another peer");
  }
  return { sent, ms, remark: "held until the agent was back; the same peer" };
}

/** The daemon notices the end of an agent's process within seconds. */
const AGENT_GONE_MS_MAX = 30_000;
