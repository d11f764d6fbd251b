/** Makes ids from row numbers by a keyed permutation: random-looking, unique, without an index. */

import { crypto } from "kit/host/node_library.ts";

/** Converts row numbers to 12 hex digits and back. */
export interface IdCodec {
  /** Converts a row number from 1 to 2^48 - 1 to its digits. */
  ident(seq: number): string;
  /** Converts digits back to a row number; null if they are not 12 hex digits. */
  seq(ident: string): number | null;
}

const HALF = 2 ** 24;
const ROUNDS = 6;
const IDENT = /^[0-9a-f]{12}$/;

/**
 * A Feistel network over 48 bits (Luby and Rackoff, 1988), which is a bijection for any round
 * function. The ids must be unique, but need not be secret or unpredictable.
 */
export function keyedIdCodec(secret: string): IdCodec {
  let derived: readonly number[] | undefined;
  const keys = () => derived ??= keysOf(secret);
  return {
    ident(seq) {
      let high = Math.floor(seq / HALF), low = seq % HALF;
      for (const key of keys()) {
        const mixed = high ^ mix(low, key);
        high = low;
        low = mixed;
      }
      return toHex([high, low]);
    },
    seq(ident) {
      if (!IDENT.test(ident)) return null;
      const pair: Pair = [parseInt(ident.slice(0, 6), 16), parseInt(ident.slice(6), 16)];
      const [high, low] = keys().reduceRight(backward, pair);
      return high * HALF + low;
    },
  };
}

function keysOf(secret: string): number[] {
  const digest = crypto().createHmac("sha256", secret).update("mesh message numbers").digest();
  return Array.from({ length: ROUNDS }, (_, round) => digest.readUInt32LE(round * 4));
}

type Pair = readonly [high: number, low: number];

function backward([high, low]: Pair, key: number): Pair {
  return [low ^ mix(high, key), high];
}

/** The finalizer of MurmurHash3: every input bit affects every output bit. */
function mix(half: number, key: number): number {
  let bits = half ^ key;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) & (HALF - 1);
}

function toHex([high, low]: Pair): string {
  return (high * HALF + low).toString(16).padStart(12, "0");
}
