/** The interactive inbox: shows the items that wait for the human, and handles them key by key. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { listInbox } from "protocol/generated/endpoints.ts";
import { writeInEditor } from "../../client/editor.ts";
import { CommandError } from "../../client/failures.ts";
import { type CommandContext, interruptible } from "../../command/command.ts";
import { styled, type Terminal } from "../../output/terminal.ts";
import { formatAge } from "../../output/time.ts";
import { showInboxItem } from "../../output/views.ts";
import { type Input, KeyReader } from "../../screen/keys.ts";
import { aboutItem, answerItem, markItemRead } from "./items.ts";

type Items = WireResponse<typeof listInbox>["items"];
type Item = Items[number];

/** The state of the screen. */
export interface Triage {
  readonly items: Items;
  readonly selected: number;
  /** True if the selected item fills the screen. */
  readonly opened: boolean;
  /** The outcome of the last act. */
  readonly note: string;
}

/** An act that a key starts, beyond a change of the screen. */
export type Act =
  | { readonly kind: "answer" | "skip" | "quit" }
  | { readonly kind: "choose"; readonly option_id: string };

const CLEAR_SCREEN = "\u001b[H\u001b[2J";
const HELP = "arrows choose   enter opens   a answers   s skips   l later   q ends";
const HELP_OPENED = "a answers   s skips   l later   enter back   q ends";
/** The effect of each key. */
// deno-fmt-ignore
const KEYS: Readonly<Record<string, string>> = {
  up: "up", k: "up", down: "down", j: "down",
  enter: "open", "ctrl-j": "open", o: "open", right: "open", left: "back",
  a: "answer", r: "answer", s: "skip", l: "later", q: "quit", escape: "escape", "ctrl-d": "quit",
};

/**
 * Runs until the user quits or nothing is left. Returns false if nothing waits at first, so that
 * the caller shows the plain list.
 */
export async function triageInbox(
  context: CommandContext,
  keys: (signal: AbortSignal) => AsyncIterable<string>,
): Promise<boolean> {
  const items = await fetchItems(context);
  if (items.length === 0) return false;
  await interruptible(async (signal) => {
    let state: Triage = { items, selected: 0, opened: false, note: "" };
    draw(context, state);
    const reader = new KeyReader();
    for await (const chunk of keys(signal)) {
      for (const key of reader.read(chunk)) {
        const { next, act } = press(state, key);
        state = next;
        if (act?.kind === "quit") return;
        if (act) state = await perform(context, state, act);
        if (state.items.length === 0) return;
      }
      draw(context, state);
    }
  });
  context.terminal.device.out(CLEAR_SCREEN);
  const left = (await fetchItems(context)).length;
  context.terminal.print(left === 0 ? "Nothing waits for you." : `${left} wait for you.`);
  return true;
}

async function fetchItems({ call }: CommandContext): Promise<Items> {
  return (await call(listInbox, { query: { open: "true" } })).items;
}

/** The screen after a key, and the act that the key starts. */
export function press(state: Triage, input: Input): { next: Triage; act?: Act } {
  const next = { ...state, note: "" };
  const key = typeof input === "string" ? input : "a paste";
  const { items, selected, opened } = state;
  const option = items[selected]?.question?.options?.[Number(key) - 1];
  if (option) return { next, act: { kind: "choose", option_id: option.id } };
  // deno-fmt-ignore
  switch (KEYS[key]) {
    case "up": return { next: { ...next, selected: Math.max(0, selected - 1) } };
    case "down": return { next: { ...next, selected: Math.min(items.length - 1, selected + 1) } };
    case "open": return { next: { ...next, opened: !opened } };
    case "back": return { next: { ...next, opened: false } };
    case "escape":
      return opened ? { next: { ...next, opened: false } } : { next, act: { kind: "quit" } };
    case "later": return { next: { ...postpone(next), opened: false } };
    case "answer": return { next, act: { kind: "answer" } };
    case "skip": return { next, act: { kind: "skip" } };
    case "quit": return { next, act: { kind: "quit" } };
    default: return { next: { ...next, note: "Unknown key" } };
  }
}

/** Moves the selected item to the end; it stays unread. */
function postpone(state: Triage): Triage {
  const item = state.items[state.selected];
  if (!item) return state;
  const rest = state.items.filter((entry) => entry !== item);
  return { ...state, items: [...rest, item], note: `${item.from} is last now` };
}

async function perform(context: CommandContext, state: Triage, act: Act): Promise<Triage> {
  const item = state.items[state.selected];
  if (!item) return state;
  try {
    const note = await performOn(context, item, act);
    return note === undefined ? { ...state, note: "Nothing was sent" } : without(state, item, note);
  } catch (error) {
    // The item may have been answered elsewhere; the rest of the inbox stays usable.
    if (error instanceof ApiError) return { ...state, note: String(error.problem.detail) };
    if (error instanceof CommandError) return { ...state, note: error.message };
    throw error;
  }
}

/** Returns a description of the act; undefined if the user wrote nothing. */
async function performOn(
  { call, env }: CommandContext,
  item: Item,
  act: Act,
): Promise<string | undefined> {
  if (act.kind === "skip") {
    await markItemRead(call, item.item_id);
    return `Marked as read: ${item.from}`;
  }
  const answer = act.kind === "choose"
    ? { option_id: act.option_id }
    : { text: await writeInEditor(env, aboutItem(item)) };
  if (answer.text === "") return undefined;
  await answerItem(call, item.item_id, answer);
  return `Answered ${item.from}`;
}

function without(state: Triage, item: Item, note: string): Triage {
  const items = state.items.filter((entry) => entry !== item);
  const selected = Math.max(0, Math.min(state.selected, items.length - 1));
  return { items, selected, opened: false, note };
}

function draw({ terminal, clock }: CommandContext, state: Triage): void {
  const { items, selected, opened, note } = state;
  const item = items[selected];
  terminal.device.out(CLEAR_SCREEN);
  if (opened && item) {
    showInboxItem(terminal, item);
    printOptionKeys(terminal, item);
  } else {
    terminal.print(styled("bold", `${items.length} wait for you`));
    terminal.print();
    terminal.printTable(items, {
      "": (entry) => entry === item ? styled("cyan", "▶") : "",
      KIND: ({ kind }) => kind,
      FROM: ({ from }) => from,
      AGE: ({ created_at }) => formatAge(created_at, clock),
      TEXT: (entry) => entry === item ? styled("bold", entry.text) : entry.text,
    }, { essential: ["", "KIND", "AGE"] });
  }
  terminal.print();
  if (note !== "") terminal.print(styled("yellow", note));
  terminal.print(styled("dim", opened ? HELP_OPENED : HELP));
}

function printOptionKeys(terminal: Terminal, { question }: Item): void {
  const options = question?.options ?? [];
  if (options.length === 0) return;
  const keys = options.slice(0, 9).map(({ id }, at) => `${at + 1} ${id}`).join("   ");
  terminal.print();
  terminal.print(styled("dim", `Press: ${keys}`));
}
