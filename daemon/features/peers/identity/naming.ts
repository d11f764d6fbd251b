/** Names of peers: reserved ones, defaults, and suffixes that make a name free. */

import { basename } from "kit/core/path.ts";
import { Problem } from "kit/core/problem.ts";
import type { Database } from "kit/data/sqlite.ts";
import {
  type CircleBoundary,
  isReserved,
  type Registration,
  ROLES_OF_ALL_CIRCLES,
} from "../schemas.ts";
import * as rows from "../store.ts";
import { looksLike } from "./lookalikes.ts";

const NAME_LENGTH_MAX = 64;

/**
 * Refuses names that are reserved or look like the human's name (contract 2). The human itself may
 * have its name.
 */
export function refuseReserved(db: Database, name: string, peer_id?: string): void {
  const human = rows.human(db);
  const isLookalike = human !== undefined && human.peer_id !== peer_id &&
    looksLike(name, human.name);
  if (isReserved(name) || isLookalike) throw new Problem("reserved_name", { name });
}

/** The given name, else `{folder}-{backend}`. */
export function nameOf({ name, path, backend }: Registration): string {
  if (name) return name;
  const folder = sanitizeName(basename(path)).replace(/^mcp-/, "mcp_") || "root"; // `mcp-` is reserved.
  return `${folder.slice(0, NAME_LENGTH_MAX - backend.length - 1)}-${backend}`;
}

/** The circle of peers that have no other one. */
const DEFAULT_CIRCLE = "default";

/** Where the circle of a registration that names none comes from. */
export interface TmuxCircles {
  readonly boundary: CircleBoundary;
  readonly window_circle: string | undefined;
}

/** The given circle, else that of the tmux window or session (contract 1). */
export function circleOf(
  { circle, tmux_session = "" }: Registration,
  { boundary, window_circle }: TmuxCircles,
): string {
  if (circle !== undefined) return circle;
  if (boundary === "machine") return DEFAULT_CIRCLE;
  return window_circle ?? (sanitizeName(tmux_session) || DEFAULT_CIRCLE);
}

/** `name`, or `name-2`, `name-3`… if a peer that is not offline has it in the circle. */
export function freeName(
  db: Database,
  { name, circle, peer_id }: { name: string; circle: string; peer_id: string },
): string {
  for (let suffix = 1;; suffix++) {
    const suffixText = suffix === 1 ? "" : `-${suffix}`;
    const candidate = name.slice(0, NAME_LENGTH_MAX - suffixText.length) + suffixText;
    const isTaken = rows.byName(db, candidate).some((other) =>
      other.peer_id !== peer_id && other.status !== "offline" &&
      (other.circle === circle || ROLES_OF_ALL_CIRCLES.includes(other.role))
    );
    if (!isTaken) return candidate;
  }
}

/** Whether `freeName` may have made a name of this wanted one. */
export function isSuffixed(name: string, wanted: string | undefined): boolean {
  if (wanted === undefined || name === wanted) return true;
  const [base = ""] = name.split(/-\d+$/);
  return wanted === base || (wanted.length === NAME_LENGTH_MAX && wanted.startsWith(base));
}

function sanitizeName(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^-+|(?<!-)-+$/g, "").slice(
    0,
    NAME_LENGTH_MAX,
  );
}
