/** Uploads files for other machines to the bus, and deletes them there when they arrived. */

import { ExclusiveWork } from "kit/core/exclusive.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { isProblem } from "protocol/problems.ts";
import { type Bus, BusError } from "../bus.ts";
import type { Attachment } from "protocol/messages/attachments.ts";
import { type FileEntry, filesOf, type SenderReason, type SentFile } from "./sent_files.ts";
import * as rows from "./store.ts";
import {
  ATTEMPTS_MAX,
  FILE_BYTES_MAX,
  fileContext,
  hashOf,
  isBroken,
  mustGetBus,
  nameOnBus,
  reasonContext,
  type Transfers,
} from "./transfers.ts";

const DAY_MS = 86_400_000;
/** Time for which the bus keeps a file. */
const BUS_MS_MAX = 7 * DAY_MS;
/** Maximum age of an upload that a message names again: 6 of the 7 days are left to fetch it. */
const REUSE_MS_MAX = DAY_MS;
/** Entries wait for 30 days, and the bus may have their files for another 7. */
const ROW_MS_MAX = 38 * DAY_MS;
/**
 * Number of times that an upload may break the connection. A file that never gets through would
 * hold back all messages to its machine.
 */
const BREAKS_MAX = 10;
const DELETIONS_MAX = 20;

type Reason = (typeof SenderReason.options)[number];

export class Uploads {
  readonly #deps: Transfers;
  readonly #exclusive = new ExclusiveWork();
  #isDeleting = false;

  constructor(deps: Transfers) {
    this.#deps = deps;
  }

  /**
   * Describes an attachment in an entry for a machine. Call it in the transaction that appends the
   * entry, once for each entry: a file stays on the bus until each of them was released.
   */
  describe(tx: Tx, to: string, stored: Attachment): SentFile {
    const { clock, ids } = this.#deps;
    const { id: attachment, filename, content_type, size, sha256 } = stored;
    const described_at = clock.now();
    const since = described_at - REUSE_MS_MAX;
    let object = rows.reuse(tx, { daemon_id: to, attachment, since });
    if (object === undefined) {
      object = ids.hex(16);
      const expires_at = described_at + ROW_MS_MAX;
      rows.insertSent(tx, { object, daemon_id: to, attachment, described_at, expires_at });
    }
    return { attachment_id: attachment, filename, media_type: content_type, size, sha256, object };
  }

  /**
   * Called once for each entry that was confirmed, refused, or expired, in the transaction that
   * removes it. The entry no longer needs its files on the bus.
   */
  release(tx: Tx, to: string, entries: readonly FileEntry[]): void {
    for (const { object } of filesOf(entries)) rows.release(tx, to, object);
  }

  /**
   * Uploads the files of these entries that the bus does not have yet. Rejects with a `BusError`
   * as long as the bus cannot be reached; the caller repeats it before it publishes the entries. A
   * file that cannot be read, or that the bus refuses again and again, does not hold the entries
   * back: the other machine gets the reason instead.
   */
  async prepare(to: string, entries: readonly FileEntry[]): Promise<void> {
    for (const file of filesOf(entries)) {
      if (this.#isDue(to, file)) await this.#exclusive.run("", () => this.#prepareOne(to, file));
    }
  }

  /** Deletes from the bus the files that arrived or that no entry names. */
  async deleteReleased(): Promise<void> {
    const { db, log, bus } = this.#deps;
    const connected = bus();
    if (this.#isDeleting || connected?.status().status !== "connected") return;
    this.#isDeleting = true;
    try {
      for (const { object, ready_at } of rows.listUnused(db, DELETIONS_MAX)) {
        if (ready_at !== null) await this.#delete(connected, object);
        db.transactLazily((tx) => rows.removeSent(tx, object));
      }
    } catch (error) {
      // The row stays, and a later tick tries again.
      log.warn("Files that arrived could not be deleted from the bus", { error });
    } finally {
      this.#isDeleting = false;
    }
  }

  /** If the bus refuses, the file stays there until the bus drops it, at most 7 days later. */
  async #delete(bus: Bus, object: string): Promise<void> {
    const { log, daemon_id } = this.#deps;
    try {
      await bus.deleteFile(nameOnBus(daemon_id, object));
    } catch (error) {
      if (!(error instanceof BusError) || isBroken(error)) throw error;
      log.debug("The bus did not delete a file", { error });
    }
  }

  /** The bus drops a file after 7 days, in which its entry may still wait here. */
  #isDue(to: string, { object }: SentFile): boolean {
    const { db, clock } = this.#deps;
    const row = rows.getSent(db, object);
    if (row?.daemon_id !== to) return false;
    return row.ready_at === null || row.ready_at + BUS_MS_MAX <= clock.now();
  }

  async #prepareOne(to: string, file: SentFile): Promise<void> {
    if (!this.#isDue(to, file)) return; // Another entry named it, too.
    const bus = mustGetBus(this.#deps.bus);
    const { object } = file;
    const reason = await this.#upload(bus, to, file);
    if (reason) await this.#uploadReason(bus, to, { object, reason });
    const ready_at = this.#deps.clock.now();
    this.#deps.db.transact((tx) => rows.setReady(tx, { object, ready_at, reason: reason ?? null }));
  }

  /** Returns a reason if the file will never be on the bus. */
  async #upload(bus: Bus, to: string, file: SentFile): Promise<Reason | undefined> {
    const { seal, daemon_id, log } = this.#deps;
    const { object, attachment_id: attachment, size } = file;
    if (size > FILE_BYTES_MAX) return "not_taken";
    const bytes = await this.#read(file);
    if (!(bytes instanceof Uint8Array)) return bytes;
    const wasConnected = bus.status().status === "connected";
    try {
      const sealed = seal.seal(to, fileContext(object), bytes);
      await bus.putFile(nameOnBus(daemon_id, object), sealed);
    } catch (error) {
      if (!(error instanceof BusError) || !wasConnected) throw error;
      if (this.#mayRepeat(object, error)) throw error;
      log.warn("The bus did not take an attachment", { attachment, daemon_id: to, error });
      return "not_taken";
    }
  }

  #mayRepeat(object: string, error: BusError): boolean {
    const { db } = this.#deps;
    db.transact((tx) => rows.countUpload(tx, object));
    const attempts = rows.getSent(db, object)?.attempts ?? 0;
    if (isBroken(error)) return attempts < BREAKS_MAX;
    return error.reason !== "too_large" && attempts < ATTEMPTS_MAX;
  }

  /** The file's bytes, or why there are none. */
  async #read({ attachment_id, sha256 }: SentFile): Promise<Uint8Array | Reason> {
    const { attachments, log } = this.#deps;
    try {
      const { body } = await attachments.open(attachment_id);
      const bytes = await new Response(body).bytes();
      if (hashOf(bytes) === sha256) return bytes;
      log.warn("An attachment changed on the disk", { attachment: attachment_id });
      return "unreadable";
    } catch (error) {
      if (isProblem(error, "storage_failed")) throw error;
      if (isProblem(error, "attachment_not_found")) return "deleted";
      log.warn("An attachment cannot be read", { attachment: attachment_id, error });
      return "unreadable";
    }
  }

  /** Puts the reason in the file's place. Without it, the other machine finds nothing there. */
  async #uploadReason(
    bus: Bus,
    to: string,
    { object, reason }: { readonly object: string; readonly reason: Reason },
  ): Promise<void> {
    const { seal, daemon_id, log } = this.#deps;
    const sealed = seal.seal(to, reasonContext(object), new TextEncoder().encode(reason));
    try {
      await bus.putFile(nameOnBus(daemon_id, object), sealed);
    } catch (error) {
      if (!(error instanceof BusError) || isBroken(error)) throw error;
      log.debug("The bus did not take why an attachment is missing", { error });
    }
  }
}
