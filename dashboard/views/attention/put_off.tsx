/** Marking items as read and putting them off, each with a way back. */

import { call } from "../../state/calls.ts";
import { currentTime } from "../../state/clock.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { InboxItem } from "../../state/records.ts";
import { inbox, notify } from "../../state/store.ts";
import { useSubmit } from "../../components/act/submit.ts";
import { Failed } from "../../components/basics.tsx";
import { LATER, laterInstant } from "./later.ts";

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

async function snooze(item: InboxItem, until: string | null): Promise<void> {
  await call(at.snoozeInboxItem, { ...paramsOf(item), body: { surface: SURFACE, until } });
}

export const bringBack = (item: InboxItem) => snooze(item, null);

/** Puts an item off until a chosen time. */
export function Later({ item }: { item: InboxItem }) {
  const { busy, error, submit } = useSubmit();
  const choose = (event: { currentTarget: HTMLSelectElement }) => {
    const { value } = event.currentTarget;
    event.currentTarget.value = "";
    const until = laterInstant(value, currentTime());
    if (until === undefined) return;
    submit(async () => {
      await snooze(item, until.toISOString());
      inbox.refresh();
      notify(`Put off until ${until.toLocaleString()}.`, () => bringBack(item).then(inbox.refresh));
    });
  };
  return (
    <>
      <select class="later" aria-label="Put off" disabled={busy} value="" onChange={choose}>
        <option value="">Later…</option>
        {LATER.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
      {error !== undefined && <Failed error={error} />}
    </>
  );
}
