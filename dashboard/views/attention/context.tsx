/** The last lines of the asker: the end of its last turn, or of its pane. */

import { Age } from "../../components/basics.tsx";
import { plainText } from "../../components/terminal/colour_rows.ts";
import { visible } from "../../components/text/visible.tsx";
import { call, isUnavailable, RELAYED } from "../../state/calls.ts";
import { isRemote } from "../../state/remote.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Peer } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";

const LINES_MAX = 24;
const CHARS_MAX = 4000;

interface Lines {
  readonly text: string;
  /** The instant at which its turn ended; undefined for lines of its pane. */
  readonly ended_at?: string;
}

/** True if this machine refuses such requests through the relay. */
let is_refused = false;

/** Loaded once, when the question is first shown; nothing without lines. */
export function AskerContext({ peer, question_id }: { peer: Peer; question_id: string }) {
  const load = () => loadLines(peer);
  const { value } = useResource(`context ${question_id}`, [], load, { kept: true });
  const lines = value.value;
  if (!lines) return null;
  return (
    <details class="context">
      <summary>
        {lines.ended_at
          ? (
            <>
              The end of its last turn, <Age at={lines.ended_at} suffix=" ago" />
            </>
          )
          : "Its screen when this question was shown"}
      </summary>
      <pre
        class="inset"
        tabIndex={0}
        role="region"
        aria-label={`Last lines of ${peer.name}`}
        dir="auto"
      >{visible(lines.text)}</pre>
    </details>
  );
}

/** Null without lines, also if they cannot be read. */
async function loadLines(peer: Peer): Promise<Lines | null> {
  if (is_refused) return null;
  try {
    return await lastTurn(peer) ?? await screen(peer);
  } catch (error) {
    is_refused = RELAYED && isUnavailable(error);
    return null;
  }
}

/** Another machine does not pass on the turns of its agents. */
async function lastTurn(peer: Peer): Promise<Lines | null> {
  if (isRemote(peer)) return null;
  const { peer_id } = peer;
  const { turns } = await call(at.listTurns, { params: { id: peer_id }, query: {} });
  const last = turns.findLast(({ role, text }) => role === "assistant" && text.trim() !== "");
  return last ? { text: lastLines(last.text), ended_at: last.at } : null;
}

async function screen({ peer_id, pane_id }: Peer): Promise<Lines | null> {
  if (pane_id === null) return null;
  const { rows } = await call(at.showPane, { params: { id: peer_id }, query: {} });
  const text = lastLines(rows.map((row) => plainText(row).trimEnd()).join("\n"));
  return text === "" ? null : { text };
}

/** The end of a text, from the beginning of a line if there is one. */
export function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n");
  const kept = lines.slice(-LINES_MAX).join("\n").replace(/^\n+/, "");
  return kept.length > CHARS_MAX ? `…${kept.slice(-CHARS_MAX)}` : kept;
}
