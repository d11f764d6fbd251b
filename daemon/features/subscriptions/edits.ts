/**
 * Finds edited files: scans the folders of file subscriptions, one at a time. The file system
 * records the time of an edit, but not the editor.
 */

import { formatInstant } from "kit/core/local_time.ts";
import type { Context } from "../../data/context.ts";
import { cleanLine, messageOf } from "kit/core/text.ts";
import { type Edit, editsIn } from "../../host/edited_files.ts";
import { noteOccurrence } from "./changes.ts";
import * as rows from "./store.ts";
import type { StoredSubscription } from "./store.ts";

/** The interval between two scans for one subscription. */
const SCAN_MS = 5000;
/** Delay of the kernel's file times. A scan leaves out the latest files. */
const LATE_MS = 100;
/** Maximum files named in one proof, and maximum characters of their paths. */
const NAMED_MAX = 5;
const PATH_CHARS_MAX = 200;

interface FileEditsDeps {
  readonly shutdownSignal: AbortSignal;
  /** The folder cannot be scanned. */
  fail(subscription: StoredSubscription, error: string): void;
}

export class FileEdits {
  readonly #ctx: Context;
  readonly #deps: FileEditsDeps;
  #scanning = false;

  constructor(ctx: Context, deps: FileEditsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Starts the scan that is due the longest, unless one is running. */
  tick(now: number): void {
    if (this.#scanning) return;
    const subscription = rows.nextScan(this.#ctx.db, now);
    if (!subscription) return;
    this.#scanning = true;
    const scan = this.#scan(subscription, now - LATE_MS).finally(() => this.#scanning = false);
    void this.#ctx.background.run("A scan for edited files failed", scan);
  }

  async #scan(
    { subscription_id, ...subscription }: StoredSubscription,
    until: number,
  ): Promise<void> {
    const { db, clock } = this.#ctx;
    const since = subscription.files_since ?? until;
    const { folder, glob } = subscription;
    if (folder === null || glob === null) return;
    const found = await editsIn(folder, glob, { since, until }).catch((error: unknown) =>
      `${quote(folder)} cannot be read: ${cleanLine(messageOf(error))}`
    );
    if (this.#deps.shutdownSignal.aborted) return;
    db.transact((tx) => {
      const now = rows.get(db, subscription_id);
      if (now?.state !== "active") return;
      if (typeof found === "string") return this.#deps.fail(now, found);
      const { edits, is_complete } = found;
      if (!is_complete) {
        return this.#deps.fail(now, `${quote(folder)} holds too many files to watch ${glob}`);
      }
      // A clock that was set back must not hide edits.
      const files_since = Math.min(until, clock.now());
      const scanned = { ...now, files_since, scan_at: clock.now() + SCAN_MS };
      rows.update(tx, scanned);
      if (edits.length > 0) noteOccurrence(this.#ctx, scanned, proofOf(edits, folder));
    });
  }
}

function proofOf(edits: readonly Edit[], folder: string): string {
  const latest = edits.toSorted((a, b) => b.modified_at - a.modified_at);
  const named = latest.slice(0, NAMED_MAX).map(({ path, modified_at }) =>
    `${quote(path)} at ${formatInstant(modified_at)}`
  );
  const more = latest.length - named.length;
  const others = more > 0 ? `, and ${more} more` : "";
  return `Edited in ${quote(folder)}: ${named.join(", ")}${others}. ` +
    "The file system says when, but not who edited it.";
}

function quote(path: string): string {
  const line = cleanLine(path);
  return JSON.stringify(line.length > PATH_CHARS_MAX ? `…${line.slice(-PATH_CHARS_MAX)}` : line);
}
