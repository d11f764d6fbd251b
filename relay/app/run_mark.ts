/**
 * Notices that the OAuth database was replaced by an earlier copy, in which spent refresh tokens
 * and revoked grants are valid again.
 *
 * A random mark is kept in the database and in a file beside it. Both change within a second after
 * the database has changed. A copy holds an earlier mark than the file, unless nothing has changed
 * since, or the relay was killed within that second.
 */

import * as z from "zod";
import type { Ids } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { writePrivately } from "kit/host/durable_files.ts";
import { unlessMissing } from "kit/host/file_errors.ts";
import type { Log } from "kit/core/log.ts";
import type { Database, Tx } from "kit/data/sqlite.ts";
import { revokeAll } from "../oauth/grant_store.ts";

const MARK_BYTES = 16;

/** If the relay was killed before it wrote the file, the file still contains `mark_before`. */
const Marks = z.object({ mark: z.string(), mark_before: z.string().nullable() });

interface RunMarkDeps {
  readonly db: Database;
  readonly path: string;
  readonly ids: Pick<Ids, "hex">;
  readonly log: Log;
}

export class RunMark {
  readonly #deps: RunMarkDeps;
  #mark: string | undefined;
  #changes = 0;
  #isInFile = false;
  #hasFailed = false;

  /** Revokes every grant if the database went back, because it lacks later changes of grants. */
  constructor(deps: RunMarkDeps) {
    this.#deps = deps;
    const { db, path, log } = deps;
    const marks = db.get(Marks, "select mark, mark_before from oauth_mark");
    const inFile = unlessMissing(() => Deno.readTextFileSync(path));
    this.#mark = marks?.mark;
    this.#isInFile = inFile !== undefined && inFile === marks?.mark;
    if (this.#isInFile || (inFile !== undefined && inFile === marks?.mark_before)) return;
    const isNew = marks === undefined && inFile === undefined;
    const revoked = db.transactNow((tx) => {
      this.#renewMark(tx);
      return isNew ? 0 : revokeAll(tx);
    });
    this.#writeFile();
    if (isNew) return;
    log.warn("The OAuth database was replaced by an earlier copy: every grant was revoked", {
      path,
      revoked,
    });
  }

  /** Call it once a second and at the end. Does nothing while the database is unchanged. */
  renew(): void {
    const { db } = this.#deps;
    if (this.#isInFile && this.#changesNow() === this.#changes) return;
    if (this.#isInFile) db.transactNow((tx) => this.#renewMark(tx));
    this.#writeFile();
  }

  #renewMark(tx: Tx): void {
    const mark = this.#deps.ids.hex(MARK_BYTES);
    tx.run(
      `insert into oauth_mark (one, mark) values (1, :mark)
       on conflict (one) do update set mark_before = mark, mark = excluded.mark`,
      { mark },
    );
    this.#deps.db.afterCommit(() => {
      this.#mark = mark;
      this.#isInFile = false;
    });
  }

  /** Until the file is written, the mark stays the same: the database has only one earlier mark. */
  #writeFile(): void {
    const { path, log } = this.#deps;
    try {
      writePrivately(path, this.#mark ?? "");
      this.#isInFile = true;
      this.#hasFailed = false;
      this.#changes = this.#changesNow();
    } catch (error) {
      if (!this.#hasFailed) log.warn("A file was not written", { path, error: messageOf(error) });
      this.#hasFailed = true;
    }
  }

  #changesNow(): number {
    return this.#deps.db.value(z.number(), "select total_changes()") ?? 0;
  }
}
