/** Decides which unix sockets are safe to connect to: only this user and root can replace them. */

import { dirname, join } from "kit/core/path.ts";
import { messageOf } from "kit/core/text.ts";
import { invalidField } from "kit/core/problem.ts";
import { socketPathOf } from "./terminal_addresses.ts";

/** The kernel has the same limit on the number of symbolic links in one path. */
const LINKS_MAX = 40;
const WRITABLE_BY_OTHERS = 0o022;
/**
 * In a sticky folder, only root and the owner of an entry or of the folder may rename or remove the
 * entry.
 */
const STICKY = 0o1000;
const MAKE_PRIVATE = "set its owner to your user and its mode to 0700";

/** `missing`: nothing is at the path, and the existing folders on the way to it are trusted. */
type SocketCheck =
  | { readonly state: "trusted"; readonly path: string }
  | { readonly state: "missing" }
  | SocketRefusal;

type SocketRefusal = {
  readonly state: "refused";
  /** `no_socket`: the path is not a socket. `not_ours`: another user could control it. */
  readonly code: "no_socket" | "not_ours";
  readonly reason: string;
};

type ResolvedPath = {
  readonly state: "found";
  /** The path with all symbolic links resolved. */
  readonly path: string;
  readonly info: Deno.FileInfo;
  readonly folder: Deno.FileInfo;
};

/**
 * Checks that only this user can control a socket. A client depends on its server: a tmux server
 * can make its client run programs, and any server can read what its client sends. A socket is
 * therefore trusted only if this user owns the socket, if only this user can write to its folder,
 * and if every folder and link on the way belongs to this user or root. Connect to the returned
 * `path`, because nobody else can replace that socket after the check. Root trusts only root's own
 * sockets.
 */
export function checkSocket(path: string, uid: number | null = Deno.uid()): SocketCheck {
  const found = resolvePath(path, uid);
  if (found.state !== "found") return found;
  const { info, folder } = found;
  if (!info.isSocket) return refuse(`"${path}" is not a socket`, "no_socket");
  if (info.uid !== uid) return refuse(`"${path}" belongs to user ${info.uid}, not to ${uid}`);
  if (!isPrivate(folder, uid)) {
    const where = dirname(found.path);
    return refuse(`other users may write to its folder "${where}": ${MAKE_PRIVATE}`);
  }
  return { state: "trusted", path: found.path };
}

/** The same for the socket at which a terminal server listens. */
export function checkTerminal(address: string): SocketCheck {
  return checkSocket(socketPathOf(address));
}

/** Throws if a `tmux_socket` is not trusted. A socket that does not exist is accepted. */
export function refuseUntrusted(tmux_socket: string | undefined): void {
  const checked = tmux_socket === undefined ? undefined : checkTerminal(tmux_socket);
  if (checked?.state === "refused") throw invalidField("tmux_socket", checked.reason);
}

/** Why sockets in this folder cannot be trusted; undefined if the folder is only this user's. */
export function whyUnsafeFolder(path: string, uid: number | null = Deno.uid()): string | undefined {
  const found = resolvePath(path, uid);
  if (found.state === "missing") return `there is no folder "${path}"`;
  if (found.state === "refused") return found.reason;
  return found.info.isDirectory && isPrivate(found.info, uid)
    ? undefined
    : `the folder "${path}" is not this user's alone: ${MAKE_PRIVATE}`;
}

/** Resolves a path step by step. Checks each folder before looking up anything in it. */
function resolvePath(
  path: string,
  uid: number | null,
): ResolvedPath | { readonly state: "missing" } | SocketRefusal {
  if (uid === null) return refuse("this system does not report the owners of files");
  if (!path.startsWith("/")) return refuse(`"${path}" is not an absolute path`);
  const isTrusted = ({ uid: owner }: Deno.FileInfo) => owner === uid || owner === 0;
  const steps = path.split("/").filter(isStep);
  try {
    let at = "/", links = 0;
    let info = Deno.lstatSync(at), folder = info;
    for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
      if (!info.isDirectory) return refuse(`"${at}" is not a folder`);
      if (!isTrusted(info)) return refuse(`the folder "${at}" belongs to user ${info.uid}`);
      if (!isProtected(info)) return refuse(`other users may write to the folder "${at}"`);
      const next = step === ".." ? dirname(at) : join(at, step);
      const found = Deno.lstatSync(next);
      if (found.isSymlink) {
        if (!isTrusted(found)) return refuse(`the link "${next}" belongs to user ${found.uid}`);
        if (++links > LINKS_MAX) return refuse(`"${path}" goes through too many links`);
        const target = Deno.readLinkSync(next);
        steps.unshift(...target.split("/").filter(isStep));
        if (!target.startsWith("/")) continue;
        at = "/";
        info = folder = Deno.lstatSync(at);
        continue;
      }
      folder = step === ".." ? found : info;
      at = next;
      info = found;
    }
    return { state: "found", path: at, info, folder };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { state: "missing" };
    return refuse(`"${path}" cannot be checked: ${messageOf(error)}`);
  }
}

function isStep(name: string): boolean {
  return name !== "" && name !== ".";
}

/** True if other users cannot replace the folder's entries. */
function isProtected({ mode }: Deno.FileInfo): boolean {
  return ((mode ?? 0o777) & WRITABLE_BY_OTHERS) === 0 || ((mode ?? 0) & STICKY) !== 0;
}

function isPrivate({ mode, uid: owner }: Deno.FileInfo, uid: number | null): boolean {
  return owner === uid && ((mode ?? 0o777) & WRITABLE_BY_OTHERS) === 0;
}

function refuse(reason: string, code: SocketRefusal["code"] = "not_ours"): SocketRefusal {
  return { state: "refused", code, reason };
}
