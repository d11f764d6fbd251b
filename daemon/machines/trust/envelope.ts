/** Envelopes between two machines: signed by the sender, sealed for the receiver. */

import type { KeyObject } from "node:crypto";
import type { Ids } from "kit/core/clock.ts";
import type { Card } from "./cards.ts";
import {
  type MachineKeys,
  pairKeysOf,
  sign,
  SIGNATURE_BYTES,
  toVerifyKey,
  verify,
} from "./keys.ts";
import { open, seal } from "./sealing.ts";

/** Maximum number of channels in memory. Deriving a channel again takes 0.1 ms. */
export const CHANNELS_MAX = 1024;

/** The part of a card that decides about keys. */
export type KeyHolder = Pick<Card, "daemon_id" | "sign" | "agree">;

/** This machine, as the sender and the receiver of envelopes. */
interface OwnMachine {
  readonly daemon_id: string;
  readonly keys: MachineKeys;
}

interface Channel {
  readonly send: Uint8Array;
  readonly receive: Uint8Array;
  readonly verify_key: KeyObject;
}

/**
 * Seals and opens envelopes. The signature and the seal both cover sender, receiver and context, so
 * an envelope opens only for its receiver, as its sender's, and in its context. A repeated envelope
 * opens again: its content must identify a repeat.
 *
 * The signature lies inside the seal. Outside, the bus could strip or replace it, and would hold a
 * proof of the sender's words. It covers the receiver: without that, the receiver could pass the
 * signed text on to a third machine as if it had been sent there.
 */
export class Envelopes {
  readonly #mine: OwnMachine;
  readonly #ids: Pick<Ids, "hex">;
  readonly #channels = new Map<string, Channel>();

  constructor(mine: OwnMachine, ids: Pick<Ids, "hex">) {
    this.#mine = mine;
    this.#ids = ids;
  }

  /** Number of channels in memory. */
  get channels(): number {
    return this.#channels.size;
  }

  /** Signs and seals bytes for a machine. `context` names their purpose, such as `batch`. */
  sealFor(theirs: KeyHolder, context: string, bytes: Uint8Array): Uint8Array {
    const about = aboutOf(this.#mine.daemon_id, theirs.daemon_id, context);
    const signed = new Uint8Array(SIGNATURE_BYTES + bytes.length);
    signed.set(sign(this.#mine.keys, about, bytes));
    signed.set(bytes, SIGNATURE_BYTES);
    return seal(this.#channelTo(theirs).send, JSON.stringify(about), signed, this.#ids);
  }

  /** The bytes that a machine sealed for this one with the same context; null for all others. */
  openFrom(theirs: KeyHolder, context: string, envelope: Uint8Array): Uint8Array | null {
    const about = aboutOf(theirs.daemon_id, this.#mine.daemon_id, context);
    const channel = this.#channelTo(theirs);
    const signed = open(channel.receive, JSON.stringify(about), envelope);
    if (signed === null) return null;
    const bytes = signed.subarray(SIGNATURE_BYTES);
    const signature = signed.subarray(0, SIGNATURE_BYTES);
    return verify(channel.verify_key, about, bytes, signature) ? bytes : null;
  }

  /** Found by id and keys: a machine that was forgotten and joined again has other keys. */
  #channelTo(theirs: KeyHolder): Channel {
    const { daemon_id, sign, agree } = theirs;
    const id = `${daemon_id} ${sign} ${agree}`;
    const found = this.#channels.get(id);
    if (found) return found;
    const oldest = this.#channels.keys().next();
    if (this.#channels.size >= CHANNELS_MAX && !oldest.done) this.#channels.delete(oldest.value);
    const pair = pairKeysOf(this.#mine.daemon_id, this.#mine.keys, theirs);
    const channel = { ...pair, verify_key: toVerifyKey(sign) };
    this.#channels.set(id, channel);
    return channel;
  }
}

function aboutOf(from: string, to: string, context: string): readonly string[] {
  return ["mesh bus 1", from, to, context];
}
