/** Announcements in the directory: sealed for the whole network, signed by the machine. */

import type { Ids } from "kit/core/clock.ts";
import { tryJson } from "kit/core/text.ts";
import { cardToWire, checkCard, type SignedCard } from "./cards.ts";
import { type MachineKeys, sign, SIGNATURE_BYTES, toVerifyKey, verify } from "./keys.ts";
import type { NetworkKeys } from "./network.ts";
import { open, seal } from "./sealing.ts";

const LINE_BREAK = 10;
/** The purpose, which is signed and sealed. It names no machine, because the signed card does. */
type Purpose = "mesh directory 1" | "mesh refusal 1";
const DIRECTORY: Purpose = "mesh directory 1";

interface Announcement {
  /** Authentic by itself, but perhaps not pinned: `MachineTrust.receive` decides whether to trust it. */
  readonly card: SignedCard;
  readonly body: Uint8Array;
}

/** Makes an announcement: one line with the card, then the body. */
export function sealAnnouncement(
  { card, body }: Announcement,
  keys: MachineKeys,
  network: NetworkKeys,
  ids: Pick<Ids, "hex">,
  purpose = DIRECTORY,
): Uint8Array {
  const line = new TextEncoder().encode(`${JSON.stringify(cardToWire(card))}\n`);
  const content = concat(line, body);
  const signed = concat(sign(keys, [purpose], content), content);
  return seal(network.directory_key, purpose, signed, ids);
}

/**
 * Opens what lies in the directory under the id of a machine; null if that machine did not make it.
 * The bus can still show an older announcement again, so the body must hold its age.
 */
export function openAnnouncement(
  daemon_id: string,
  network: NetworkKeys,
  sealed: Uint8Array,
  purpose = DIRECTORY,
): Announcement | null {
  const signed = open(network.directory_key, purpose, sealed);
  if (signed === null) return null;
  const content = signed.subarray(SIGNATURE_BYTES);
  const end = content.indexOf(LINE_BREAK);
  const line = new TextDecoder().decode(content.subarray(0, Math.max(end, 0)));
  const checked = checkCard(tryJson(line), network);
  if (!checked.ok || checked.card.daemon_id !== daemon_id) return null;
  const signature = signed.subarray(0, SIGNATURE_BYTES);
  if (!verify(toVerifyKey(checked.card.sign), [purpose], content, signature)) return null;
  return { card: checked.card, body: content.subarray(end + 1) };
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
