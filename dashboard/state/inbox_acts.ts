/** Marking items as read and putting them off, each with a way back. */

import { call } from "./calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { InboxItem } from "./records.ts";
import { inbox, notify } from "./store.ts";

const SURFACE = "dashboard";
const paramsOf = ({ item_id }: InboxItem) => ({ params: { id: item_id } });

/** Marks items as read, one after the other: the first refusal ends it. */
export async function markRead(items: readonly InboxItem[]): Promise<void> {
  const done: InboxItem[] = [];
  const undo = async () => {
    for (const item of done) {
      await call(at.unreadInboxItem, { ...paramsOf(item), body: { surface: SURFACE } });
    }
    inbox.refresh();
  };
  try {
    for (const item of items) {
      await call(at.readInboxItem, { ...paramsOf(item), body: { surface: SURFACE } });
      done.push(item);
    }
  } finally {
    inbox.refresh();
    if (done.length > 0) notify(`${done.length} marked as read.`, undo);
  }
}

export async function snooze(item: InboxItem, until: string | null): Promise<void> {
  await call(at.snoozeInboxItem, { ...paramsOf(item), body: { surface: SURFACE, until } });
}

export const bringBack = (item: InboxItem) => snooze(item, null);
