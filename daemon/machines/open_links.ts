/** Joins the links with what their entries need and cause: seals, files and the exchange. */

import type { Context } from "../data/context.ts";
import { Links } from "./links/links.ts";
import type { MachineTrust } from "./trust/machine_trust.ts";
import type { PinnedSeal } from "./trust/seal.ts";
import type { Pings } from "./calls/pings.ts";
import type { BusConnection } from "./connection.ts";
import type { Exchange } from "./exchange/exchange.ts";
import type { MachineFiles } from "./files/machine_files.ts";
import type { WaitingMessages } from "./waiting_messages.ts";

/** The context of sealed batches. They open in no other context. */
const BATCH = "batch";

interface LinkedParts {
  readonly connection: Pick<BusConnection, "publish">;
  readonly files: MachineFiles;
  readonly seal: PinnedSeal;
  readonly trust: Pick<MachineTrust, "get">;
  readonly waiting: Pick<WaitingMessages, "attempt">;
  /** A function, because the pings are built after the links. */
  readonly pings: () => Pick<Pings, "of" | "measure">;
  /** A function, because the exchange is built after the links, to which it writes. */
  readonly exchange: () => Exchange;
}

export function openLinks(ctx: Context, parts: LinkedParts): Links {
  const { connection, exchange, files, pings, seal, trust, waiting } = parts;
  return new Links({
    ...ctx,
    send: (to, id, bytes) => waiting.attempt(to, () => connection.publish(to, id, bytes)),
    clockAheadOf: (daemon_id) => pings().of(daemon_id).clock_ahead_ms,
    measureClock: (daemon_id) => pings().measure(daemon_id),
    sealing: {
      seal: (to, bytes) => trust.get(to) ? seal.seal(to, BATCH, bytes) : null,
      open: (from, bytes) => seal.open(from, BATCH, bytes),
    },
    prepare: (to, entries) => waiting.attempt(to, () => files.uploads.prepare(to, entries)),
    fetch: (from, entries) => files.downloads.fetch(from, entries),
    handlers: exchange,
  });
}
