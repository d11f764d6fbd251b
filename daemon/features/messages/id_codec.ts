/** Ids from numbers: a keyed permutation, so that ids look random, never collide, need no index. */

import { createHmac } from "node:crypto";

/** Turns the ledger's rising numbers into 12 hex digits, and back. */
export interface IdCodec {
  /** The digits of a number from 1 to 2^48 - 1. */
  ident(seq: number): string;
  /** The number of these digits; null for what is no ident. */
  seq(ident: string): number | null;
}

const HALF = 2 ** 24;
const ROUNDS = 6;
const IDENT = /^[0-9a-f]{12}$/;

/**
 * A Feistel network over 48 bits (Luby and Rackoff, 1988): a bijection, whatever its rounds do.
 * The ids are names, not secrets: they have to be unlike each other, not hard to forge.
 */
export function keyedIdCodec(secret: string): IdCodec {
  const digest = createHmac("sha256", secret).update("mesh message numbers").digest();
  const keys = Array.from({ length: ROUNDS }, (_, round) => digest.readUInt32LE(round * 4));
  return {
    ident: (seq) => toHex(keys.reduce(forward, [Math.floor(seq / HALF), seq % HALF])),
    seq(ident) {
      if (!IDENT.test(ident)) return null;
      const pair: Pair = [parseInt(ident.slice(0, 6), 16), parseInt(ident.slice(6), 16)];
      const [high, low] = keys.reduceRight(backward, pair);
      return high * HALF + low;
    },
  };
}

type Pair = readonly [high: number, low: number];

function forward([high, low]: Pair, key: number): Pair {
  return [low, high ^ mix(low, key)];
}

function backward([high, low]: Pair, key: number): Pair {
  return [low ^ mix(high, key), high];
}

/** Spreads every bit of a half over all of it (the finalizer of MurmurHash3). */
function mix(half: number, key: number): number {
  let bits = half ^ key;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) & (HALF - 1);
}

function toHex([high, low]: Pair): string {
  return (high * HALF + low).toString(16).padStart(12, "0");
}
