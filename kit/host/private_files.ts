/** Protects files that hold secrets or settings from other users of this machine. */

import { unlessMissing } from "./file_errors.ts";

/** A file or directory that other users could read or write, and its mode after the change. */
export interface ExposedPath {
  readonly path: string;
  /** In octal, such as `0644`. */
  readonly mode: string;
  /** Undefined if the mode could not be changed. */
  readonly changed_to: string | undefined;
}

const OTHERS_ACCESS = 0o077;
const OTHERS_WRITE = 0o022;

/**
 * Sets the mode of a file to 0600, or of a directory to 0700. Follows a symbolic link. Undefined if
 * the path does not exist or its mode is private already. Throws if the path belongs to neither
 * this user nor root, or if other users can write to it and the mode cannot be changed. If other
 * users can read a file but not write to it, `mayStayReadable` decides whether the mode may stay.
 */
export function makePrivate(
  path: string,
  mayStayReadable: () => boolean = () => false,
): ExposedPath | undefined {
  const info = unlessMissing(() => Deno.statSync(path));
  if (!info || info.mode === null) return undefined; // Windows has no modes.
  mustBeTrustedOwner(path, info.uid);
  const privateMode = info.isDirectory ? 0o700 : 0o600;
  if ((info.mode & OTHERS_ACCESS) === 0) return undefined;
  if ((info.mode & OTHERS_WRITE) === 0 && mayStayReadable()) return undefined;
  const mode = toModeText(info.mode);
  if (tryChmod(path, privateMode)) return { path, mode, changed_to: toModeText(privateMode) };
  if ((info.mode & OTHERS_WRITE) === 0) return { path, mode, changed_to: undefined };
  throw new Error(
    `${path} has mode ${mode}, so other users can write it, and the mode cannot be changed; ` +
      `run: chmod ${toModeText(privateMode)} ${path}`,
  );
}

/** Throws if the path exists and belongs to neither this user nor root. */
export function mustBeOwned(path: string): void {
  const info = unlessMissing(() => Deno.statSync(path));
  if (info) mustBeTrustedOwner(path, info.uid);
}

function mustBeTrustedOwner(path: string, owner: number | null): void {
  const uid = Deno.uid();
  if (owner === null || uid === null || owner === uid || owner === 0) return;
  throw new Error(
    `${path} belongs to user ${owner}, and this program runs as user ${uid}; ` +
      `if it is yours, run: chown ${uid} ${path}`,
  );
}

function tryChmod(path: string, mode: number): boolean {
  try {
    Deno.chmodSync(path, mode);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable || !(error instanceof Error)) throw error;
    return false; // The file belongs to root, or the file system is read-only.
  }
}

function toModeText(mode: number): string {
  return `0${(mode & 0o777).toString(8)}`;
}
