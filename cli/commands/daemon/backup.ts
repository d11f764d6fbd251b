/** `mesh backup`: a copy of the database in one file, taken beside a daemon that goes on. */

import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { messageOf } from "kit/core/text.ts";
import { statePath } from "../../../daemon/host/paths.ts";
import { type Args, type Command, type CommandContext, JSON_FLAG } from "../../command/command.ts";
import { CommandError, EXIT } from "../../client/failures.ts";
import { print, printJson, styled } from "../../output/terminal.ts";

/** How long a daemon that goes down may hold the file to itself. */
const BUSY_MS_MAX = 5000;
/** What a copy is called while it is being made. */
const PARTIAL_SUFFIX = ".part";
const ATTACHMENTS = "attachments";

export const BACKUP_COMMAND: Command = {
  usage: "backup <file>",
  summary: "Copy all that the daemon keeps into a new file, also while it is up",
  details:
    "The file holds peers, asks, inbox, events and the daemon's own keys: keep it as safe as " +
    "they are. It does not hold the configuration, nor uploaded files without --attachments. To " +
    "restore it, put it as mesh.db into an empty directory of mode 0700, and start the daemon " +
    "there: MESH_STATE=<directory> mesh up. Two daemons must not go on from one copy.",
  flags: {
    "--attachments": "copy uploaded files too, into <file>.attachments; to restore them, " +
      "put them into `attachments` beside mesh.db",
    ...JSON_FLAG,
  },
  example: "mesh backup ~/mesh-backup.db --attachments",
  run: backup,
};

function backup({ env, terminal }: CommandContext, args: Args): Promise<number> {
  const state = statePath(env);
  const file = resolve(args.text("file"));
  const folder = args.flag(ATTACHMENTS) ? `${file}.${ATTACHMENTS}` : undefined;
  if (folder !== undefined && exists(folder)) {
    throw new CommandError(`"${folder}" is there already`);
  }
  const source = join(state, "mesh.db");
  if (!exists(source)) throw new CommandError(`Nothing to copy: "${source}" is not there`);
  reserveFile(file);
  try {
    copyDatabase(source, file);
  } catch (error) {
    Deno.removeSync(file);
    throw new CommandError(`Cannot copy to "${file}": ${messageOf(error)}`);
  }
  // After the database: what it names was there, unless it has expired meanwhile.
  const files = folder === undefined ? null : copyAttachments(join(state, ATTACHMENTS), folder);
  const { size } = Deno.statSync(file);
  if (args.flag("json")) {
    printJson(terminal, { file, bytes: size, attachments: folder ?? null, files });
  } else {
    print(terminal, styled("green", "Copied"), ` to ${file} (${size} bytes)`);
    if (folder !== undefined) print(terminal, `and ${files} uploaded files to ${folder}`);
  }
  return Promise.resolve(EXIT.done);
}

/** Takes the name, so that nothing that is there can be lost. */
function reserveFile(file: string): void {
  try {
    Deno.openSync(file, { write: true, createNew: true, mode: 0o600 }).close();
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) {
      throw new CommandError(`"${file}" is there already; nothing is overwritten`);
    }
    throw new CommandError(`Cannot write "${file}": ${messageOf(error)}`);
  }
}

/**
 * A second reader of the file: the daemon writes on meanwhile (WAL), and waits for nothing. The
 * copy is what was on the disk when it began. It takes its name once it is whole.
 */
function copyDatabase(source: string, file: string): void {
  const partialFile = `${file}${PARTIAL_SUFFIX}`;
  Deno.openSync(partialFile, { write: true, createNew: true, mode: 0o600 }).close();
  try {
    const from = new DatabaseSync(source, { readOnly: true });
    try {
      from.exec(`pragma busy_timeout = ${BUSY_MS_MAX}`);
      from.prepare("vacuum into ?").run(partialFile);
    } finally {
      from.close();
    }
    mustPassIntegrityCheck(partialFile);
    fsync(partialFile);
    Deno.renameSync(partialFile, file);
  } catch (error) {
    Deno.removeSync(partialFile);
    throw error;
  }
  if (Deno.build.os !== "windows") fsync(dirname(file));
}

const IntegrityCheck = z.object({ quick_check: z.string() });

function mustPassIntegrityCheck(path: string): void {
  const copy = new DatabaseSync(path, { readOnly: true });
  try {
    const { quick_check } = IntegrityCheck.parse(copy.prepare("pragma quick_check(1)").get());
    if (quick_check !== "ok") throw new Error(`the copy is damaged: ${quick_check}`);
  } finally {
    copy.close();
  }
}

function fsync(path: string): void {
  using opened = Deno.openSync(path);
  opened.syncSync();
}

/** The number of files; unfinished uploads are left out, and so is what expires meanwhile. */
function copyAttachments(from: string, to: string): number {
  Deno.mkdirSync(to, { mode: 0o700 });
  let count = 0;
  for (const { name, isFile } of exists(from) ? Deno.readDirSync(from) : []) {
    if (!isFile || name.endsWith(PARTIAL_SUFFIX)) continue;
    try {
      Deno.copyFileSync(join(from, name), join(to, name));
      Deno.chmodSync(join(to, name), 0o600);
      count++;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return count;
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
