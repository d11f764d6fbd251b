/** Attachments of messages between machines: they travel over the bus, beside their entries. */

import type { Context } from "../../data/context.ts";
import { Downloads } from "./downloads.ts";
import * as rows from "./store.ts";
import type { MachineFilesDeps } from "./transfers.ts";
import { Uploads } from "./uploads.ts";

export class MachineFiles {
  readonly #ctx: Context;
  readonly uploads: Uploads;
  readonly downloads: Downloads;

  constructor(ctx: Context, deps: MachineFilesDeps) {
    this.#ctx = ctx;
    this.uploads = new Uploads({ ...ctx, ...deps });
    this.downloads = new Downloads({ ...ctx, ...deps });
  }

  /** Deletes from the bus what arrived, and rows that have expired. */
  tick(now: number): void {
    const { background, db } = this.#ctx;
    if (rows.hasExpired(db, now)) db.transactLazily((tx) => rows.removeExpired(tx, now));
    const deleting = this.uploads.deleteReleased();
    void background.run("Files that arrived were not deleted from the bus", deleting);
  }
}
