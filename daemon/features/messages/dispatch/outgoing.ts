/** Messages as rungs take them: framed once, however long they wait. */

import type { Parcel } from "../../agents/adapter.ts";
import type { Held } from "../contract.ts";
import { frame, proofId } from "./framing.ts";

/** What is kept framed, in characters; one text framed has five for each of 262,144 at most. */
const KEPT_CHARS_MAX = 4 * 1024 * 1024;
const KEPT_MAX = 256;

/** The parcel of what waits first for each peer, which is looked at every second. */
export class Parcels {
  readonly #kept = new Map<string, { readonly seq: number; readonly parcel: Parcel }>();
  #chars = 0;

  /** `load` is called only when the parcel is not there yet. */
  of(peer_id: string, seq: number, load: () => Held | undefined): Parcel | undefined {
    const known = this.#kept.get(peer_id);
    if (known?.seq === seq) return known.parcel;
    this.forget(peer_id);
    const message = load();
    if (!message) return undefined;
    const parcel = toParcel(message);
    this.#kept.set(peer_id, { seq, parcel });
    this.#chars += parcel.framed.length;
    for (const [oldest] of this.#kept) {
      const fits = this.#chars <= KEPT_CHARS_MAX && this.#kept.size <= KEPT_MAX;
      if (fits || oldest === peer_id) break;
      this.forget(oldest);
    }
    return parcel;
  }

  /** Nothing waits for this peer any more, or something else does. */
  forget(peer_id: string): void {
    this.#chars -= this.#kept.get(peer_id)?.parcel.framed.length ?? 0;
    this.#kept.delete(peer_id);
  }
}

export function toParcel(message: Held): Parcel {
  return {
    delivery_id: message.delivery_id,
    proof_id: proofId(message),
    kind: message.kind,
    human: message.voice === "human",
    framed: frame(message),
  };
}
