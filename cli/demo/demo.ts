/** `mesh demo`: two agents and a person talk, in a throw-away mesh; then nothing is left of it. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { pause } from "kit/core/timeout.ts";
import { getAsk } from "../../daemon/features/asks/contract.ts";
import { getTrace } from "../../daemon/features/messages/contract.ts";
import { getInboxItem, replyInboxItem } from "../../daemon/features/inbox/contract.ts";
import { interruptible, type Session } from "../command/command.ts";
import { EXIT, Failed } from "../client/failures.ts";
import type { Daemon } from "../client/daemon_client.ts";
import { DEMO_HUMAN, type DemoName, PARTS } from "./peer.ts";
import { Stage } from "./setup.ts";
import { ink, print, printText, type Terminal } from "../output/print.ts";
import { showTrace } from "../output/show.ts";
import { type StreamEvent, watchEvents } from "../client/event_stream.ts";

/** All of it takes a few seconds; what takes longer hangs. */
const PLAY_MS_MAX = 45_000;
const LOOK_EVERY_MS = 50;
const HUMAN_SAYS = "Yes, go ahead.";

const Carried = z.object({
  correlation_id: z.string().nullish(),
  delivery_id: z.string().nullish(),
  item_id: z.string().nullish(),
  name: z.string().nullish(),
  from: z.string().nullish(),
  to: z.string().nullish(),
});
type Carried = z.infer<typeof Carried>;

export async function runDemo({ env, clock, terminal }: Session): Promise<number> {
  const begun = clock.now();
  const stage = new Stage(env, clock);
  let failed: unknown;
  await interruptible(async (interrupted) => {
    const over = new AbortController();
    const signal = AbortSignal.any([interrupted, deadline(clock, over.signal)]);
    try {
      await play({ stage, clock, terminal, signal });
    } catch (fault) {
      failed = fault;
    } finally {
      over.abort();
    }
    if (failed !== undefined) await showWreck(stage, terminal);
    heading(terminal, "The end");
    const ended = await stage.leave();
    print(terminal, `Nothing is left: ${ended} processes have ended, ${stage.dir} is gone.`);
  });
  if (failed !== undefined) throw new Failed(`The demo failed: ${messageOf(failed)}`);
  print(terminal, ink("green", "Done"), ` in ${((clock.now() - begun) / 1000).toFixed(1)} s.`);
  return EXIT.done;
}

interface Play {
  readonly stage: Stage;
  readonly clock: Clock;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

async function play({ stage, clock, terminal, signal }: Play): Promise<void> {
  heading(terminal, "A daemon of its own");
  const daemon = await stage.startDaemon(signal);
  print(terminal, `${daemon.url}, with everything it keeps in ${stage.dir}`);

  heading(terminal, "Two agents");
  if (!stage.tmux) print(terminal, "tmux is not installed: the two run as plain processes.");
  const events = watchEvents({ daemon, clock, signal, query: { since: "0" } });
  const news = new News(events, signal);
  await stage.enter("api");
  await news.of("peer_registered", ({ name }) => name === "api");
  await stage.enter("web");
  await news.of("peer_registered", ({ name }) => name === "web");
  print(
    terminal,
    `web and api, ${stage.tmux ? "each in a pane of a private tmux server" : "on /ws"}`,
  );

  heading(terminal, "web asks api, and api answers");
  const asked = await news.of("ask", ({ from }) => from === "web");
  await news.of("ack", ({ correlation_id }) => correlation_id === asked.correlation_id);
  await showExchange(daemon, terminal, idOf(asked.correlation_id));

  heading(terminal, "web tells api something");
  const notified = await news.of("notification", ({ from }) => from === "web");
  print(terminal, ink("cyan", "web → api: "), PARTS.web.onAnswer.text);

  heading(terminal, `api asks ${DEMO_HUMAN}, the human, who answers from the inbox`);
  const came = await news.of("inbox_item", ({ from }) => from === "api");
  const params = { id: idOf(came.item_id) };
  const item = await daemon.call(getInboxItem, { params });
  await daemon.call(replyInboxItem, { params, body: { surface: "demo", text: HUMAN_SAYS } });
  await news.of("ack", ({ correlation_id }) => correlation_id === item.correlation_id);
  await showExchange(daemon, terminal, idOf(item.correlation_id));

  await untilShown({ stage, clock, signal }, "api", HUMAN_SAYS);
  heading(terminal, "How each message went");
  for (const id of [asked.correlation_id, notified.delivery_id, item.correlation_id]) {
    showTrace(terminal, await daemon.call(getTrace, { params: { trace_id: idOf(id) } }));
    print(terminal);
  }
  heading(terminal, "What the two agents saw");
  await showScreens(stage, terminal);
}

async function showExchange({ call }: Daemon, terminal: Terminal, id: string): Promise<void> {
  const ask = await call(getAsk, { params: { id } });
  if (ask.reply === null) throw new Failed(`${id} has no reply: ${ask.close_reason}`);
  print(terminal, ink("cyan", `${ask.from_peer_name} → ${ask.to_peer_name}: `), ask.text);
  print(terminal, ink("green", `${ask.to_peer_name} → ${ask.from_peer_name}: `), ask.reply);
}

/** A pane shows a text a moment after the daemon has handed it over. */
async function untilShown(
  { stage, clock, signal }: Omit<Play, "terminal">,
  name: DemoName,
  text: string,
): Promise<void> {
  while (!(await stage.screen(name)).includes(text)) await clock.sleep(LOOK_EVERY_MS, signal);
}

async function showScreens(stage: Stage, terminal: Terminal): Promise<void> {
  for (const name of stage.players) {
    print(terminal, ink("bold", name));
    printText(terminal, (await stage.screen(name)).trimEnd(), "  │ ");
  }
}

/** For the reader of a failure: what the agents and the daemon said last. */
async function showWreck(stage: Stage, terminal: Terminal): Promise<void> {
  heading(terminal, "Where it stopped");
  await showScreens(stage, terminal);
  printText(terminal, await stage.complaints());
}

function heading(terminal: Terminal, text: string): void {
  print(terminal);
  print(terminal, ink("bold", text));
}

function idOf(id: string | null | undefined): string {
  if (!id) throw new Failed("An event came without the id it should carry");
  return id;
}

/** Aborts when the play takes too long, unless it is over by then. */
function deadline(clock: Clock, over: AbortSignal): AbortSignal {
  const late = new AbortController();
  const reason = new Failed(`It took longer than ${PLAY_MS_MAX / 1000} s`);
  void pause(clock, PLAY_MS_MAX, over).then(() => late.abort(reason));
  return late.signal;
}

/** The stream, as one who waits for something in particular: what came before is remembered. */
class News {
  readonly #events: AsyncGenerator<StreamEvent>;
  readonly #signal: AbortSignal;
  readonly #heard: { type: string; carried: Carried }[] = [];

  constructor(events: AsyncGenerator<StreamEvent>, signal: AbortSignal) {
    this.#events = events;
    this.#signal = signal;
  }

  async of(type: string, fits: (carried: Carried) => boolean): Promise<Carried> {
    const known = this.#heard.find((heard) => heard.type === type && fits(heard.carried));
    if (known) return known.carried;
    for (let next = await this.#events.next(); !next.done; next = await this.#events.next()) {
      const carried = Carried.safeParse(next.value.data);
      if (!carried.success) continue;
      this.#heard.push({ type: next.value.type, carried: carried.data });
      if (next.value.type === type && fits(carried.data)) return carried.data;
    }
    this.#signal.throwIfAborted();
    throw new Failed(`The stream ended before ${type}`);
  }
}
