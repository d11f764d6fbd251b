/** The sentence on what a peer waits for, with the command that leads there. */

import { type WaitingPeer, waitSentence } from "protocol/derived/waits.ts";
import { peersById } from "../state/store.ts";
import { visible } from "./text/visible.tsx";

export function WaitNote({ peer }: { peer: WaitingPeer }) {
  const sentence = waitSentence(peer);
  return sentence === undefined ? null : <p class="reason">{visible(sentence)}</p>;
}

/** The same for a peer's id; nothing for a peer that is not listed. */
export function WaitNoteOf({ id }: { id: string }) {
  const peer = peersById.value.get(id);
  return peer ? <WaitNote peer={peer} /> : null;
}
