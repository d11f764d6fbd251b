/** The subagents that a peer started, as a part of its page. */

import type { Children } from "../state/records.ts";
import { link } from "../state/router.ts";
import { Age, State } from "./basics.tsx";
import { visible } from "./text/visible.tsx";

/** Open while a subagent runs; nothing for a peer without subagents. */
export function Subagents({ children, children_count }: Children) {
  if (children.length === 0) return null;
  const running = children.filter(({ ended_at }) => ended_at === null).length;
  const cut = children_count - children.length;
  return (
    <details class="subagents" open={running > 0}>
      <summary>
        Subagents <span class="hint">{running === 0 ? "none runs" : `${running} running`}</span>
      </summary>
      <ul aria-label="Subagents">
        {children.map(({ peer_id, name, started_at, ended_at }) => (
          <li key={peer_id} class="cluster">
            <a href={link("peers", peer_id)}>
              <bdi>{visible(name)}</bdi>
            </a>
            <State of={ended_at === null ? "running" : "ended"} />
            <span class="hint">
              started <Age at={started_at} suffix=" ago" />
              {ended_at !== null && (
                <>
                  , ended <Age at={ended_at} suffix=" ago" />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {cut > 0 && <p class="hint">{`The newest ${children.length} of ${children_count}.`}</p>}
    </details>
  );
}
