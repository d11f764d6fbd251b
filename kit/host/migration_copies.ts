/**
 * Copies of a database, made before a new version changes it. They are the only way back to the
 * older version of the program.
 */

import type { DatabaseSync } from "node:sqlite";
import { basename, dirname, join } from "kit/core/path.ts";
import { messageOf } from "kit/core/text.ts";
import { syncDirectory, syncFile } from "kit/host/durable_files.ts";
import { unlessError, unlessMissing } from "kit/host/file_errors.ts";

/** Number of copies that are kept: of the last two versions. */
const KEPT_MAX = 2;
const MIB = 2 ** 20;

export interface MigrationCopy {
  readonly path: string;
  /** The version of its schema. */
  readonly version: number;
}

const pathOf = (path: string, version: number) => `${path}.schema-${version}`;

/**
 * Copies a database into its own folder, and deletes all but the newest copies. Throws if there is
 * no room, and leaves the database unchanged.
 */
export function copyBeforeMigration(path: string, version: number, database: DatabaseSync): void {
  const copy = pathOf(path, version);
  const partial = `${copy}.part`;
  try {
    unlessMissing(() => Deno.removeSync(partial));
    Deno.openSync(partial, { write: true, createNew: true, mode: 0o600 }).close();
    // Copying is instant if the file system shares blocks.
    if (isWholeInFile(database)) Deno.copyFileSync(path, partial);
    else database.prepare("vacuum into ?").run(partial);
    Deno.chmodSync(partial, 0o600);
    syncFile(partial);
    Deno.renameSync(partial, copy);
    syncDirectory(dirname(copy));
  } catch (error) {
    // Its own error is ignored, so that the original error is reported.
    unlessError(() => true, () => Deno.removeSync(partial));
    const size = Math.ceil(Deno.statSync(path).size / MIB);
    throw new Error(
      `Cannot copy the database to "${copy}" before it is changed for this version: ` +
        `${messageOf(error)}; make room for ${size} MiB there, or use the older version`,
    );
  }
  for (const { path: older } of migrationCopies(path).slice(KEPT_MAX)) {
    unlessMissing(() => Deno.removeSync(older));
  }
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
  }).sort((a, b) => b.version - a.version);
}

/** The newest copy that a program with this schema can open; undefined if there is no such copy. */
export function copyFor(path: string, schema: number): MigrationCopy | undefined {
  return migrationCopies(path).find(({ version }) => version <= schema);
}

/** Moves the write-ahead log into the file. False if a reader, such as a backup, needs some. */
function isWholeInFile(database: DatabaseSync): boolean {
  const { busy } = database.prepare("pragma wal_checkpoint(truncate)").get() ?? {};
  return busy === 0;
}
