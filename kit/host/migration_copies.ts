/**
 * Copies of a database from before it was changed for a new version. Without one, there is no way
 * back to the older version of the program.
 */

import type { DatabaseSync } from "node:sqlite";
import { basename, dirname, join } from "kit/core/path.ts";
import { messageOf } from "kit/core/text.ts";
import { syncDirectory, syncFile } from "kit/host/durable_files.ts";

/** How many copies are kept: of the last two versions. */
const KEPT_MAX = 2;
const MIB = 2 ** 20;

export interface MigrationCopy {
  readonly path: string;
  /** The version of the schema that it has. */
  readonly version: number;
}

const pathOf = (path: string, version: number) => `${path}.schema-${version}`;

/**
 * Copies a database beside itself, and deletes all but the newest copies. Throws if there is no
 * room: the database is then left as it is.
 */
export function copyBeforeMigration(path: string, version: number, database: DatabaseSync): void {
  const copy = pathOf(path, version);
  const partial = `${copy}.part`;
  try {
    remove(partial);
    Deno.openSync(partial, { write: true, createNew: true, mode: 0o600 }).close();
    // A copy takes no time where a file system shares blocks.
    if (isWholeInFile(database)) Deno.copyFileSync(path, partial);
    else database.prepare("vacuum into ?").run(partial);
    Deno.chmodSync(partial, 0o600);
    syncFile(partial);
    Deno.renameSync(partial, copy);
    syncDirectory(dirname(copy));
  } catch (error) {
    unlessError(() => remove(partial));
    const size = Math.ceil(Deno.statSync(path).size / MIB);
    throw new Error(
      `Cannot copy the database to "${copy}" before it is changed for this version: ` +
        `${messageOf(error)}; make room for ${size} MiB there, or use the older version`,
    );
  }
  for (const { path: older } of migrationCopies(path).slice(KEPT_MAX)) remove(older);
}

/** The copies of a database, newest version first. */
export function migrationCopies(path: string): MigrationCopy[] {
  const directory = dirname(path);
  const prefix = `${basename(path)}.schema-`;
  const names = [...Deno.readDirSync(directory)].map(({ name }) => name);
  return names.flatMap((name) => {
    const [, digits] = name.startsWith(prefix)
      ? /^(\d{1,6})$/.exec(name.slice(prefix.length)) ?? []
      : [];
    return digits === undefined ? [] : [{ path: join(directory, name), version: Number(digits) }];
  }).sort((one, other) => other.version - one.version);
}

/** The newest copy that a program of this schema opens; undefined if there is none. */
export function copyFor(path: string, schema: number): MigrationCopy | undefined {
  return migrationCopies(path).find(({ version }) => version <= schema);
}

/** Moves the write-ahead log into the file. A reader, such as a backup, may need a part yet. */
function isWholeInFile(database: DatabaseSync): boolean {
  const { busy } = database.prepare("pragma wal_checkpoint(truncate)").get() ?? {};
  return busy === 0;
}

/** The error that led here is the one to report. */
function unlessError(work: () => void): void {
  try {
    work();
  } catch { /* What is left of the copy is replaced by the next one. */ }
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
