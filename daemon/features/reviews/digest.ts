/**
 * The digest of a diff: the same for the same changes, committed or not, and another one if a byte
 * of a changed file differs. Files that git has not read yet are hashed here as git does it.
 */

import { dirname, join } from "kit/core/path.ts";
import { crypto } from "kit/host/node_library.ts";
import { readBytes } from "../../host/agent_files.ts";
import type { FolderList } from "../changes/changes.ts";
import { realPath, statOf } from "../changes/git/repository.ts";
import { type FoundFile, isOrdinary } from "../changes/git/reader.ts";

/** Maximum bytes of a file, and of all files of a folder, that are hashed. */
const FILE_BYTES_MAX = 4_194_304;
const FOLDER_BYTES_MAX = 33_554_432;

export interface DiffDigest {
  /** Null if the list of the changed files is not complete. */
  readonly digest: string | null;
  /** The reason why the comparison is not exact. */
  readonly inexact: string | null;
}

export function digestOf({ repository: { root }, changes }: FolderList): DiffDigest {
  const { files, files_total, left_out } = changes;
  if (files_total > files.length || left_out.length > 0) {
    const reason = left_out.map(({ what, why }) => `${what}: ${why}`).join("; ");
    return { digest: null, inexact: `not all changed files are known (${reason})` };
  }
  const isSha256 = (changes.head?.length ?? 0) > 40;
  const hashing = { algorithm: isSha256 ? "sha256" : "sha1", bytes: FOLDER_BYTES_MAX, unread: 0 };
  const entries = files.flatMap((file) => entriesOf(root, file, hashing)).toSorted();
  const digest = crypto().createHash("sha256").update(entries.join("\0\0")).digest("hex");
  const { unread } = hashing;
  if (unread === 0) return { digest, inexact: null };
  const what = unread === 1 ? "1 large file is" : `${unread} large files are`;
  return { digest, inexact: `${what} compared by size and time, not by content` };
}

/** The algorithm of the repository's ids, the room that is left, and the files beyond it. */
interface Hashing {
  readonly algorithm: string;
  bytes: number;
  unread: number;
}

/** A moved file counts as one that is deleted and one that is added, as before its commit. */
function entriesOf(root: string, found: FoundFile, hashing: Hashing): string[] {
  const { path, old_path, before_id, file: { status } } = found;
  const before = isKnown(before_id) ? before_id : "";
  if (status === "deleted") return [entry(path, before, "", "")];
  const { mode, id } = contentOf(root, found, hashing);
  return old_path === null
    ? [entry(path, before, mode, id)]
    : [entry(old_path, before, "", ""), entry(path, "", mode, id)];
}

function entry(...parts: readonly [path: string, before: string, mode: string, id: string]) {
  return parts.join("\0");
}

function isKnown(id: string): boolean {
  return /[1-9a-f]/.test(id);
}

function contentOf(root: string, found: FoundFile, hashing: Hashing): { mode: string; id: string } {
  const { path, after_id, file: { status } } = found;
  if (isKnown(after_id) || status === "submodule") return { mode: found.mode, id: after_id };
  const full = join(root, path);
  const stat = statOf(full);
  const isInside = isOrdinary(path) && realPath(dirname(full)) === dirname(full);
  if (!stat || !isInside) {
    hashing.unread++;
    return { mode: found.mode, id: "" };
  }
  if (stat.isSymlink) {
    const target = new TextEncoder().encode(Deno.readLinkSync(full));
    return { mode: "120000", id: blobId(target, hashing.algorithm) };
  }
  const mode = ((stat.mode ?? 0) & 0o100) === 0 ? "100644" : "100755";
  const isSmall = stat.size <= Math.min(FILE_BYTES_MAX, hashing.bytes);
  const bytes = isSmall ? readBytes(full, FILE_BYTES_MAX, { inside: root }) : undefined;
  if (bytes) {
    hashing.bytes -= bytes.length;
    return { mode, id: blobId(bytes, hashing.algorithm) };
  }
  hashing.unread++;
  return { mode, id: `${stat.size} ${stat.mtime?.getTime() ?? 0}` };
}

/** git's id of a file's content. */
function blobId(bytes: Uint8Array, algorithm: string): string {
  const hash = crypto().createHash(algorithm);
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** git's id of a file of a folder as it is now; null if it is too large or no file. */
export function fileId({ repository: { root }, changes }: FolderList, found: FoundFile) {
  const algorithm = (changes.head?.length ?? 0) > 40 ? "sha256" : "sha1";
  const { id } = contentOf(root, found, { algorithm, bytes: FILE_BYTES_MAX, unread: 0 });
  return /^[0-9a-f]{40,64}$/.test(id) ? id : null;
}
