/** Heartbeats: a few signed bytes that name the current entry of a machine. */

import * as z from "zod";
import type { KeyObject } from "node:crypto";
import type { Ids } from "kit/core/clock.ts";
import { tryJson } from "kit/core/text.ts";
import { type MachineKeys, sign, SIGNATURE_BYTES, verify } from "../trust/keys.ts";
import type { NetworkKeys } from "../trust/network.ts";
import { open, seal } from "../trust/sealing.ts";
import { Run } from "./entry.ts";

const CONTEXT = "mesh beat 1";

const Beat = z.object({
  run: Run,
  /** The number of this announcement, as in entries: it rises within a run, which shows repeats. */
  seq: z.number().int().nonnegative(),
  /** The revision of the current entry. */
  revision: z.number().int().nonnegative(),
});
type Beat = z.output<typeof Beat>;

/** A parsed heartbeat whose signature is not checked yet. */
interface ReadBeat extends Beat {
  readonly signature: Uint8Array;
  readonly signed: Uint8Array;
}

export function sealBeat(
  daemon_id: string,
  beat: Beat,
  keys: MachineKeys,
  network: NetworkKeys,
  ids: Pick<Ids, "hex">,
): Uint8Array {
  const signed = new TextEncoder().encode(JSON.stringify(beat));
  const content = new Uint8Array(SIGNATURE_BYTES + signed.length);
  content.set(sign(keys, [CONTEXT, daemon_id], signed));
  content.set(signed, SIGNATURE_BYTES);
  return seal(network.directory_key, CONTEXT, content, ids);
}

/** Parses a heartbeat from a machine of the network; undefined for anything else. */
export function readBeat(network: NetworkKeys, bytes: Uint8Array): ReadBeat | undefined {
  const content = open(network.directory_key, CONTEXT, bytes);
  if (!content) return undefined;
  const signed = content.subarray(SIGNATURE_BYTES);
  const { data } = Beat.safeParse(tryJson(new TextDecoder().decode(signed)));
  return data && { ...data, signature: content.subarray(0, SIGNATURE_BYTES), signed };
}

/** Checks the signature with the machine's key. */
export function isBeatOf(daemon_id: string, key: KeyObject, beat: ReadBeat): boolean {
  return verify(key, [CONTEXT, daemon_id], beat.signed, beat.signature);
}
