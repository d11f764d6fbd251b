/** The next times at which a pattern fires. */

import { now } from "../../state/store.ts";
import { Age } from "../basics.tsx";
import { momentText, nextFires, TIMEZONE } from "./times.ts";

/** The next five times, in the reader's time zone; the daemon has set `first`. */
export function NextFires(
  { cron, timezone, first = null }: { cron: string; timezone: string; first?: string | null },
) {
  const after = first === null ? now.value : Date.parse(first) - 1;
  const fires = nextFires(cron, timezone, after);
  if (fires.length === 0) return null;
  return (
    <div>
      <p class="hint">
        {timezone === TIMEZONE ? "The next times" : `The next times, in ${TIMEZONE}`}
      </p>
      <ol class="cluster" aria-label="The next times">
        {fires.map((at) => (
          <li key={at} class="chip row">
            <time dateTime={new Date(at).toISOString()}>{momentText(at)}</time>
            <Age at={new Date(at).toISOString()} future />
          </li>
        ))}
      </ol>
    </div>
  );
}
