/** Names of peers: reserved ones, defaults, and suffixes that make a name free. */

import { basename } from "kit/core/path.ts";
import { Problem } from "protocol/problems.ts";
import type { Pane } from "../../../host/tmux/pane.ts";
import type { Database, Reader } from "kit/data/sqlite.ts";
import {
  type Address,
  type CircleBoundary,
  isReserved,
  isReservedForHuman,
  isReservedForSurface,
  type Registration,
  type Role,
} from "protocol/peers/record.ts";
import * as rows from "../store.ts";
import { sha256 } from "kit/host/node_library.ts";
import { toAscii } from "./transliteration.ts";
import { looksLike } from "protocol/peers/lookalikes.ts";

const NAME_LENGTH_MAX = 64;

/** The holder of a name: the human may have its own, and surfaces may have it and its aliases. */
interface NameHolder {
  readonly peer_id?: string | undefined;
  readonly role?: Role | undefined;
  readonly isSurface?: boolean | undefined;
}

/** Refuses names that are reserved or look so, or look like the human's name (contract 11). */
export function refuseReserved(db: Reader, name: string, holder: NameHolder = {}): void {
  if (isReservedFor(rows.human(db), name, holder)) throw new Problem("reserved_name", { name });
}

/** Refuses a new tag that reads like a reserved name: `@sam` would look like that name. */
export function refuseReservedTag(db: Reader, tag: string, known: readonly string[] = []): void {
  if (!known.includes(tag)) refuseReserved(db, tag);
}

function isReservedFor(
  human: Address | undefined,
  name: string,
  { peer_id, role, isSurface = false }: NameHolder,
): boolean {
  if (isSurface) return isReservedForSurface(name);
  if (role === "human") return isReservedForHuman(name);
  const isLookalike = human && human.peer_id !== peer_id && looksLike(name, human.name);
  return isLookalike || isReserved(name);
}

/** The ids of the peers whose names are reserved by now, without the human's surfaces. */
export function misnamedPeers(db: Reader): string[] {
  const human = rows.human(db);
  return rows.names(db).flatMap(({ peer_id, name, role }) =>
    isReservedFor(human, name, { peer_id, role, isSurface: role === "service" }) ? [peer_id] : []
  );
}

/** The name that replaces a reserved one. */
export function unreservedName(name: string): string {
  const suffix = "-agent";
  return name.slice(0, NAME_LENGTH_MAX - suffix.length) + suffix;
}

/** The name of the registration. Default: `{folder}-{backend}`. */
export function nameOf({ name, path, backend }: Registration): string {
  if (name) return name;
  const folder = folderName(basename(path)).replace(/^mcp-/, "mcp_"); // `mcp-` is reserved.
  return `${folder.slice(0, NAME_LENGTH_MAX - backend.length - 1)}-${backend}`;
}

/** Number of hex digits that distinguish folders whose names have no readable form. */
const DIGEST_LENGTH = 6;

/** The name of a folder as a part of a name: transliterated, and different for each folder. */
function folderName(folder: string): string {
  if (folder === "") return "root";
  return sanitizeName(toAscii(folder) ?? "") ||
    `folder-${sha256(folder, "hex").slice(0, DIGEST_LENGTH)}`;
}

/** The name of a new peer: a default name that reads like the human's gets an addition. */
export function newName(db: Reader, registration: Registration): string {
  const name = nameOf(registration);
  const { role } = registration;
  const isFree = registration.name || !isReservedFor(rows.human(db), name, { role });
  return isFree ? name : unreservedName(name);
}

/** The circle of peers that have no other one. */
export const DEFAULT_CIRCLE = "default";

/** A registration's circle. Default: the one of its pane, if seen, or tmux session (contract 1). */
export function circleOf(
  { circle, tmux_session = "" }: Registration,
  { boundary, pane_circle }: { boundary: CircleBoundary; pane_circle: string | undefined },
): string {
  if (circle !== undefined) return circle;
  if (boundary === "machine") return DEFAULT_CIRCLE;
  return pane_circle ?? sessionCircle(tmux_session);
}

/** The circle of a pane whose agent names none; undefined if panes decide nothing (contract 1). */
export function circleOfPane(
  { session, window }: Pick<Pane, "session" | "window">,
  boundary: CircleBoundary,
): string | undefined {
  if (boundary === "machine" || session === "") return undefined;
  // `@7` is `window-7`.
  return boundary === "window" ? `window-${window.slice(1)}` : sessionCircle(session);
}

/** The circle of a tmux session. */
export function sessionCircle(session: string): string {
  return sanitizeName(session) || DEFAULT_CIRCLE;
}

/** Maximum length of a suffix: `-` and a number. The limits on peers keep the number shorter. */
const SUFFIX_LENGTH_MAX = 6;

/** The first free name of `name`, `name-2`, `name-3`… in the circle: live peers take names. */
export function freeName(
  db: Database,
  { name, circle, peer_id }: { name: string; circle: string; peer_id: string },
): string {
  if (!rows.isNameTaken(db, { name, circle, peer_id })) return name;
  const taken = takenSuffixes(db, { name, circle, peer_id });
  let suffix = 2;
  while (taken.has(suffix)) suffix++;
  return withSuffix(name, suffix);
}

/** Appends a suffix, and shortens a name that is too long for it. */
function withSuffix(name: string, suffix: number): string {
  const text = `-${suffix}`;
  return name.slice(0, NAME_LENGTH_MAX - text.length) + text;
}

/** The suffixes of a name that other live peers of the circle use. */
function takenSuffixes(
  db: Database,
  { name, ...others }: { name: string; circle: string; peer_id: string },
): ReadonlySet<number | undefined> {
  const part = unsuffixedPart(name);
  const names = rows.takenNames(db, { ...others, prefix: part === name ? `${name}-` : part });
  return new Set(names.map((taken) => suffixOf(taken, name)));
}

/** The part of a name that stays when a suffix is added. */
export function unsuffixedPart(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX - SUFFIX_LENGTH_MAX);
}

/** The suffix that `freeName` added to a wanted name; undefined for any other name. */
function suffixOf(name: string, wanted: string): number | undefined {
  const suffix = Number(name.slice(name.lastIndexOf("-") + 1));
  return suffix >= 2 && name === withSuffix(wanted, suffix) ? suffix : undefined;
}

/** True if `freeName` may have made this name of the wanted name. */
export function isSuffixed(name: string, wanted: string | undefined): boolean {
  return wanted === undefined || name === wanted || suffixOf(name, wanted) !== undefined;
}

function sanitizeName(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^-+|(?<!-)-+$/g, "").slice(
    0,
    NAME_LENGTH_MAX,
  );
}
