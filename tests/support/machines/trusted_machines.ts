/** Machines of a network with real keys, and arbitraries that damage what they send. */

import fc from "fast-check";
import { randomIds } from "kit/core/clock.ts";
import { signCard, type SignedCard } from "../../../daemon/machines/trust/cards.ts";
import { Envelopes } from "../../../daemon/machines/trust/envelope.ts";
import { type MachineKeys, makeMachineKeys } from "../../../daemon/machines/trust/keys.ts";
import {
  makeNetworkSecret,
  type NetworkKeys,
  networkKeysOf,
} from "../../../daemon/machines/trust/network.ts";

/** The instant at which cards are made unless a test names another one. */
export const CARD_AT = Date.parse("2030-01-01T00:00:00Z");

export interface TrustedMachine {
  readonly daemon_id: string;
  readonly keys: MachineKeys;
  readonly card: SignedCard;
  readonly envelopes: Envelopes;
}

export function makeNetwork(): NetworkKeys {
  return networkKeysOf(makeNetworkSecret(randomIds));
}

/** A machine with new keys, or with given ones. */
export function makeMachine(
  network: NetworkKeys,
  {
    name = "laptop",
    daemon_id = randomIds.next("dm"),
    keys = makeMachineKeys(randomIds),
    created_at = CARD_AT,
  }: {
    readonly name?: string;
    readonly daemon_id?: string;
    readonly keys?: MachineKeys;
    readonly created_at?: number;
  } = {},
): TrustedMachine {
  const card = signCard({ daemon_id, name, created_at }, keys, network);
  return { daemon_id, keys, card, envelopes: new Envelopes({ daemon_id, keys }, randomIds) };
}

export const someBytes = fc.uint8Array({ maxLength: 300 });

/** A way to damage bytes: one bit flipped, or the end or the beginning cut off, or bytes added. */
export const someDamage: fc.Arbitrary<(bytes: Uint8Array) => Uint8Array> = fc.oneof(
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(([at, mask]) => (bytes: Uint8Array) =>
    bytes.map((byte, index) => index === at % bytes.length ? byte ^ mask : byte)
  ),
  fc.nat().map((end) => (bytes: Uint8Array) => bytes.slice(0, end % bytes.length)),
  fc.nat().map((from) => (bytes: Uint8Array) => bytes.slice(1 + from % bytes.length)),
  fc.uint8Array({ minLength: 1, maxLength: 40 }).map((more) => (bytes: Uint8Array) =>
    new Uint8Array([...bytes, ...more])
  ),
);
