/** The item that a key concerns: the opened one, or the selected one. */

import { isPermission } from "protocol/derived/waiting.ts";
import type { Item } from "./records.ts";
import { type Model, selectedRow, type View } from "./view.ts";

/** The item that waits for an answer: the opened item, or the selected one. */
export function itemInView(view: View, model: Model): { item: Item; isOpen: boolean } | undefined {
  const entries = model.lists.attention.filter((entry) => entry.kind !== "dialog");
  const human_peer_id = model.records.inbox?.human_peer_id;
  const ofMessage = (message_id: string) =>
    entries.find(({ item }) => item.correlation_id === message_id);
  const found = view.detail
    ? entries.find(({ id }) => id === view.detail?.id) ?? ofMessage(view.detail.id)
    : view.section === "attention"
    ? entries.find(({ id }) => id === selectedRow(view, model, "attention")?.id)
    : view.section === "feed" && selectedRow(view, model, "feed")?.to_peer_id === human_peer_id
    ? ofMessage(selectedRow(view, model, "feed")?.message_id ?? "")
    : undefined;
  return found && { item: found.item, isOpen: found.kind === "question" };
}

/** The open permission in view that shows its act; undefined for anything else. */
export function permissionInView(view: View, model: Model): Item | undefined {
  const found = itemInView(view, model);
  const { question = null } = found?.isOpen ? found.item : {};
  return isPermission(question) && question?.act ? found?.item : undefined;
}
