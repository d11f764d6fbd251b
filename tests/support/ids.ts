/** Ids that tests can write down: they count up instead of being random. */

import type { Ids } from "kit/core/clock.ts";
import type { IdCodec } from "../../daemon/features/messages/id_codec.ts";

/**
 * Ids that count up: `ask-000000000001`, `notif-000000000002`, …, each number once. Worlds that know
 * each other begin after different numbers.
 */
export function countingIds(after = 0): Ids {
  let count = after;
  return {
    next: (prefix) => `${prefix}-${(++count).toString(16).padStart(12, "0")}`,
    hex: (bytes) => (++count).toString(16).padStart(bytes * 2, "0"),
    secret: (bytes) => String(++count).padStart(Math.ceil(bytes * 4 / 3), "0"),
    distance: () => 1, // No number is skipped.
    renew: () => undefined,
  };
}

/** Message numbers as plain hex digits: `000000000001`, …. */
export const plainIdCodec: IdCodec = {
  ident: (seq) => seq.toString(16).padStart(12, "0"),
  seq: (ident) => /^[0-9a-f]{12}$/.test(ident) ? parseInt(ident, 16) : null,
};
