/** `mesh demo`: two agents and the human talk in a temporary mesh, which is then removed. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { pause } from "kit/core/timeout.ts";
import { getAsk } from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { getMessage } from "protocol/messages/log.ts";
import { getInboxItem, replyInboxItem } from "protocol/inbox.ts";
import { type CommandContext, interruptible } from "../../cli/command/command.ts";
import { CommandError, EXIT } from "../../cli/client/failures.ts";
import type { DaemonClient } from "../../cli/client/daemon_client.ts";
import { type DemoName, SCRIPTS } from "protocol/derived/demo_script.ts";
import { DEMO_HUMAN } from "./peer.ts";
import { DemoHarness } from "./harness.ts";
import { styled, type Terminal } from "../../cli/output/terminal.ts";
import { showTrace } from "../../cli/output/views.ts";
import { type StreamEvent, watchEvents } from "../../cli/client/event_stream.ts";

/** The demo takes a few seconds. After this time it counts as stuck. */
const DEMO_MS_MAX = 45_000;
const POLL_INTERVAL_MS = 50;
const HUMAN_REPLY = "Yes, go ahead.";

const EventData = z.object({
  correlation_id: z.string().nullish(),
  delivery_id: z.string().nullish(),
  item_id: z.string().nullish(),
  name: z.string().nullish(),
  from: z.string().nullish(),
  to: z.string().nullish(),
});
type EventData = z.infer<typeof EventData>;

export async function runDemo({ env, clock, terminal }: CommandContext): Promise<number> {
  const startedAt = clock.monotonic();
  const harness = new DemoHarness(env, clock);
  let failed: unknown;
  await interruptible(async (interrupted) => {
    const finished = new AbortController();
    const signal = AbortSignal.any([interrupted, deadline(clock, finished.signal)]);
    try {
      await runScript({ harness, clock, terminal, signal });
    } catch (error) {
      failed = error;
    } finally {
      finished.abort();
    }
    let endedCount = 0;
    try {
      if (failed !== undefined) await showFailure(harness, terminal);
      heading(terminal, "Cleaning up");
    } finally {
      // The program that reads the output may have closed it, as `head` does.
      endedCount = await harness.cleanUp();
    }
    terminal.print(`${endedCount} processes have exited, and ${harness.dir} is removed.`);
  });
  if (failed !== undefined) throw new CommandError(`The demo failed: ${messageOf(failed)}`);
  const seconds = (clock.monotonic() - startedAt) / 1000;
  terminal.print(styled("green", "Done"), ` in ${seconds.toFixed(1)} s.`);
  return EXIT.done;
}

interface ScriptOptions extends Pick<CommandContext, "clock" | "terminal"> {
  readonly harness: DemoHarness;
  readonly signal: AbortSignal;
}

async function runScript({ harness, clock, terminal, signal }: ScriptOptions): Promise<void> {
  heading(terminal, "Starting a daemon");
  const daemon = await harness.startDaemon(signal);
  terminal.print(`${daemon.url}, with its data in ${harness.dir}`);

  heading(terminal, "Starting two agents");
  if (!harness.tmux) terminal.print("tmux is not installed, so both run as plain processes.");
  const events = watchEvents({ daemon, clock, signal, query: { since: "0" } });
  const eventWaiter = new EventWaiter(events, signal);
  await harness.addPeer("api");
  await eventWaiter.waitFor("peer_registered", ({ name }) => name === "api");
  await harness.addPeer("web");
  await eventWaiter.waitFor("peer_registered", ({ name }) => name === "web");
  const where = harness.tmux ? "each in a pane of a private tmux server" : "on /ws";
  terminal.print(`web and api, ${where}`);

  heading(terminal, "web asks api, and api answers");
  const askEvent = await eventWaiter.waitFor("ask", ({ from }) => from === "web");
  const isReplyTo = (id: unknown) => ({ correlation_id }: EventData) => correlation_id === id;
  await eventWaiter.waitFor("ack", isReplyTo(askEvent.correlation_id));
  await showExchange(daemon, terminal, mustHaveId(askEvent.correlation_id));

  heading(terminal, "web notifies api");
  const notifyEvent = await eventWaiter.waitFor("notification", ({ from }) => from === "web");
  terminal.print(styled("cyan", "web → api: "), SCRIPTS.web.onReply.text);

  heading(terminal, `api asks ${DEMO_HUMAN}, the human, who answers from the inbox`);
  const itemEvent = await eventWaiter.waitFor("inbox_item", ({ from }) => from === "api");
  const params = { id: mustHaveId(itemEvent.item_id) };
  const item = await daemon.call(getInboxItem, { params });
  await daemon.call(replyInboxItem, { params, body: { surface: "demo", text: HUMAN_REPLY } });
  await eventWaiter.waitFor("ack", isReplyTo(item.correlation_id));
  await showExchange(daemon, terminal, mustHaveId(item.correlation_id));

  await waitForText({ harness, clock, signal }, "api", HUMAN_REPLY);
  heading(terminal, "The trace of each message");
  for (const id of [askEvent.correlation_id, notifyEvent.delivery_id, item.correlation_id]) {
    const trace_id = mustHaveId(id);
    const trace = await daemon.call(getTrace, { params: { trace_id } });
    const message = await daemon.call(getMessage, { params: { id: trace_id } });
    showTrace(terminal, trace, message);
    terminal.print();
  }
  heading(terminal, "The screens of both agents");
  await showScreens(harness, terminal);
}

async function showExchange({ call }: DaemonClient, terminal: Terminal, id: string): Promise<void> {
  const ask = await call(getAsk, { params: { id } });
  if (ask.reply === null) throw new CommandError(`${id} has no reply: ${ask.close_reason}`);
  terminal.print(styled("cyan", `${ask.from_peer_name} → ${ask.to_peer_name}: `), ask.text);
  terminal.print(styled("green", `${ask.to_peer_name} → ${ask.from_peer_name}: `), ask.reply);
}

/**
 * Waits until the peer's screen shows the text, because a pane shows a message a moment after its
 * delivery.
 */
async function waitForText(
  { harness, clock, signal }: Omit<ScriptOptions, "terminal">,
  name: DemoName,
  text: string,
): Promise<void> {
  while (!(await harness.screen(name)).includes(text)) await clock.sleep(POLL_INTERVAL_MS, signal);
}

async function showScreens(harness: DemoHarness, terminal: Terminal): Promise<void> {
  for (const name of harness.peers) {
    terminal.print(styled("bold", name));
    terminal.printText((await harness.screen(name)).trimEnd(), "  │ ");
  }
}

/** Prints the agents' screens and the daemon's error output. */
async function showFailure(harness: DemoHarness, terminal: Terminal): Promise<void> {
  heading(terminal, "State at the failure");
  await showScreens(harness, terminal);
  terminal.printText(await harness.daemonErrors());
}

function heading(terminal: Terminal, text: string): void {
  terminal.print();
  terminal.print(styled("bold", text));
}

function mustHaveId(id: string | null | undefined): string {
  if (!id) throw new CommandError("An event has no message id");
  return id;
}

/** Returns a signal that aborts when the demo takes too long, unless `finished` aborts first. */
function deadline(clock: Clock, finished: AbortSignal): AbortSignal {
  const timedOut = new AbortController();
  const reason = new CommandError(`it took longer than ${DEMO_MS_MAX / 1000} s`);
  void pause(clock, DEMO_MS_MAX, finished).then(() => timedOut.abort(reason));
  return timedOut.signal;
}

/** Waits for particular events of the stream, including ones that have already arrived. */
class EventWaiter {
  readonly #events: AsyncGenerator<StreamEvent>;
  readonly #signal: AbortSignal;
  readonly #seen: { type: string; eventData: EventData }[] = [];

  constructor(events: AsyncGenerator<StreamEvent>, signal: AbortSignal) {
    this.#events = events;
    this.#signal = signal;
  }

  async waitFor(type: string, matches: (eventData: EventData) => boolean): Promise<EventData> {
    const earlier = this.#seen.find((seen) => seen.type === type && matches(seen.eventData));
    if (earlier) return earlier.eventData;
    for (let next = await this.#events.next(); !next.done; next = await this.#events.next()) {
      const eventData = EventData.safeParse(next.value.data);
      if (!eventData.success) continue;
      this.#seen.push({ type: next.value.type, eventData: eventData.data });
      if (next.value.type === type && matches(eventData.data)) return eventData.data;
    }
    this.#signal.throwIfAborted();
    throw new CommandError(`The event stream ended before a "${type}" event`);
  }
}
