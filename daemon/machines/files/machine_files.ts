/** Attachments of messages between machines: they travel over the bus, beside their entries. */

import type { Context } from "../../data/context.ts";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import type { Attachment } from "protocol/messages/attachments.ts";
import { Downloads, type ReceivedFiles } from "./downloads.ts";
import type { FileEntry, SentFile } from "./sent_files.ts";
import * as rows from "./store.ts";
import type { MachineFilesDeps } from "./transfers.ts";
import { Uploads } from "./uploads.ts";

export class MachineFiles {
  readonly #db: Context["db"];
  readonly #background: Context["background"];
  readonly #uploads: Uploads;
  readonly #downloads: Downloads;

  constructor(ctx: Context, deps: MachineFilesDeps) {
    const { attachments, bus, seal, daemon_id } = deps;
    const transfers = { ...ctx, attachments, bus, seal, daemon_id };
    this.#db = ctx.db;
    this.#background = ctx.background;
    this.#uploads = new Uploads(transfers);
    this.#downloads = new Downloads(transfers);
  }

  /**
   * Describes an attachment in an entry for a machine. Call it in the transaction that appends the
   * entry, once for each entry: a file stays on the bus until each of them was released.
   */
  describe(tx: Tx, to: string, attachment: Attachment): SentFile {
    return this.#uploads.describe(tx, to, attachment);
  }

  /**
   * Uploads the files of these entries that the bus does not have yet. Rejects with a `BusError`
   * as long as the bus cannot be reached; the caller repeats it before it publishes the entries. A
   * file that cannot be read, or that the bus refuses again and again, does not hold the entries
   * back: the other machine gets the reason instead.
   */
  prepare(to: string, entries: readonly FileEntry[]): Promise<void> {
    return this.#uploads.prepare(to, entries);
  }

  /**
   * Called once for each entry that was confirmed, refused, or expired, in the transaction that
   * removes it. The entry no longer needs its files on the bus.
   */
  release(tx: Tx, to: string, entries: readonly FileEntry[]): void {
    this.#uploads.release(tx, to, entries);
  }

  /**
   * Fetches and stores the files of these entries, before they are applied. May be repeated: the
   * outcome for each file is stored. Rejects if it must be repeated, at most twice for each file
   * while there is a connection.
   */
  fetch(from: string, entries: readonly FileEntry[]): Promise<void> {
    return this.#downloads.fetch(from, entries);
  }

  /** The files of an entry as they are on this machine, for the transaction that applies it. */
  received(reader: Reader, from: string, sent: readonly SentFile[]): ReceivedFiles {
    return this.#downloads.received(reader, from, sent);
  }

  /** Deletes from the bus what arrived, and rows that have expired. */
  tick(now: number): void {
    if (rows.hasExpired(this.#db, now)) {
      this.#db.transactLazily((tx) => rows.removeExpired(tx, now));
    }
    const deleting = this.#uploads.deleteReleased();
    void this.#background.run("Files that arrived were not deleted from the bus", deleting);
  }
}
