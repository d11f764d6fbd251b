/** A choice of the time until which an item is put off. */

import { currentTime } from "../../state/clock.ts";
import { bringBack, snooze } from "../../state/inbox_acts.ts";
import type { InboxItem } from "../../state/records.ts";
import { inbox, notify } from "../../state/store.ts";
import { useSubmit } from "../../components/act/submit.ts";
import { Failed } from "../../components/basics.tsx";
import { LATER, laterInstant } from "./later.ts";

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
