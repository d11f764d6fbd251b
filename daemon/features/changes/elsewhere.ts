/** Changes on another machine: what that machine answers is text of a stranger. */

import { showHiddenOnLine } from "kit/core/hidden.ts";
import type * as z from "zod";
import { cleanLine } from "kit/core/text.ts";
import {
  ChangedFile,
  type Changes,
  Changes as ChangesSchema,
  type ChangesQuery,
  LISTED_MAX,
} from "protocol/changes.ts";
import type { Address } from "protocol/peers/record.ts";
import { DETAILS } from "./details.ts";
import { Budget, shownHunks } from "./git/patch.ts";
import { LINES_MAX, SHOWN_BYTES_MAX } from "./git/reader.ts";

/** Reads changes of a peer on another machine, for a person here. */
export interface ChangesElsewhere {
  /** The other machine's answer. Throws `changes_elsewhere` if it refuses or has another form. */
  read(peer: Address, query: ChangesQuery): Promise<unknown>;
}

/** Maximum characters of a name, and of a list of names. */
const NAME_CHARS_MAX = 4_096;
const LEFT_OUT_MAX = 20;

/** The answer within our limits, with our secrets masked; undefined if it has another form. */
export function cleanChanges(answer: unknown, secrets: readonly string[]): Changes | undefined {
  const { data } = ChangesSchema.safeParse(answer);
  if (!data) return undefined;
  const budget = new Budget(SHOWN_BYTES_MAX);
  const files = data.files.slice(0, LISTED_MAX).map((file) => cleanFile(file, secrets, budget));
  return {
    ...data,
    detail: DETAILS[data.state],
    folder: cleanName(data.folder),
    root: cleanName(data.root),
    branch: cleanName(data.branch),
    head: cleanName(data.head),
    base: data.base && {
      ...data.base,
      commit: cleanName(data.base.commit),
      ref: cleanName(data.base.ref),
    },
    operation: cleanName(data.operation),
    files,
    left_out: data.left_out.slice(0, LEFT_OUT_MAX).map(({ what, why }) => ({
      what: cleanName(what) ?? "",
      why: cleanName(why) ?? "",
    })),
    masked: data.masked + budget.masked,
  };
}

function cleanFile(
  file: z.output<typeof ChangedFile>,
  secrets: readonly string[],
  budget: Budget,
): z.output<typeof ChangedFile> {
  const names = {
    path: showHiddenOnLine(file.path.slice(0, NAME_CHARS_MAX)),
    old_path: file.old_path === null
      ? null
      : showHiddenOnLine(file.old_path.slice(0, NAME_CHARS_MAX)),
  };
  if (file.hunks === null || budget.bytes <= 0) {
    return { ...file, ...names, hunks: null, cut: file.cut || file.hunks !== null };
  }
  const shown = shownHunks(file.hunks, { secrets, lines_max: LINES_MAX.alone, budget });
  return { ...file, ...names, ...shown, cut: file.cut || shown.cut };
}

function cleanName<N extends string | null>(name: N): N | string {
  return name === null ? name : cleanLine(name.slice(0, NAME_CHARS_MAX));
}
