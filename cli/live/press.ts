/** The effect of each key while the sections or a detail are shown. */

import { whyNotInterrupted } from "protocol/derived/interrupts.ts";
import type { Input } from "../screen/keys.ts";
import { ALLOW, DENY } from "protocol/derived/waiting.ts";
import { itemInView, permissionInView } from "./item_in_view.ts";
import type { Item } from "./records.ts";
import { idOf, indexOf, type Section, SECTIONS, select } from "./sections.ts";
import {
  type Detail,
  isInbox,
  type KeyEffect,
  type Model,
  openField,
  peerInView,
  type PeerRef,
  recordOf,
  selectedRow,
  senderOf,
  type Target,
  type View,
} from "./view.ts";
import { pressOverlay } from "./press_overlay.ts";

/** Measures of the last frame, for keys that move by pages. */
export interface Metrics {
  /** The rows of the section or the detail. */
  readonly page: number;
  /** The last position to which the detail scrolls. */
  readonly scroll_max: number;
  /** The width of a detail, also while none is open. */
  readonly columns: number;
}

export function press(before: View, model: Model, input: Input, metrics: Metrics): KeyEffect {
  const view = { ...before, notice: undefined };
  if (view.overlay) return pressOverlay(view, input);
  if (typeof input === "object") return { view };
  if (view.detail) {
    const pressed = pressDetail(view, view.detail, input, metrics);
    if (pressed) return pressed;
  } else {
    const pressed = pressList(view, model, input, metrics);
    if (pressed) return pressed;
  }
  return pressAct(view, model, input, metrics);
}

function pressDetail(
  view: View,
  detail: Detail,
  key: string,
  { page, scroll_max }: Metrics,
): KeyEffect | undefined {
  const to = (scroll: number): KeyEffect => {
    const bounded = Math.max(0, Math.min(scroll, scroll_max));
    return { view: { ...view, detail: { ...detail, scroll: bounded } } };
  };
  const scroll = Math.min(detail.scroll, scroll_max);
  // deno-fmt-ignore
  switch (key) {
    case "j": case "down": return to(scroll + 1);
    case "k": case "up": return to(scroll - 1);
    case "pagedown": case " ": return to(scroll + page);
    case "pageup": return to(scroll - page);
    case "home": return to(0);
    case "end": return to(scroll_max);
    case "escape": case "enter": case "left": case "backspace":
      return { view: { ...view, detail: undefined } };
    default: return undefined;
  }
}

function pressList(view: View, model: Model, key: string, metrics: Metrics): KeyEffect | undefined {
  const rows = model.lists[view.section];
  const index = indexOf(rows, view.selections[view.section]);
  // deno-fmt-ignore
  switch (key) {
    case "j": case "down": return moveTo(view, model, index + 1);
    case "k": case "up": return moveTo(view, model, index - 1);
    case "pagedown": case " ": return moveTo(view, model, index + metrics.page);
    case "pageup": return moveTo(view, model, index - metrics.page);
    case "home": return moveTo(view, model, 0);
    case "end": return moveTo(view, model, rows.length - 1);
    case "tab": return { view: { ...view, section: neighbour(view, 1) } };
    case "shift-tab": return { view: { ...view, section: neighbour(view, -1) } };
    case "1": case "2": case "3": {
      if (isInbox(view)) return undefined;
      return { view: { ...view, section: SECTIONS[Number(key) - 1] ?? view.section } };
    }
    case "enter": case "right": return open(view, model);
    case "escape": {
      if (model.records.found) return { view, act: { kind: "search", query: undefined } };
      return isInbox(view) ? { view, act: { kind: "quit" } } : { view };
    }
    default: return undefined;
  }
}

/** Reaching the end of the feed loads older messages. */
function moveTo(view: View, { lists }: Model, index: number): KeyEffect {
  const { section } = view;
  const rows = lists[section];
  const bounded = Math.max(0, Math.min(index, rows.length - 1));
  const selections = { ...view.selections, [section]: select(section, rows, bounded) };
  const moved = { ...view, selections };
  const isAtEnd = section === "feed" && bounded === rows.length - 1;
  return isAtEnd ? { view: moved, act: { kind: "older" } } : { view: moved };
}

function neighbour({ section, sections }: View, by: number): Section {
  const at = sections.indexOf(section) + by + sections.length;
  return sections[at % sections.length] ?? section;
}

function open(view: View, model: Model): KeyEffect {
  const row = selectedRow(view, model, view.section);
  if (row === undefined) return { view };
  const of = "message_id" in row ? "message" : "item" in row ? "item" : "peer";
  const id = idOf(row);
  const detail = { of, id, peer: peerInView(view, model), lines: undefined, scroll: 0 } as const;
  return { view: { ...view, detail }, act: { kind: "load" } };
}

function pressAct(view: View, model: Model, key: string, metrics: Metrics): KeyEffect {
  const peer = peerInView(view, model);
  const permission = permissionInView(view, model);
  const permitted = permission && pressPermission(view, permission, key, metrics);
  if (permitted) return permitted;
  const chosen = isInbox(view) ? choose(view, model, Number(key)) : undefined;
  if (chosen) return chosen;
  // deno-fmt-ignore
  switch (key) {
    case "a": return answer(view, model);
    case "c": return withPeer(view, peer, (to) => openField(view, { kind: "ask", peer: to }));
    case "n": return withPeer(view, peer, (to) => openField(view, { kind: "notify", peer: to }));
    case "e": return writeElsewhere(view, model, peer);
    case "s": return markRead(view, model);
    case "l": return postpone(view, model);
    case "f": return isInbox(view) ? unknownKey(view) : { view: { ...view, showsOffline: !view.showsOffline } };
    // Drafts are printed when the view has ended, but a person may want to send them first.
    case "q": return { view, act: { kind: "quit" } };
    case "/": return isInbox(view) ? unknownKey(view) : { view: openField({ ...view, detail: undefined }, { kind: "search" }) };
    case "x": return kill(view, model, peer);
    case "i": return interrupt(view, model, peer);
    case "g": case "J": return peer ? { view, act: { kind: "attach", peer } } : noPeer(view);
    case "o": return { view, act: { kind: "dashboard" } };
    case "?": return { view: { ...view, overlay: { kind: "help" } } };
    default: return unknownKey(view);
  }
}

function unknownKey(view: View): KeyEffect {
  return { view: withNotice(view, "Unknown key; ? shows the keys") };
}

/**
 * Answers a permission. It can be allowed only where all of its act was shown: opened, and scrolled
 * to the end.
 */
function pressPermission(
  view: View,
  item: Item,
  key: string,
  { scroll_max }: Metrics,
): KeyEffect | undefined {
  if (key === "2") return decide(view, item, DENY);
  if (key === "3") {
    return item.question?.act?.takes_reason
      ? { view: openField(view, { kind: "deny", item }) }
      : { view: withNotice(view, "This agent takes no reason: 2 denies, n writes to it") };
  }
  if (!/^[1-9a]$/.test(key)) return undefined;
  const { detail } = view;
  if (detail?.of !== "item" || detail.id !== item.item_id) return openItem(view, item);
  if (detail.lines === undefined || detail.scroll < scroll_max) {
    return {
      view: withNotice(view, "Read all of it first: End goes to its end, then 1 allows it"),
    };
  }
  if (item.question?.act?.is_cut) {
    const notice = "Not all of it can be shown here: o opens the dashboard, which has its file";
    return { view: withNotice(view, notice) };
  }
  return key === "1" ? decide(view, item, ALLOW) : undefined;
}

function decide(view: View, item: Item, option_id: string): KeyEffect | undefined {
  const isOffered = item.question?.options?.some(({ id }) => id === option_id);
  if (!isOffered) return undefined;
  return { view: { ...view, detail: undefined }, act: { kind: "choose", item, option_id } };
}

function openItem(view: View, item: Item): KeyEffect {
  const peer = senderOf(item);
  const detail = { of: "item", id: item.item_id, peer, lines: undefined, scroll: 0 } as const;
  const notice = "This is what you would allow: 1 allows, 2 denies, 3 denies and says why";
  return { view: withNotice({ ...view, detail }, notice), act: { kind: "load" } };
}

/** Answers the question in view with its option of this number, if it has one. */
function choose(view: View, model: Model, number: number): KeyEffect | undefined {
  const found = itemInView(view, model);
  const option = found?.isOpen ? found.item.question?.options?.[number - 1] : undefined;
  if (!found || !option) return undefined;
  const act = { kind: "choose", item: found.item, option_id: option.id } as const;
  return { view: { ...view, detail: undefined }, act };
}

/** Moves an item to the end of the list, and selects the next one. */
function postpone(view: View, model: Model): KeyEffect {
  const found = itemInView(view, model);
  if (!found) return { view: withNotice(view, "Only what waits for you can be left for later") };
  const { item_id, from } = found.item;
  const rows = model.lists.attention.filter(({ id }) => id !== item_id);
  const index = model.lists.attention.findIndex(({ id }) => id === item_id);
  const selections = {
    ...view.selections,
    attention: select("attention", rows, index < rows.length ? index : 0),
  };
  const later = [...view.later.filter((id) => id !== item_id), item_id];
  return {
    view: withNotice({ ...view, detail: undefined, selections, later }, `${from} is last now`),
  };
}

function answer(view: View, model: Model): KeyEffect {
  const found = itemInView(view, model);
  if (found) {
    const { item, isOpen } = found;
    const hasOptions = isOpen && (item.question?.options?.length ?? 0) > 0;
    if (hasOptions) return { view: { ...view, overlay: { kind: "choose", item, index: 0 } } };
    return { view: openField(view, { kind: "answer", item, closes: isOpen }) };
  }
  const isDialog = view.section === "attention" &&
    selectedRow(view, model, "attention")?.kind === "dialog";
  const advice = isDialog
    ? "It waits at a dialog of its own: g shows its pane"
    : "This does not wait for your answer; c asks its peer, n notifies it";
  return { view: withNotice(view, advice) };
}

/** The editor writes an answer if the item waits for one. Otherwise it writes an ask. */
function writeElsewhere(view: View, model: Model, peer: PeerRef | undefined): KeyEffect {
  const found = itemInView(view, model);
  const target: Target | undefined = found
    ? { kind: "answer", item: found.item, closes: found.isOpen }
    : peer && { kind: "ask", peer };
  if (!target) return noPeer(view);
  const { overlay } = openField(view, target);
  const text = overlay?.kind === "write" ? overlay.field.text : "";
  return { view, act: { kind: "edit", target, text } };
}

function markRead(view: View, model: Model): KeyEffect {
  const found = itemInView(view, model);
  if (found && !found.isOpen) return { view, act: { kind: "read", item: found.item } };
  const advice = found
    ? "An open question stays until it is answered: a answers, l leaves it for later"
    : "Only a message to you can be marked as read";
  return { view: withNotice(view, advice) };
}

function kill(view: View, model: Model, peer: PeerRef | undefined): KeyEffect {
  if (!peer) return noPeer(view);
  if (!recordOf(model, peer)) {
    return { view: withNotice(view, `${peer.name} is not a peer that can be killed`) };
  }
  const overlay = { kind: "kill", peer, losses: undefined } as const;
  return { view: { ...view, overlay }, act: { kind: "losses", peer } };
}

function interrupt(view: View, model: Model, peer: PeerRef | undefined): KeyEffect {
  if (!peer) return noPeer(view);
  const record = recordOf(model, peer);
  if (!record) return { view: withNotice(view, `${peer.name} is not a peer of this mesh`) };
  const reason = whyNotInterrupted(record);
  if (reason !== undefined) return { view: withNotice(view, reason) };
  return { view: { ...view, overlay: { kind: "interrupt", peer } } };
}

function withPeer(view: View, peer: PeerRef | undefined, act: (peer: PeerRef) => View): KeyEffect {
  return peer ? { view: act(peer) } : noPeer(view);
}

function noPeer(view: View): KeyEffect {
  return { view: withNotice(view, "Select a peer first: Tab goes to the peers") };
}

export function withNotice(view: View, text: string, isError = false): View {
  return { ...view, notice: { text, isError } };
}
