/** Reads the changes of a folder as the daemon does, without its permissions. */

import type { ChangedFile } from "protocol/changes.ts";
import {
  type FolderChanges,
  listChanges,
  readHunks,
} from "../../../daemon/features/changes/git/reader.ts";
import { findRepository } from "../../../daemon/features/changes/git/repository.ts";
import { realGit } from "./repository.ts";

export type ReadChanges = Omit<FolderChanges, "files"> & {
  readonly files: readonly ChangedFile[];
  readonly masked: number;
};

/** Refuses a folder without a repository. */
export async function changesIn(
  folder: string,
  { git: host = realGit, signal = new AbortController().signal } = {},
): Promise<ReadChanges> {
  const repository = findRepository(folder);
  if (typeof repository === "string") throw new Error(repository);
  const { files, ...listed } = await listChanges(repository, folder, { host, signal });
  const request = { base: listed.base, files, alone: false };
  const shown = await readHunks(repository, request, { host, secrets: [], signal });
  return { ...listed, ...shown, left_out: [...listed.left_out, ...shown.left_out] };
}

/** Each file in one line: its status, its path and its counts. */
export function summary({ files }: Pick<ReadChanges, "files">): string[] {
  return files.map(({ status, path, added, removed, binary }) =>
    binary ? `${status} ${path} binary` : `${status} ${path} +${added} -${removed}`
  );
}

/** All changed lines of a file, without the lines around them. */
export function changedLines({ files }: Pick<ReadChanges, "files">, path: string): string[] {
  const file = files.find((found) => found.path === path);
  return (file?.hunks ?? []).flatMap(({ lines }) => lines).filter((line) => !line.startsWith(" "));
}
