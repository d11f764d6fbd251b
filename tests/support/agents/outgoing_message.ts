/** A parcel as the courier hands it to a rung. */

import type { OutgoingMessage } from "../../../daemon/features/agents/adapter.ts";

/** What a peer tells another, in its frame. */
export function outgoingNotification(id: string, text: string): OutgoingMessage {
  const framed = `[mesh] <peer-message type="notify" id="${id}" from="@web">${text}</peer-message>`;
  return { delivery_id: id, proof_id: id, kind: "notify", human: false, framed };
}
