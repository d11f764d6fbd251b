/** Performs the act of a key: sends, answers, kills, attaches or opens. Reports the result. */

import { randomIds } from "kit/core/clock.ts";
import type { WireResponse } from "kit/http/client.ts";
import {
  getPeer,
  interruptPeer,
  killPeer,
  notifyPeer,
  openAsk,
} from "protocol/generated/endpoints.ts";
import type { replyInboxItem } from "protocol/inbox.ts";
import { writeInEditor } from "../client/editor.ts";
import { Args, type Command, type CommandContext } from "../command/command.ts";
import { paneOf, showPane } from "../commands/attach.ts";
import { createDashboardLink, openInBrowser } from "../commands/daemon/open.ts";
import { aboutItem, answerItem, markItemRead } from "../commands/inbox/items.ts";
import { SHOW_ITEM } from "../commands/inbox/inbox.ts";
import { SHOW_PEER } from "../commands/peers.ts";
import { showAny, WHY } from "../commands/search.ts";
import { CollectedOutput } from "../screen/collected_output.ts";
import { styled } from "../output/terminal.ts";
import { formatReason } from "../output/message_explanation.ts";
import type { Line } from "../screen/lines.ts";
import type { Screen } from "../screen/screen.ts";
import { isLoss } from "./source.ts";
import { lossesOf } from "./losses.ts";
import { withNotice } from "./press.ts";
import {
  type Act,
  type Detail,
  draftKey,
  dropDraft,
  openField,
  type PeerRef,
  type Target,
  type View,
  withWritten,
} from "./view.ts";
import { reportError } from "../command/errors.ts";

type InboxReply = WireResponse<typeof replyInboxItem>;

interface ActDeps {
  readonly context: CommandContext;
  readonly screen: Pick<Screen, "lend">;
  /** Changes the view and draws it. */
  readonly update: (change: (view: View) => View) => void;
  /** The width of a detail, in columns. */
  readonly columns: () => number;
  readonly detail: () => Detail | undefined;
  readonly quit: () => void;
  readonly loadOlder: () => void;
  readonly search: (query: string | undefined) => Promise<void>;
}

export class Acts {
  readonly #deps: ActDeps;
  /** The key of each text that was sent, so that sending it again sends no second message. */
  readonly #keys = new Map<string, string>();

  constructor(deps: ActDeps) {
    this.#deps = deps;
  }

  /** Performs the act of a key, and shows an expected error in one line. */
  async perform(act: Act): Promise<void> {
    const { quit, loadOlder, search } = this.#deps;
    const detail = act.kind === "load" ? this.#deps.detail() : undefined;
    // deno-fmt-ignore
    await this.attempt(async () => {
      switch (act.kind) {
        case "quit": return quit();
        case "older": return loadOlder();
        case "dashboard": return await this.openDashboard();
        case "load": return detail && await this.load(detail);
        case "send": return await this.send(act.target, act.text);
        case "choose": return await this.choose(act.item.item_id, act.item.from, act.option_id);
        case "read": return await this.markRead(act.item.item_id, act.item.from);
        case "edit": return await this.edit(act.target, act.text);
        case "losses": return await this.loadLosses(act.peer);
        case "kill": return await this.kill(act.peer);
        case "interrupt": return await this.interrupt(act.peer);
        case "attach": return await this.attach(act.peer);
        case "search": return await search(act.query);
      }
    });
  }

  /** Runs an act, and shows an expected error in one line. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const text = isLoss(error)
        ? "The daemon does not answer; this view goes on when it is back. To start it: mesh up"
        : lineOfError(error);
      this.#deps.update((view) => withNotice(view, text, true));
    }
  }

  /** Loads the open detail, again if it was loaded before. */
  async load({ of, id }: Pick<Detail, "of" | "id">): Promise<void> {
    const lines = await this.#linesOf(of, id);
    this.#deps.update((view) =>
      view.detail?.id === id ? { ...view, detail: { ...view.detail, lines } } : view
    );
  }

  async send(target: Target, text: string): Promise<void> {
    this.#note("Sending…");
    try {
      const sent = await this.#send(target, text);
      this.#keys.delete(draftKey(target) + text);
      this.#deps.update((view) => withNotice(dropDraft(view, target), sent));
    } catch (error) {
      // The text stays in the field. A second try has the same key, so it sends nothing twice.
      this.#deps.update((view) => view.overlay ? view : openField(view, target));
      throw error;
    }
  }

  async choose(item_id: string, name: string, option_id: string): Promise<void> {
    await answerItem(this.#deps.context.call, item_id, { option_id });
    this.#note(`Answered ${name}: ${option_id}`);
  }

  async markRead(item_id: string, name: string): Promise<void> {
    await markItemRead(this.#deps.context.call, item_id);
    this.#note(`Marked as read: ${name}`);
  }

  async loadLosses({ peer_id }: PeerRef): Promise<void> {
    const losses = await lossesOf(peer_id, this.#deps.context);
    this.#deps.update((view) =>
      view.overlay?.kind === "kill" && view.overlay.peer.peer_id === peer_id
        ? { ...view, overlay: { ...view.overlay, losses } }
        : view
    );
  }

  async kill({ peer_id, name }: PeerRef): Promise<void> {
    this.#note(`Ending ${name}…`);
    const input = { params: { id: peer_id }, query: {}, body: {} };
    const { agent_pid, signal } = await this.#deps.context.call(killPeer, input);
    this.#note(`${name} is retired: process ${agent_pid} ended by ${signal}`);
  }

  /** Kill stands behind an interrupt without a proof. */
  async interrupt({ peer_id, name }: PeerRef): Promise<void> {
    this.#note(`Asking ${name} to stop…`);
    const input = { params: { id: peer_id }, query: {}, body: {} };
    const { outcome, detail } = await this.#deps.context.call(interruptPeer, input);
    this.#note(outcome === "asked" ? `${detail} g shows its pane, x kills it` : detail);
  }

  async attach({ peer_id }: PeerRef): Promise<void> {
    const { env, call } = this.#deps.context;
    const peer = await call(getPeer, { params: { id: peer_id }, query: {} });
    const { command } = paneOf(peer, env);
    await this.#deps.screen.lend(() => showPane(command, env));
  }

  async openDashboard(): Promise<void> {
    const { context } = this.#deps;
    const { url, reason } = await createDashboardLink(context);
    const opened = await openInBrowser(url, context.env);
    const note = opened ? "The dashboard is open in your browser" : `Open within a minute: ${url}`;
    this.#note(reason === undefined ? note : `${note}. You are not signed in there: ${reason}`);
  }

  /** Lets the user write in the editor; the text is shown again before it is sent. */
  async edit(target: Target, text: string): Promise<void> {
    const about = target.kind === "answer"
      ? aboutItem(target.item)
      : target.kind === "search"
      ? ""
      : `Write to ${target.peer.name} above. You see it once more before it is sent.`;
    const { env } = this.#deps.context;
    const written = await this.#deps.screen.lend(() => writeInEditor(env, about, text));
    this.#deps.update((view) =>
      written === "" ? withNotice(view, "Nothing was written") : withWritten(view, target, written)
    );
  }

  async #send(target: Target, text: string): Promise<string> {
    const { context } = this.#deps;
    const key = this.#keys.getOrInsertComputed(draftKey(target) + text, () => randomIds.hex(16));
    const headers = { "idempotency-key": key };
    if (target.kind === "search") return "";
    if (target.kind === "answer") {
      const { item_id, from } = target.item;
      return repliedText(await answerItem(context.call, item_id, { text }, headers), target, from);
    }
    const { peer: from_peer } = await context.sender(new Args(new Map()));
    const { peer_id: to_peer, name } = target.peer;
    if (target.kind === "notify") {
      const sent = await context.call(notifyPeer, { body: { from_peer, to_peer, text }, headers });
      return stateText(`Notified ${name}`, sent.delivery_state, sent.reason);
    }
    const body = { from_peer, to_peer, text, reply_delivery: "push" as const };
    const { delivery_state } = await context.call(openAsk, { body, headers });
    return `${stateText(`Asked ${name}`, delivery_state)}; the answer comes to you`;
  }

  async #linesOf(of: Detail["of"], id: string): Promise<readonly Line[]> {
    if (of === "peer") return await this.#outputOf(SHOW_PEER, { peer: id });
    const shown = await this.#outputOf(of === "item" ? SHOW_ITEM : { run: showAny }, { id });
    const explanation = await this.#explanationOf(id);
    return [...shown, [], [styled("bold", "What happened")], ...explanation];
  }

  #outputOf(command: Pick<Command, "run">, values: Readonly<Record<string, string>>) {
    const { context, columns } = this.#deps;
    return outputOf(command, values, context, columns());
  }

  /** Explains a message. A notification to the human has no trace, so its error is returned. */
  async #explanationOf(id: string): Promise<readonly Line[]> {
    try {
      return await this.#outputOf(WHY, { id });
    } catch (error) {
      if (isLoss(error)) throw error;
      return [[styled("dim", lineOfError(error))]];
    }
  }

  #note(text: string): void {
    this.#deps.update((view) => withNotice(view, text));
  }
}

function stateText(act: string, state: string | null, reason: string | null = null): string {
  if (state !== "queued") return act;
  return `${act}; it waits${reason === null ? "" : `: ${formatReason(reason)}`}`;
}

function repliedText(
  { action }: InboxReply,
  { closes }: Extract<Target, { kind: "answer" }>,
  name: string,
): string {
  if (action !== "asked") return `Answered ${name}`;
  return closes
    ? `${name}'s ask was closed meanwhile; your text went to it as a new ask`
    : `Asked ${name} back`;
}

/** The lines that a command prints at a terminal of this width. */
async function outputOf(
  command: Pick<Command, "run">,
  values: Readonly<Record<string, string>>,
  context: CommandContext,
  columns: number,
): Promise<readonly Line[]> {
  const terminal = new CollectedOutput(columns);
  await command.run(context.with({ terminal }), new Args(new Map(Object.entries(values))));
  return terminal.lines;
}

/** An expected error in one line, with what to do; others are thrown again. */
function lineOfError(error: unknown): string {
  const terminal = new CollectedOutput(Infinity);
  reportError(error, terminal, { json: false, command: undefined });
  return terminal.errors.map((line) => line.replace(/^mesh: /, "").trim()).join("; ");
}
