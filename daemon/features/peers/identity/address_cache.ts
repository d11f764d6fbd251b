/** Addresses of peers in memory: every message needs two of them, and they rarely change. */

import type { Database } from "kit/data/sqlite.ts";
import { TableAnswers } from "../../../data/table_view.ts";
import { looksLike } from "protocol/peers/lookalikes.ts";
import { type Address, isAppName, isReserved } from "protocol/peers/record.ts";
import * as rows from "../store.ts";

export class AddressCache {
  /** The address of an exact id, even if it was closed or dropped. */
  readonly byId: (peer_id: string) => Address | undefined;
  /** Addresses by name, without retired and dropped ones; live ones first. */
  readonly byName: (name: string) => readonly Address[];
  /** The agents and orchestrators of a circle, without retired and dropped ones. */
  readonly members: (circle: string) => readonly Address[];
  /** The one human. */
  readonly human: () => Address | undefined;
  /** True if a name is, or looks like, the human's name or a reserved one. */
  readonly isReserved: (name: string) => boolean;

  constructor(db: Database) {
    const answers = new TableAnswers(() => db.revisionOf("peers"));
    this.byId = answers.to((peer_id) => rows.address(db, peer_id));
    this.byName = answers.to((name) => rows.byName(db, name));
    this.members = answers.to((circle) => rows.members(db, circle));
    this.human = answers.to(() => rows.human(db));
    this.isReserved = answers.to((name) => {
      const human = this.human();
      if (human && looksLike(name, human.name)) return true;
      return isReserved(name) && !isAppName(name);
    });
  }
}
