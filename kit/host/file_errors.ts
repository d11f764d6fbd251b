/**
 * Errors of the file system as refusals: the path, the reason in plain words, and a way out.
 * Imports nothing, so that hooks start fast.
 */

/** A file could not be read, written or removed. The program itself is fine. */
export class FileRefusal extends Error {
  override readonly name = "FileRefusal";
  /** The reason, without the name of the file. */
  readonly reason: string;
  /** The action that fixes it. */
  readonly hint: string;
  /** The name of the error in errno(3), such as `ENOSPC`; undefined if the system gave none. */
  readonly code: string | undefined;

  /** `subject`: the failed operation, such as `Cannot read "/path"`. */
  constructor(
    subject: string,
    reason: string,
    hint: string,
    { cause, code }: { readonly cause?: unknown; readonly code?: string } = {},
  ) {
    super(`${subject}: ${reason}`, { cause });
    this.reason = reason;
    this.hint = hint;
    this.code = code;
  }
}

const READ_ONLY =
  "make it writable; if another program writes it, such as home-manager, change it there";

const UNREADABLE = "make it readable for your user, with the directories above it";

/** The errors that a path, a disk or a permission can cause, by their names in errno(3). */
const REASONS: Readonly<Record<string, { readonly detail: string; readonly hint: string }>> = {
  EACCES: { detail: "permission denied", hint: READ_ONLY },
  EPERM: {
    detail: "the system does not permit it",
    hint: `${READ_ONLY}; a file may be immutable: lsattr shows it, chattr -i ends it`,
  },
  EROFS: { detail: "it is on a read-only file system", hint: READ_ONLY },
  ENOSPC: { detail: "no space is left on the disk", hint: "free disk space, then try again" },
  EDQUOT: { detail: "the disk quota is used up", hint: "free disk space, then try again" },
  EFBIG: { detail: "the file would be too large", hint: "free disk space, then try again" },
  EIO: { detail: "the disk or the file system failed", hint: "check the disk, then try again" },
  EISDIR: { detail: "it is a directory", hint: "move the directory away, or name a file" },
  ENOTDIR: {
    detail: "a part of its path is a file, where a directory is needed",
    hint: "move that file away, or choose another path",
  },
  ENOENT: {
    detail: "it or its directory does not exist",
    hint: "create the directory, or choose another path",
  },
  EEXIST: { detail: "it exists already", hint: "move it away, or choose another path" },
  ENOTEMPTY: { detail: "the directory is not empty", hint: "move its files away, then try again" },
  ELOOP: { detail: "its symbolic links lead in a circle", hint: "remove or correct the link" },
  ENAMETOOLONG: { detail: "the path is too long", hint: "choose a shorter path" },
  EBUSY: { detail: "another program uses it", hint: "end that program, then try again" },
  ETXTBSY: { detail: "another program runs it", hint: "end that program, then try again" },
  EMFILE: { detail: "too many files are open", hint: "raise the limit: ulimit -n" },
  ENFILE: { detail: "too many files are open", hint: "end other programs, then try again" },
  ENXIO: { detail: "it is no file", hint: "move it away, or choose another path" },
  EXDEV: { detail: "it is on another file system", hint: "choose a path on the same disk" },
};

/** Errors that stop all writing: a disk that is full, over quota, read-only or failing. */
export const DISK_ERRORS: ReadonlySet<string> = new Set(
  ["ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO"],
);

type Action = "read" | "write" | "remove" | "create";

/** Runs a file operation; an error of the file system becomes a `FileRefusal` that names `path`. */
export function onFile<T>(action: Action, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileRefusal(error, { action, path }) ?? error;
  }
}

/** Makes a folder for temporary files; refuses with a way out if there is no place for it. */
export function makeTemporaryFolder(prefix: string): string {
  try {
    return Deno.makeTempDirSync({ prefix });
  } catch (error) {
    const refusal = fileRefusal(error, { action: "create", path: prefix });
    if (!refusal) throw error;
    const { reason, hint } = refusal;
    const subject = "Cannot create a folder for temporary files";
    throw new FileRefusal(subject, reason, `${hint}; or set TMPDIR to a directory of yours`, {
      cause: error,
    });
  }
}

/** The refusal for an error of the file system, by default with its own path; else undefined. */
export function fileRefusal(
  error: unknown,
  named?: { readonly action: Action; readonly path: string },
): FileRefusal | undefined {
  if (error instanceof FileRefusal) return error;
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const code = String(error.code);
  const reason = Object.hasOwn(REASONS, code) && REASONS[code];
  const operation = operationOf(error);
  // Errors of sockets and processes may have the same names, but no path.
  const path = named?.path ?? operation;
  if (!reason || (path === undefined && !DISK_ERRORS.has(code))) return undefined;
  const act = `Cannot ${named?.action ?? (DISK_ERRORS.has(code) ? "write" : "use")}`;
  const subject = path === undefined ? act : `${act} "${path}"`;
  const hint = code === "EACCES" && named?.action === "read" ? UNREADABLE : reason.hint;
  return new FileRefusal(subject, reason.detail, hint, { cause: error, code });
}

/** The path in an error of Deno (`…: open '/path'`) or of Node (`path`). */
function operationOf(error: Error): string | undefined {
  if ("path" in error && typeof error.path === "string") return error.path;
  const [, from, to] = /: [a-z_]+ '([^']*)'(?: -> '([^']*)')?$/s.exec(error.message) ?? [];
  return to ?? from;
}

/**
 * Throws if the file or its directory has no write permission. Renaming a new file into place could
 * still succeed, and root may write anything, but somebody protected the file on purpose.
 */
export function mustBeChangeable(path: string, shown = path): void {
  for (const at of [path, path.slice(0, path.lastIndexOf("/")) || "/"]) {
    const mode = modeOf(at);
    if (mode === undefined || (mode & 0o222) !== 0) continue;
    const isMode = `its mode is 0${(mode & 0o777).toString(8)}, so nobody may write it`;
    const detail = at === path ? isMode : "nobody may write its directory";
    throw new FileRefusal(`Cannot write "${shown}"`, detail, READ_ONLY);
  }
}

/** The mode of a file; undefined if it does not exist, or if the system has no modes. */
function modeOf(path: string): number | undefined {
  return onFile("read", path, () => unlessMissing(() => Deno.statSync(path).mode)) ?? undefined;
}

/** Runs an operation; undefined if it fails with an expected error. */
export function unlessError<T>(
  isExpected: (error: unknown) => boolean,
  operation: () => T,
): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** Runs a file operation; undefined if the file does not exist. */
export function unlessMissing<T>(operation: () => T): T | undefined {
  return unlessError((error) => error instanceof Deno.errors.NotFound, operation);
}
