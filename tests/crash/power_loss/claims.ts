/** Everything that a daemon has acknowledged, compared with an image of its disk. */

import { join } from "node:path";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { migrations } from "../../../daemon/app/migrations/migrations.ts";
import { HookClaims, type HookedWork } from "./hooked_session.ts";

const STORED = {
  message: /"(?:correlation_id|delivery_id)":"(?:ask|notif|qd)-([0-9a-f]{12})"/g,
  job: /"job_id":"(work-[0-9a-f]{12})"/g,
  schedule: /"schedule_id":"(sched-[0-9a-f]{12})"/g,
  item: /"item_id":"(inb-[0-9a-f]{12})"/g,
  attachment: /"id":"(att-[0-9a-f]{32})"/g,
  peer: /"peer_id":"(peer-[0-9a-f]{12})"/g,
  /** An ask whose end a frame, or a read of the ask, has told. */
  "end of an ask":
    /"correlation_id":"ask-([0-9a-f]{12})",(?:"close_reason":"|[^{}]*"state":"closed")/g,
} as const;
type Kind = keyof typeof STORED;

/** The query for the ids of each kind. */
const ROWS: Readonly<Record<Kind, string>> = {
  message: "select ident as id from messages",
  job: "select job_id as id from jobs",
  schedule: "select schedule_id as id from schedules",
  item: "select item_id as id from inbox_items",
  attachment: "select id from attachments",
  peer: "select peer_id as id from peers",
  "end of an ask": "select ident as id from messages where ask_state = 'closed'",
};

/** The ids that the daemon has sent so far, by kind. */
export class Claims {
  readonly #ids = new Map<Kind, Set<string>>();
  readonly hooks: HookClaims;

  constructor(hooked: HookedWork) {
    this.hooks = new HookClaims(hooked);
  }

  /** Reads what was sent through a socket. */
  read(text: string): void {
    for (const [kind, pattern] of Object.entries(STORED) as [Kind, RegExp][]) {
      const ids = this.#ids.getOrInsertComputed(kind, () => new Set());
      for (const [, id = ""] of text.matchAll(pattern)) ids.add(id);
    }
    this.hooks.read(text);
  }

  count(kind: Kind): number {
    return this.#ids.get(kind)?.size ?? 0;
  }

  get total(): number {
    return [...this.#ids.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** True if the daemon has sent this message's id. */
  has(id: string): boolean {
    return this.#ids.get("message")?.has(id.split("-")[1] ?? "") ?? false;
  }

  /** Sentences on what an image lacks or has twice. SQLite refuses to read a damaged image. */
  missingIn(state: string): string[] {
    const path = join(state, "mesh.db");
    if (!existsSync(path)) return this.total === 0 ? [] : ["there is no database"];
    try {
      return this.#missingInDatabase(path, state);
    } catch (error) {
      if (error instanceof Error && /malformed|not a database/.test(error.message)) {
        return [`integrity: ${error.message}`];
      }
      throw error;
    }
  }

  #missingInDatabase(path: string, state: string): string[] {
    using db = new DatabaseSync(path);
    const integrity = db.prepare("pragma integrity_check").get()?.["integrity_check"];
    if (integrity !== "ok") return [`integrity: ${integrity}`];
    const version = Number(db.prepare("pragma user_version").get()?.["user_version"]);
    if (version < migrations.length) { // The power went during the first start.
      return this.total === 0 ? [] : [`the schema is only ${version}`];
    }
    const broken = db.prepare("pragma foreign_key_check").all();
    return [
      ...broken.map((row) => `a foreign key: ${JSON.stringify(row)}`),
      ...this.#missingRows(db),
      ...this.hooks.missingIn(db),
      ...findRepeatedTexts(db),
      ...brokenFiles(db, state),
    ];
  }

  #missingRows(db: DatabaseSync): string[] {
    return [...this.#ids].flatMap(([kind, told]) => {
      const found = new Set(db.prepare(ROWS[kind]).all().map(({ id }) => String(id)));
      const lost = [...told].filter((id) => !found.has(id));
      return lost.map((id) => `${kind} ${id} is lost`);
    });
  }
}

/** Each request of the load has a text of its own. */
function findRepeatedTexts(db: DatabaseSync): string[] {
  const rows = db.prepare(
    `select text, count(*) as times from messages where kind in ('ask', 'notify', 'inbox_item')
     group by text having times > 1`,
  ).all();
  return rows.map(({ text, times }) => `"${String(text).slice(0, 20)}" is there ${times} times`);
}

/** Attachments that have a row, but not the file that it describes. */
function brokenFiles(db: DatabaseSync, state: string): string[] {
  return db.prepare("select file, sha256 from attachments").all().flatMap(({ file, sha256 }) => {
    const path = join(state, "attachments", String(file));
    if (!existsSync(path)) return [`the file ${file} is lost`];
    const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
    return digest === sha256 ? [] : [`the file ${file} is damaged`];
  });
}
