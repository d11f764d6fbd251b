/** Open asks as chains: below each ask are the asks that its recipient waits for. */

import { Age, State } from "../components/basics.tsx";
import { firstLine, To } from "../components/message.tsx";
import { WaitNoteOf } from "../components/notes/wait_note.tsx";
import { visible } from "../components/text/visible.tsx";
import type { Ask } from "../state/records.ts";
import { link } from "../state/router.ts";
import { type Blocker, blockersOf, type Wait, waitsOf } from "./blocking.ts";

/** Minimum waiting peers of a bottleneck. */
const WAITING_MIN = 2;
const BLOCKERS_MAX = 5;

export function OpenAsks({ asks }: { asks: readonly Ask[] }) {
  return (
    <>
      <Blockers blockers={blockersOf(asks)} />
      <ul class="wait-tree list">
        {waitsOf(asks).map((wait) => <WaitRow key={wait.ask.correlation_id} wait={wait} />)}
      </ul>
    </>
  );
}

function Blockers({ blockers }: { blockers: readonly Blocker[] }) {
  const shown = blockers.filter(({ waiting }) => waiting >= WAITING_MIN).slice(0, BLOCKERS_MAX);
  if (shown.length === 0) return null;
  return (
    <section class="blockers cluster" aria-label="For whom several peers wait">
      {shown.map(({ peer_id, name, waiting, since }) => (
        <a key={peer_id} class="button" href={link("peers", peer_id)}>
          <span>
            <strong>{waiting}</strong> wait for <bdi class="who">{visible(name)}</bdi>
          </span>
          <span class="hint">
            the longest <Age at={since} />
          </span>
        </a>
      ))}
    </section>
  );
}

function WaitRow({ wait: { ask, on, elsewhere, circular } }: { wait: Wait }) {
  return (
    <li>
      <AskRow ask={ask} />
      <WaitNoteOf id={ask.to_peer_id} />
      {circular && (
        <p class="reason">
          <bdi>{visible(ask.to_peer_name)}</bdi> waits, in a circle, for{" "}
          <bdi>{visible(ask.from_peer_name)}</bdi>
        </p>
      )}
      {elsewhere > 0 && (
        <p class="hint">
          <bdi>{visible(ask.to_peer_name)}</bdi> waits for an answer too; it is listed above
        </p>
      )}
      {on.length > 0 && (
        <ul class="rail" aria-label={`What ${ask.to_peer_name} waits for`}>
          {on.map((wait) => <WaitRow key={wait.ask.correlation_id} wait={wait} />)}
        </ul>
      )}
    </li>
  );
}

export function AskRow({ ask }: { ask: Ask }) {
  return (
    <div class="log-row">
      <a class="row list-row" data-row href={link("asks", ask.correlation_id)}>
        <Age at={ask.created_at} />
        <span class="parties row clip">
          <bdi class="who">{visible(ask.from_peer_name)}</bdi>
          <To />
          <bdi class="who">{visible(ask.to_peer_name)}</bdi>
        </span>
        <span class="kind hint">{ask.question ? "question" : "ask"}</span>
        <span class="first clip" dir="auto">{visible(firstLine(ask.text))}</span>
        <State of={ask.outcome ?? progressOf(ask)} />
      </a>
    </div>
  );
}

function progressOf({ seen_at, delivered_at }: Ask): string {
  return seen_at ? "seen" : delivered_at ? "delivered" : "queued";
}
