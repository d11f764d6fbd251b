/** `mesh backup`: a copy of the database in one file, taken beside a daemon that goes on. */

import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { messageOf } from "kit/core/text.ts";
import { statePath } from "../../../daemon/host/paths.ts";
import { type Command, JSON_FLAG, type Session, type Words } from "../../command/command.ts";
import { EXIT, Failed } from "../../client/failures.ts";
import { ink, print, printJson } from "../../output/print.ts";

/** How long a daemon that goes down may hold the file to itself. */
const BUSY_MS_MAX = 5000;
/** What a copy is called while it is being made. */
const PART = ".part";
const ATTACHMENTS = "attachments";

export const BACKUP_COMMAND: Command = {
  words: "backup <file>",
  summary: "Copy all that the daemon keeps into a new file, also while it is up",
  about:
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

function backup({ env, terminal }: Session, words: Words): Promise<number> {
  const state = statePath(env);
  const file = resolve(words.text("file"));
  const folder = words.flag(ATTACHMENTS) ? `${file}.${ATTACHMENTS}` : undefined;
  if (folder !== undefined && isThere(folder)) throw new Failed(`"${folder}" is there already`);
  const source = join(state, "mesh.db");
  if (!isThere(source)) throw new Failed(`Nothing to copy: "${source}" is not there`);
  reserve(file);
  try {
    copyDatabase(source, file);
  } catch (fault) {
    Deno.removeSync(file);
    throw new Failed(`Cannot copy to "${file}": ${messageOf(fault)}`);
  }
  // After the database: what it names was there, unless it has expired meanwhile.
  const files = folder === undefined ? null : copyFolder(join(state, ATTACHMENTS), folder);
  const { size } = Deno.statSync(file);
  if (words.flag("json")) {
    printJson(terminal, { file, bytes: size, attachments: folder ?? null, files });
  } else {
    print(terminal, ink("green", "Copied"), ` to ${file} (${size} bytes)`);
    if (folder !== undefined) print(terminal, `and ${files} uploaded files to ${folder}`);
  }
  return Promise.resolve(EXIT.done);
}

/** Takes the name, so that nothing that is there can be lost. */
function reserve(file: string): void {
  try {
    Deno.openSync(file, { write: true, createNew: true, mode: 0o600 }).close();
  } catch (fault) {
    if (fault instanceof Deno.errors.AlreadyExists) {
      throw new Failed(`"${file}" is there already; nothing is overwritten`);
    }
    throw new Failed(`Cannot write "${file}": ${messageOf(fault)}`);
  }
}

/**
 * A second reader of the file: the daemon writes on meanwhile (WAL), and waits for nothing. The
 * copy is what was on the disk when it began. It takes its name once it is whole.
 */
function copyDatabase(source: string, file: string): void {
  const part = `${file}${PART}`;
  Deno.openSync(part, { write: true, createNew: true, mode: 0o600 }).close();
  try {
    const from = new DatabaseSync(source, { readOnly: true });
    try {
      from.exec(`pragma busy_timeout = ${BUSY_MS_MAX}`);
      from.prepare("vacuum into ?").run(part);
    } finally {
      from.close();
    }
    mustBeSound(part);
    sync(part);
    Deno.renameSync(part, file);
  } catch (fault) {
    Deno.removeSync(part);
    throw fault;
  }
  if (Deno.build.os !== "windows") sync(dirname(file));
}

const Verdict = z.object({ quick_check: z.string() });

function mustBeSound(path: string): void {
  const copy = new DatabaseSync(path, { readOnly: true });
  try {
    const { quick_check } = Verdict.parse(copy.prepare("pragma quick_check(1)").get());
    if (quick_check !== "ok") throw new Error(`the copy is damaged: ${quick_check}`);
  } finally {
    copy.close();
  }
}

function sync(path: string): void {
  using opened = Deno.openSync(path);
  opened.syncSync();
}

/** The number of files; unfinished uploads are left out, and so is what expires meanwhile. */
function copyFolder(from: string, to: string): number {
  Deno.mkdirSync(to, { mode: 0o700 });
  let count = 0;
  for (const { name, isFile } of isThere(from) ? Deno.readDirSync(from) : []) {
    if (!isFile || name.endsWith(PART)) continue;
    try {
      Deno.copyFileSync(join(from, name), join(to, name));
      Deno.chmodSync(join(to, name), 0o600);
      count++;
    } catch (fault) {
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    }
  }
  return count;
}

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw fault;
  }
}
