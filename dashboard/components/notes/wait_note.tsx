/** The sentence on what a peer waits for, with the command that leads there. */

import { loopSentence } from "protocol/derived/budgets.ts";
import { type WaitingPeer, waitSentence } from "protocol/derived/waits.ts";
import type { Peer } from "protocol/wire.ts";
import { peersById } from "../../state/store.ts";
import { visible } from "../text/visible.tsx";

export function WaitNote({ peer }: { peer: WaitingPeer & Partial<Pick<Peer, "looping">> }) {
  const sentences = [waitSentence(peer), loopSentence(peer)].filter((text) => text !== undefined);
  return sentences.map((text) => <p key={text} class="reason">{visible(text)}</p>);
}

/** The same for a peer's id; nothing for a peer that is not listed. */
export function WaitNoteOf({ id }: { id: string }) {
  const peer = peersById.value.get(id);
  return peer ? <WaitNote peer={peer} /> : null;
}
