/** `mesh backup`: copies the database into one file, while the daemon may be running. */

import { dirname, join, resolve } from "kit/core/path.ts";
import { DatabaseSync } from "node:sqlite";
import { fileRefusal, unlessMissing } from "kit/host/file_errors.ts";
import { syncDirectory, syncFile } from "kit/host/durable_files.ts";
import { statePath } from "../../../daemon/host/paths.ts";
import { answerCommand, type Args, type CommandContext } from "../../command/command.ts";
import { CommandError, onFiles } from "../../client/failures.ts";
import { styled } from "../../output/terminal.ts";

/** Time limit for the database lock, which a daemon holds while it shuts down. */
const BUSY_MS_MAX = 5000;
/** The suffix of an unfinished copy. */
const PARTIAL_SUFFIX = ".part";
const ATTACHMENTS = "attachments";

export const BACKUP_COMMAND = answerCommand({
  usage: "backup <file>",
  needs: "this machine",
  summary: "Back up the daemon's database into a new file; the daemon may be running",
  details:
    "The backup contains peers, asks, the inbox, events and the daemon's keys: keep it private. " +
    "It does not contain the configuration, nor uploaded files unless you pass --attachments. " +
    "To restore it: mesh restore <file>. Do not run two daemons from copies of one backup.",
  flags: {
    "--attachments": "also copy uploaded files, into <file>.attachments; to restore them, " +
      "move them into `attachments` next to mesh.db",
  },
  example: "mesh backup ~/mesh-backup.db --attachments",
  call: backup,
  show: ({ file, bytes, attachments, files }, { terminal }) => {
    terminal.print(styled("green", "Copied"), ` to ${file} (${bytes} bytes)`);
    if (attachments !== null) terminal.print(`and ${files} uploaded files to ${attachments}`);
  },
});

function backup({ env }: CommandContext, args: Args) {
  const state = statePath(env);
  const file = resolve(Deno.cwd(), args.text("file"));
  const folder = args.flag(ATTACHMENTS) ? `${file}.${ATTACHMENTS}` : undefined;
  if (folder !== undefined && exists(folder)) {
    throw new CommandError(`"${folder}" already exists; choose another file name`);
  }
  const source = join(state, "mesh.db");
  if (!exists(source)) {
    throw new CommandError(`There is nothing to back up: "${source}" does not exist`);
  }
  reserveFile(file);
  try {
    onFiles(`Cannot copy to "${file}"`, () => copyDatabase(source, file));
  } catch (error) {
    Deno.removeSync(file);
    throw error;
  }
  // The attachments are copied after the database, so that the copy has every file that the
  // database names, except files that expired meanwhile.
  const files = folder === undefined ? null : copyAttachments(join(state, ATTACHMENTS), folder);
  return { file, bytes: Deno.statSync(file).size, attachments: folder ?? null, files };
}

/** Creates the file exclusively, so that no existing file is overwritten. */
function reserveFile(file: string): void {
  try {
    Deno.openSync(file, { write: true, createNew: true, mode: 0o600 }).close();
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) {
      throw new CommandError(`"${file}" already exists; choose another file name`);
    }
    throw fileRefusal(error, { action: "write", path: file }) ?? error;
  }
}

/**
 * Copies the database as a second reader. In WAL mode the daemon can keep writing meanwhile, and
 * the copy shows the database as it was when copying began. The copy is renamed to `file` once it
 * is complete and checked.
 */
function copyDatabase(source: string, file: string): void {
  const partialFile = `${file}${PARTIAL_SUFFIX}`;
  Deno.openSync(partialFile, { write: true, createNew: true, mode: 0o600 }).close();
  try {
    using from = new DatabaseSync(source, { readOnly: true });
    from.exec(`pragma busy_timeout = ${BUSY_MS_MAX}`);
    from.prepare("vacuum into ?").run(partialFile);
    using copy = new DatabaseSync(partialFile, { readOnly: true });
    mustBeWhole(copy, "the copy");
    syncFile(partialFile);
    Deno.renameSync(partialFile, file);
  } catch (error) {
    Deno.removeSync(partialFile);
    throw error;
  }
  syncDirectory(dirname(file));
}

/** Throws if the database fails SQLite's check. `name` is the subject of the error. */
export function mustBeWhole(database: DatabaseSync, name: string): void {
  const { quick_check } = database.prepare("pragma quick_check(1)").get() ?? {};
  if (quick_check !== "ok") throw new Error(`${name} is damaged: ${quick_check}`);
}

/** Returns the number of copied files; skips unfinished uploads and files that expire meanwhile. */
function copyAttachments(from: string, to: string): number {
  Deno.mkdirSync(to, { mode: 0o700 });
  let count = 0;
  for (const { name, isFile } of exists(from) ? Deno.readDirSync(from) : []) {
    if (!isFile || name.endsWith(PARTIAL_SUFFIX)) continue;
    try {
      Deno.copyFileSync(join(from, name), join(to, name));
      Deno.chmodSync(join(to, name), 0o600);
      syncFile(join(to, name));
      count++;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  syncDirectory(to);
  syncDirectory(dirname(to));
  return count;
}

export function exists(path: string): boolean {
  return unlessMissing(() => Deno.lstatSync(path)) !== undefined;
}
