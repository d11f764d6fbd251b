/** The state of the live view: the section, selections, the open detail, the text field. */

import { fieldOf, type TextField } from "../screen/text_field.ts";
import type { Line } from "../screen/lines.ts";
import type { Item, Message, Peer, Records } from "./records.ts";
import {
  FIRST,
  indexOf,
  type ListOptions,
  type Lists,
  listsOf,
  type Section,
  SECTIONS,
  type Selection,
} from "./sections.ts";

/** A peer as the target of an act. */
export interface PeerRef {
  readonly peer_id: string;
  readonly name: string;
}

/** The purpose of a text that is typed. */
export type Target =
  | { readonly kind: "ask" | "notify"; readonly peer: PeerRef }
  /** `closes` is true if the text answers an open ask. Otherwise it asks the sender back. */
  | { readonly kind: "answer"; readonly item: Item; readonly closes: boolean }
  | { readonly kind: "search" };

/** A record that covers the sections. Its lines are undefined while they load. */
export interface Detail {
  readonly of: "message" | "item" | "peer";
  readonly id: string;
  /** The peer that an act on the detail concerns. */
  readonly peer: PeerRef | undefined;
  readonly lines: readonly Line[] | undefined;
  readonly scroll: number;
}

export type Overlay =
  | { readonly kind: "write"; readonly target: Target; readonly field: TextField }
  | { readonly kind: "choose"; readonly item: Item; readonly index: number }
  | { readonly kind: "kill"; readonly peer: PeerRef; readonly losses: readonly Line[] | undefined }
  | { readonly kind: "interrupt"; readonly peer: PeerRef }
  | { readonly kind: "help" };

export interface View extends ListOptions {
  readonly section: Section;
  readonly selections: Readonly<Record<Section, Selection>>;
  readonly detail: Detail | undefined;
  readonly overlay: Overlay | undefined;
  readonly notice: { readonly text: string; readonly isError: boolean } | undefined;
  /** Texts that were typed and not sent, by their target. */
  readonly drafts: ReadonlyMap<string, { readonly target: Target; readonly text: string }>;
}

/** An act that a key starts, beyond a change of the view. */
export type Act =
  | { readonly kind: "quit" | "dashboard" | "load" | "older" }
  | { readonly kind: "send"; readonly target: Target; readonly text: string }
  | { readonly kind: "choose"; readonly item: Item; readonly option_id: string }
  | { readonly kind: "read"; readonly item: Item }
  | { readonly kind: "edit"; readonly target: Target; readonly text: string }
  | { readonly kind: "losses" | "kill" | "interrupt" | "attach"; readonly peer: PeerRef }
  | { readonly kind: "search"; readonly query: string | undefined };

export interface KeyEffect {
  readonly view: View;
  readonly act?: Act;
}

export const FIRST_VIEW: View = {
  sections: SECTIONS,
  showsOffline: false,
  later: [],
  section: "attention",
  selections: { attention: FIRST, peers: FIRST, feed: FIRST },
  detail: undefined,
  overlay: undefined,
  notice: undefined,
  drafts: new Map(),
};

/** The view of `mesh inbox`: the items that wait for the human. */
export const INBOX_VIEW: View = { ...FIRST_VIEW, sections: ["attention"] };

export function isInbox({ sections }: Pick<View, "sections">): boolean {
  return sections === INBOX_VIEW.sections;
}

/** The records with their rows in order. */
export interface Model {
  readonly records: Records;
  readonly lists: Lists;
}

export function modelOf(records: Records, options: ListOptions = FIRST_VIEW): Model {
  return { records, lists: listsOf(records, options) };
}

/** The selected row of a section; undefined in an empty one. */
export function selectedRow<S extends Section>(
  { selections }: Pick<View, "selections">,
  { lists }: Pick<Model, "lists">,
  section: S,
): Lists[S][number] | undefined {
  return lists[section][indexOf(lists[section], selections[section])];
}

/** The peer that an act on the detail or on the selected row concerns. */
export function peerInView(view: View, model: Model): PeerRef | undefined {
  if (view.detail) return view.detail.peer;
  if (view.section === "peers") return refOf(selectedRow(view, model, "peers"));
  if (view.section === "feed") {
    const message = selectedRow(view, model, "feed");
    return message && otherSide(message, model.records.inbox?.human_peer_id);
  }
  const entry = selectedRow(view, model, "attention");
  if (entry === undefined) return undefined;
  return entry.kind === "dialog" ? refOf(entry.peer) : senderOf(entry.item);
}

/** The peer of a row; one of another machine with the machine's name. */
function refOf(peer: Peer | undefined): PeerRef | undefined {
  return peer && { peer_id: peer.peer_id, name: peer.display_name };
}

export function senderOf({ from_peer_id, from }: Item): PeerRef | undefined {
  return from_peer_id === null ? undefined : { peer_id: from_peer_id, name: from };
}

/** The sender of a message; its recipient if the human sent it. */
function otherSide(message: Message, human_peer_id: string | undefined): PeerRef {
  const { from_peer_id, from_peer_name, to_peer_id, to_peer_name } = message;
  return from_peer_id === null || from_peer_id === human_peer_id
    ? { peer_id: to_peer_id, name: to_peer_name }
    : { peer_id: from_peer_id, name: from_peer_name };
}

/** The record of a peer, as far as it is known. */
export function recordOf({ records }: Model, peer: PeerRef | undefined): Peer | undefined {
  return records.peers.find(({ peer_id }) => peer_id === peer?.peer_id);
}

/** The name under which a draft is kept: one for each peer, item and search. */
export function draftKey(target: Target): string {
  if (target.kind === "search") return "search";
  return target.kind === "answer" ? target.item.item_id : target.peer.peer_id;
}

/** Opens the field for a text, with the draft that was left there. */
export function openField(view: View, target: Target): View {
  return withWritten(view, target, view.drafts.get(draftKey(target))?.text ?? "");
}

/** Puts a text into the field, where the user reads it before it is sent. */
export function withWritten(view: View, target: Target, text: string): View {
  return { ...view, overlay: { kind: "write", target, field: fieldOf(text) } };
}

/** Closes the field and keeps its text, unless it is blank. */
export function keepDraft(view: View): View {
  const { overlay } = view;
  if (overlay?.kind !== "write") return view;
  const { target, field: { text } } = overlay;
  const drafts = new Map(view.drafts);
  if (text.trim() === "" || target.kind === "search") drafts.delete(draftKey(target));
  else drafts.set(draftKey(target), { target, text });
  return { ...view, overlay: undefined, drafts };
}

export function dropDraft(view: View, target: Target): View {
  const drafts = new Map(view.drafts);
  drafts.delete(draftKey(target));
  return { ...view, drafts };
}
