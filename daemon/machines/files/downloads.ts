/** Fetches the files of messages from other machines, and records which cannot be fetched. */

import { ExclusiveWork } from "kit/core/exclusive.ts";
import { isProblem } from "protocol/problems.ts";
import type { Reader } from "kit/data/sqlite.ts";
import { BusError } from "../bus.ts";
import type { Attachment } from "protocol/messages/attachments.ts";
import {
  type FileEntry,
  filesOf,
  type MissingReason,
  SenderReason,
  type SentFile,
  toLine,
} from "./sent_files.ts";
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
  SEAL_BYTES_MAX,
  type Transfers,
} from "./transfers.ts";

/** Longer than an entry may wait for this machine, so that no repeat of it fetches again. */
const ROW_MS_MAX = 38 * 86_400_000;

/**
 * Failed files of one machine in an hour, after which its other files are not fetched. Each file
 * may take the time that the bus allows, and the entries of all machines wait meanwhile.
 */
const FAILURES_MAX = 12;
const FAILURES_MS = 3_600_000;

/** Reasons that cost a download each time, and that the sender can cause without a limit. */
const COSTLY: ReadonlySet<string> = new Set<MissingReason>(["damaged", "full"]);

/** The files of a message as they are on this machine. */
interface ReceivedFiles {
  readonly attachments: Attachment[];
  /** One line for each missing file, for the end of the message's text; empty if none is. */
  readonly missing: string;
}

export class Downloads {
  readonly #deps: Transfers;
  readonly #exclusive = new ExclusiveWork();
  /** By machine: the files that failed since an instant. */
  readonly #failures = new Map<string, { count: number; readonly since: number }>();

  constructor(deps: Transfers) {
    this.#deps = deps;
  }

  /**
   * Fetches and stores the files of these entries, before they are applied. May be repeated: the
   * outcome for each file is stored. Rejects if it must be repeated, at most twice for each file
   * while there is a connection.
   */
  async fetch(from: string, entries: readonly FileEntry[]): Promise<void> {
    const failures: unknown[] = [];
    for (const file of filesOf(entries)) {
      if (!this.#isDue(from, file)) continue;
      try {
        await this.#exclusive.run("", () => this.#fetchOne(from, file));
      } catch (error) {
        if (!(error instanceof BusError) || isBroken(error)) throw error;
        failures.push(error); // The others are tried, too: the batch is repeated once for all.
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** The files of an entry as they are on this machine, for the transaction that applies it. */
  received(reader: Reader, from: string, sent: readonly SentFile[]): ReceivedFiles {
    const attachments: Attachment[] = [], missing: string[] = [];
    for (const file of sent) {
      const row = rows.getReceived(reader, { daemon_id: from, object: file.object });
      const stored = row?.attachment ? this.#deps.attachments.get(row.attachment) : undefined;
      if (stored) attachments.push(stored);
      else missing.push(toLine(file, row?.attachment ? "removed" : row?.reason ?? "failed"));
    }
    return { attachments, missing: missing.join("\n") };
  }

  #isDue(daemon_id: string, { object }: SentFile): boolean {
    const row = rows.getReceived(this.#deps.db, { daemon_id, object });
    return !row || (row.attachment === null && row.reason === null);
  }

  async #fetchOne(from: string, file: SentFile): Promise<void> {
    if (!this.#isDue(from, file)) return; // Another entry named it, too.
    const { db, log, clock, bus } = this.#deps;
    const key = { daemon_id: from, object: file.object };
    mustGetBus(bus);
    const expires_at = clock.now() + ROW_MS_MAX;
    const attempts = db.transact((tx) => rows.countFetch(tx, key, expires_at));
    await db.whenDurable(); // The count survives a file that ends this process.
    let reason: MissingReason | undefined = "failed";
    try {
      if (attempts <= ATTEMPTS_MAX && this.#failuresOf(from).count < FAILURES_MAX) {
        reason = await this.#transfer(from, file);
        if (reason && COSTLY.has(reason)) this.#failuresOf(from).count++;
      }
    } catch (error) {
      if (error instanceof BusError && !isBroken(error)) this.#failuresOf(from).count++;
      if (attempts < ATTEMPTS_MAX) throw error;
      log.warn("A file of another machine could not be fetched", { daemon_id: from, error });
    }
    if (reason) db.transact((tx) => rows.setReceived(tx, key, { reason }));
  }

  #failuresOf(from: string): { count: number } {
    const now = this.#deps.clock.monotonic();
    const known = this.#failures.get(from);
    if (known && now - known.since < FAILURES_MS) return known;
    const fresh = { count: 0, since: now };
    this.#failures.set(from, fresh);
    return fresh;
  }

  /** Fetches and stores a file; returns the reason if it is certain that this cannot succeed. */
  async #transfer(from: string, file: SentFile): Promise<MissingReason | undefined> {
    const { attachments, bus, seal } = this.#deps;
    const { object, size } = file;
    const bytes_max = Math.min(attachments.limits.file_bytes_max, FILE_BYTES_MAX);
    if (size > bytes_max) return "too_large";
    try {
      const sealed = await mustGetBus(bus).getFile(nameOnBus(from, object), size + SEAL_BYTES_MAX);
      if (!sealed) return "gone";
      const bytes = seal.open(from, fileContext(object), sealed);
      if (!bytes) return readReason(seal.open(from, reasonContext(object), sealed));
      if (bytes.length !== size || hashOf(bytes) !== file.sha256) return "damaged";
      const key = { daemon_id: from, object };
      await attachments.adopt(bytes, file, (tx, attachment) => {
        rows.setReceived(tx, key, { attachment });
      });
    } catch (error) {
      if (error instanceof BusError && error.reason === "too_large") return "damaged";
      if (isProblem(error, "attachments_full")) return "full";
      throw error;
    }
  }
}

/** The reason that was sealed instead of a file; `damaged` for any other content. */
function readReason(bytes: Uint8Array | null): MissingReason {
  return SenderReason.safeParse(bytes && new TextDecoder().decode(bytes)).data ?? "damaged";
}
