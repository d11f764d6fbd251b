/** `mesh` on a terminal: a live view of peers, messages and what waits for the human. */

import type { Clock } from "kit/core/clock.ts";
import { type CommandContext, interruptible, type LiveTerminal } from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { type ScreenSize, styled } from "../output/terminal.ts";
import { type Input, KeyReader } from "../screen/keys.ts";
import { type Frame, Screen } from "../screen/screen.ts";
import { Acts } from "./acts.ts";
import { type Metrics, press } from "./press.ts";
import type { Topic } from "./records.ts";
import { draw } from "./render/frame.ts";
import { Source } from "./source.ts";
import {
  type Act,
  FIRST_VIEW,
  INBOX_VIEW,
  isInbox,
  keepDraft,
  type Model,
  modelOf,
  type View,
} from "./view.ts";

/** Acts that use the terminal themselves; no key is read meanwhile. */
const LENDS: ReadonlySet<Act["kind"]> = new Set(["edit", "attach"]);

/** Runs until the user quits; the inbox also ends when nothing waits any more. */
export async function runLive(
  context: CommandContext,
  terminal: LiveTerminal,
  first = FIRST_VIEW,
): Promise<number> {
  let last = first;
  try {
    await interruptible(async (signal) => {
      using live = new LiveView(context, terminal, first);
      const end = () => live.end();
      signal.addEventListener("abort", end, { once: true });
      using _hangUp = terminal.screen.listen("SIGHUP", end);
      using _quit = terminal.screen.listen("SIGQUIT", end);
      try {
        await live.run();
      } finally {
        last = live.view;
      }
    });
  } finally {
    printDrafts(context, last);
  }
  return EXIT.done;
}

/** The view of the items that wait for the human alone. */
export function runInbox(context: CommandContext, terminal: LiveTerminal): Promise<number> {
  return runLive(context, terminal, INBOX_VIEW);
}

/** Prints the drafts, so that unsent text stays readable in the terminal. */
function printDrafts({ terminal }: CommandContext, view: View): void {
  for (const { target, text } of keepDraft(view).drafts.values()) {
    if (target.kind === "search") continue;
    const name = "item" in target ? target.item.from : target.peer.name;
    terminal.print(styled("yellow", `Not sent to ${name}:`));
    terminal.printText(text, "  ");
  }
}

class LiveView implements Disposable {
  view: View;
  readonly #keys: LiveTerminal["keys"];
  readonly #clock: Clock;
  readonly #source: Source;
  readonly #screen: Screen;
  readonly #acts: Acts;
  readonly #ended = new AbortController();
  #model: Model;
  #metrics: Metrics = { page: 1, scroll_max: 0, columns: 80 };
  #failure: { readonly error: unknown } | undefined;

  constructor(context: CommandContext, { screen, keys }: LiveTerminal, first: View) {
    const { clock, daemon, terminal } = context;
    this.view = first;
    this.#keys = keys;
    this.#clock = clock;
    this.#source = new Source({
      daemon,
      clock,
      signal: this.#ended.signal,
      onChange: (topics) => this.#takeRecords(topics),
      onError: (error) => this.#guard(Promise.reject(error)),
    });
    this.#model = modelOf(this.#source.records, first);
    this.#screen = new Screen(terminal.device, screen, clock, (size) => this.#draw(size));
    this.#acts = new Acts({
      context,
      screen: this.#screen,
      update: (change) => this.#update(change),
      columns: () => this.#metrics.columns,
      detail: () => this.view.detail,
      quit: () => this.end(),
      loadOlder: () => this.#source.loadOlder(),
      search: (query) => this.#source.search(query),
    });
  }

  end(): void {
    this.#ended.abort();
  }

  /** Runs until `end` is called. Throws unexpected errors. */
  async run(): Promise<void> {
    const following = this.#guard(this.#source.run());
    const reader = new KeyReader();
    for await (const chunk of this.#keys(this.#ended.signal)) {
      for (const input of reader.read(chunk)) await this.#press(input);
      if (this.#ended.signal.aborted) break;
    }
    this.end();
    await following;
    if (this.#failure) throw this.#failure.error;
  }

  [Symbol.dispose](): void {
    this.end();
    this.#screen[Symbol.dispose]();
  }

  /** Waits only for acts that use the terminal: keys typed meanwhile belong to their program. */
  async #press(input: Input): Promise<void> {
    const { view, act } = press(this.view, this.#model, input, this.#metrics);
    this.#update(() => view);
    if (!act) return;
    const done = this.#guard(this.#acts.perform(act));
    if (LENDS.has(act.kind)) await done;
  }

  #takeRecords(topics: readonly Topic[]): void {
    this.#model = modelOf(this.#source.records, this.view);
    this.#screen.invalidate();
    if (this.#isDone()) return this.end();
    const { detail } = this.view;
    const concerns = detail?.of === "peer" ? "peers" : "messages";
    if (detail?.lines && topics.includes(concerns)) {
      void this.#guard(this.#acts.attempt(() => this.#acts.load(detail)));
    }
  }

  #update(change: (view: View) => View): void {
    const before = this.view;
    this.view = change(before);
    const { showsOffline, later } = this.view;
    if (showsOffline !== before.showsOffline || later !== before.later) {
      this.#model = modelOf(this.#source.records, this.view);
    }
    this.#screen.invalidate();
  }

  /** True if the inbox is empty, and the user writes nothing. */
  #isDone(): boolean {
    const { records, lists } = this.#model;
    return isInbox(this.view) && records.loaded && records.lost_at === undefined &&
      lists.attention.length === 0 && this.view.overlay === undefined;
  }

  #draw(size: ScreenSize): Frame {
    const { frame, metrics } = draw(this.view, this.#model, size, this.#clock);
    this.#metrics = metrics;
    return frame;
  }

  /** Ends the view at an unexpected error. */
  async #guard(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (this.#ended.signal.aborted) return;
      this.#failure = { error };
      this.end();
    }
  }
}
