/**
 * Reads and replaces a settings file of another program. A link stays a link. A replacement is
 * atomic and keeps mode and owner. Every failure is a refusal that names the file.
 */

import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  writeSync,
} from "node:fs";
import { dirname } from "kit/core/path.ts";
import { syncDirectory } from "kit/host/durable_files.ts";
import { FileRefusal, mustBeChangeable, onFile, unlessMissing } from "kit/host/file_errors.ts";
import { removeIfPresent } from "../../../host/paths.ts";

const BACKUP = ".mesh-backup";
/** Mode of a new file: owner only, because it may hold the daemon's token. */
const NEW_FILE_MODE = 0o600;
/** Maximum size of a settings file; no real one is larger. */
const BYTES_MAX = 64 * 1_048_576;

interface TextFile {
  /** The path with all links resolved, which is read and replaced. */
  readonly real: string;
  /** Undefined if there is no file. */
  readonly text: string | undefined;
}

/** Reads a UTF-8 file, including its byte order mark. */
export function readFile(path: string): TextFile {
  const real = onFile("read", path, () => realPathOf(path));
  return { real, text: readText(real, path) };
}

/** Reads a file by its resolved path; refusals name it `shown`. */
export function readText(real: string, shown: string): string | undefined {
  const bytes = onFile("read", shown, () => {
    const info = unlessMissing(() => Deno.statSync(real));
    if (!info) return undefined;
    // Opening a named pipe would wait for its writer.
    if (!info.isFile && !info.isDirectory) {
      throw fileRefusal(shown, "it is a pipe, a socket or a device, not a file", "move it away");
    }
    if (info.size > BYTES_MAX) {
      throw fileRefusal(shown, "it is larger than 64 MB, which no settings are", "check the file");
    }
    return unlessMissing(() => Deno.readFileSync(real));
  });
  return bytes && decode(bytes, shown);
}

function decode(bytes: Uint8Array, shown: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw fileRefusal(shown, "it is not UTF-8 text", "convert it to UTF-8; it was left as it is");
  }
}

/** The copy of the first version, if there is one. A link does not count: we never make one. */
export function readBackup(real: string): string | undefined {
  const path = real + BACKUP;
  return hasBackup(real) ? readText(path, path) : undefined;
}

function hasBackup(real: string): boolean {
  return unlessMissing(() => Deno.lstatSync(real + BACKUP))?.isFile ?? false;
}

/** Resolves links. Refuses a dangling link, because a replacement would hide its target. */
function realPathOf(path: string): string {
  const info = unlessMissing(() => Deno.lstatSync(path));
  if (!info) {
    // The folder may be a link, too.
    const folder = unlessMissing(() => Deno.realPathSync(dirname(path)));
    return folder === undefined ? path : `${folder}/${path.slice(path.lastIndexOf("/") + 1)}`;
  }
  const real = unlessMissing(() => Deno.realPathSync(path));
  if (real !== undefined) return real;
  const detail = `it is a link to "${Deno.readLinkSync(path)}", which does not exist`;
  throw fileRefusal(path, detail, "create that file, or remove the link");
}

function fileRefusal(path: string, detail: string, hint: string): FileRefusal {
  return new FileRefusal(`Cannot use "${path}"`, detail, hint);
}

/** Throws if `replaceFile` would fail, as far as can be known without writing. */
export function mustBeWritable(real: string, shown: string): void {
  const named = real === shown ? shown : `${shown}", a link to "${real}`;
  onFile("write", named, () => {
    mustBeChangeable(real, named);
    let folder = dirname(real);
    while (folder !== "/" && !unlessMissing(() => Deno.statSync(folder))) folder = dirname(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  });
}

interface Replacement {
  /** The text that the change is based on. */
  readonly before: string | undefined;
  /** Undefined removes the file. */
  readonly after: string | undefined;
  /** True to delete the copy of the first version afterwards. False to make it if it is missing. */
  readonly undo: boolean;
  /** The path in a refusal. */
  readonly shown: string;
}

/** Replaces the file. If its text is no longer `before`, changes nothing and returns false. */
export function replaceFile(real: string, change: Replacement): boolean {
  const { before, after, undo, shown } = change;
  return onFile("write", shown, () => {
    if (after === undefined) {
      if (readText(real, shown) !== before) return false;
      Deno.removeSync(real);
    } else {
      if (!undo && before !== undefined && !hasBackup(real)) copy(real, real + BACKUP);
      if (!swap(real, after, change)) return false;
      syncDirectory(dirname(real));
    }
    if (undo && hasBackup(real)) Deno.removeSync(real + BACKUP);
    return true;
  });
}

function swap(real: string, after: string, { before, shown }: Replacement): boolean {
  const temporary = `${real}.mesh-${Deno.pid}`;
  try {
    const template = before === undefined ? undefined : Deno.statSync(real);
    write(temporary, new TextEncoder().encode(after), template);
    if (readText(real, shown) !== before) return false;
    Deno.renameSync(temporary, real);
    return true;
  } finally {
    removeIfPresent(temporary); // Still there only if the file was not replaced.
  }
}

/** Copies a file. Deletes a partial copy, which would later count as the first version. */
function copy(path: string, to: string): void {
  try {
    write(to, Deno.readFileSync(path), Deno.statSync(path));
  } catch (error) {
    removeIfPresent(to);
    throw error;
  }
}

/**
 * Writes a new file with the mode and owner of the replaced file. Root may run this in the home of
 * another user, who may plant links. Therefore it follows no link, and sets mode and owner on the
 * open file.
 */
function write(path: string, bytes: Uint8Array, template: Deno.FileInfo | undefined): void {
  Deno.mkdirSync(dirname(path), { recursive: true });
  const mode = (template?.mode ?? NEW_FILE_MODE) & 0o777;
  removeIfPresent(path);
  const file = openSync(path, "wx", 0o600);
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
    if (template && template.uid !== null && template.gid !== null && template.uid !== Deno.uid()) {
      fchownSync(file, template.uid, template.gid);
    }
    if (Deno.build.os !== "windows") fchmodSync(file, mode);
  } finally {
    closeSync(file);
  }
}
