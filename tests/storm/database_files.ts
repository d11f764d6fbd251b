/** Images of the files of a database, also as a power cut within a commit leaves them. */

import type { Chance } from "../support/seeded_random.ts";

/** The contents of the database file and of its write-ahead log. */
export interface DatabaseImage {
  readonly main: Uint8Array;
  readonly wal?: Uint8Array;
}

/** Bytes that a disk writes at once. */
const SECTOR_BYTES = 512;
/** The header of the log: SQLite syncs it before it writes anything behind it. */
const WAL_HEADER_BYTES = 32;

export class DatabaseFiles {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  read(): DatabaseImage {
    const [main, wal] = [Deno.readFileSync(this.path), readIfPresent(`${this.path}-wal`)];
    return { main, ...(wal && { wal }) };
  }

  write({ main, wal }: DatabaseImage): void {
    Deno.writeFileSync(this.path, main);
    if (wal) Deno.writeFileSync(`${this.path}-wal`, wal);
  }
}

/**
 * The disk after a power cut within a commit: its writes to the log are not synced yet, so that
 * each sector of them may be on the disk or not. The commit touches the database file only later.
 */
export function tornImage(
  before: DatabaseImage,
  after: DatabaseImage,
  chance: Chance,
): DatabaseImage {
  const [old, written] = [before.wal ?? new Uint8Array(), after.wal ?? new Uint8Array()];
  const mixed = written.slice();
  // Whole sectors in any order, or all up to a place if the log begins anew.
  const isNew = !equal(old.subarray(0, WAL_HEADER_BYTES), written.subarray(0, WAL_HEADER_BYTES));
  const kept = isNew ? chance.below(written.length) : 0;
  for (let at = 0; at < mixed.length; at += SECTOR_BYTES) {
    const until = Math.min(at + SECTOR_BYTES, mixed.length);
    const isKept = isNew ? at < kept : chance.oneIn(2);
    if (isKept) continue;
    mixed.fill(0, at, until);
    mixed.set(old.subarray(at, until), at);
  }
  return { main: before.main, wal: mixed };
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function readIfPresent(path: string): Uint8Array | undefined {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
