/** The changes in a folder: the commit that they count from, and the files with their lines. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { FoldRow } from "./act/fold_row.tsx";
import { changesTitle, countsText } from "protocol/derived/changes.ts";
import type { ChangedFile, Changes } from "../state/records.ts";
import { useFold } from "./act/folds.ts";
import { Act, Age, Empty, State } from "./basics.tsx";
import { Counts } from "./counts.tsx";
import { Copy } from "./copy.tsx";
import { Diff, type LineParts } from "./diff.tsx";
import { visible } from "./text/visible.tsx";

/** Files whose lines are shown at first, if there are no more lines than this in all. */
const OPEN_FILES_MAX = 10;
const OPEN_LINES_MAX = 300;

export interface ChangesProps {
  readonly changes: Changes;
  /** Identifies the folder among those whose files the reader has unfolded. */
  readonly id: string;
  /** Loads one file with its lines. */
  readonly loadFile: (path: string) => Promise<ChangedFile | undefined>;
  readonly refresh: () => void;
  /** Shows which agents used a file, by its absolute path. */
  readonly usesOf?: (path: string) => ComponentChildren;
  /** For changes whose lines can be commented on or traced. */
  readonly linesOf?: (path: string) => LineParts;
}

export function ChangesView(
  { changes, id, loadFile, refresh, usesOf, linesOf }: ChangesProps,
) {
  const { state, root, files, left_out, added, removed, read_at } = changes;
  if (state !== "ok") return <NoChanges changes={changes} refresh={refresh} />;
  const isOpen = files.length <= OPEN_FILES_MAX && added + removed <= OPEN_LINES_MAX;
  return (
    <>
      <header class="stack tight">
        <p>
          <strong>{visible(changesTitle(changes))}</strong>
        </p>
        <Place changes={changes} />
        <p class="hint">
          Read <Age at={read_at} suffix=" ago" />{" "}
          <button type="button" class="quiet" onClick={refresh}>Read again</button>
        </p>
      </header>
      {left_out.map(({ what, why }) => (
        <p key={what} class="rail warn warning">Left out: {visible(what)}: {visible(why)}</p>
      ))}
      {files.length === 0 && (
        <Empty title="Nothing has changed">
          Commits since the branch point, and files that are changed, staged or new appear here.
        </Empty>
      )}
      <ol class="stack tight">
        {files.map((file) => (
          <li key={file.path} class="changed-file">
            <FileChanges
              file={file}
              id={id}
              isOpenAtFirst={isOpen}
              loadFile={loadFile}
              lines={linesOf?.(file.path)}
            >
              {usesOf && <Users uses={() => usesOf(`${root}/${file.path}`)} />}
            </FileChanges>
          </li>
        ))}
      </ol>
    </>
  );
}

function Place(
  { changes: { folder, root, branch, operation } }: { changes: Changes },
) {
  return (
    <p class="where hint">
      <bdi>{visible(folder ?? "")}</bdi> ·{" "}
      {branch === null ? "no branch (detached)" : <bdi>{visible(branch)}</bdi>}
      {operation !== null && (
        <>
          {" "}
          <State of={`${operation} not finished`} tone="warn" />
        </>
      )}
      {folder !== root && " · only changes in this folder of the repository"}
    </p>
  );
}

const ADVICE: Readonly<Record<string, string>> = {
  no_repository: "Run git init in the folder, or start the agent in a repository, to see here " +
    "what it changes.",
  bare: "Start the agent in a clone or a worktree of it.",
  git_missing: "Install git there to see here what changes.",
  elsewhere: "An agent could have made these links. Clone the repository without alternates.",
  too_slow: "Try again when the machine has less to do.",
};

function NoChanges({ changes, refresh }: { changes: Changes; refresh: () => void }) {
  const { state, detail, folder } = changes;
  return (
    <Empty title={detail ?? state}>
      {folder !== null && (
        <p>
          <bdi>{visible(folder)}</bdi>
        </p>
      )}
      <p>{ADVICE[state]}</p>
      <button type="button" onClick={refresh}>Read again</button>
    </Empty>
  );
}

function FileChanges(
  { file, id, isOpenAtFirst, loadFile, lines, children }: {
    file: ChangedFile;
    id: string;
    isOpenAtFirst: boolean;
    loadFile: ChangesProps["loadFile"];
    lines?: LineParts | undefined;
    children: ComponentChildren;
  },
) {
  const [isOpen, turn] = useFold(`changes/${id}/${file.path}`, isOpenAtFirst);
  const { path, old_path, status, uncommitted, binary } = file;
  const counts = binary ? "binary" : countsText(file);
  return (
    <>
      <FoldRow open={isOpen} turn={turn}>
        <State of={status} tone={status === "unmerged" ? "bad" : "calm"} />
        <bdi class="changed-path argument">
          {old_path !== null && <>{visible(old_path)} →{" "}</>}
          {visible(path)}
        </bdi>
        {uncommitted !== null && status !== "untracked" && (
          <span class="kind hint">{uncommitted === "both" ? "staged, unstaged" : uncommitted}</span>
        )}
        <Counts text={counts} />
      </FoldRow>
      {isOpen && <Lines file={file} loadFile={loadFile} lines={lines}>{children}</Lines>}
    </>
  );
}

/** Shown on request, because the daemon then reads the newest entries of all sessions. */
function Users({ uses }: { uses: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return isOpen
    ? uses()
    : <button type="button" onClick={() => setOpen(true)}>Who uses it?</button>;
}

/** The lines of a file; all of them that the daemon gives, if the reader asks for more. */
function Lines(
  { file: listed, loadFile, lines, children }: Pick<ChangesProps, "loadFile"> & {
    file: ChangedFile;
    lines?: LineParts | undefined;
    children: ComponentChildren;
  },
) {
  const [loaded, setLoaded] = useState<ChangedFile>();
  // A file that has changed since is shown as it is now.
  const file = loaded?.added === listed.added && loaded.removed === listed.removed
    ? loaded
    : listed;
  const { path, old_path, added, removed, hunks, cut, binary, status } = file;
  const isMissing = !binary && status !== "submodule" && (hunks === null || cut);
  const more = async () => setLoaded(await loadFile(path));
  return (
    <div class="changed-lines rail stack">
      {hunks && hunks.length > 0 && (
        <Diff
          lines={lines}
          file={{
            path,
            old_path: old_path ?? undefined,
            added: added ?? 0,
            removed: removed ?? 0,
            hunks,
          }}
        />
      )}
      {binary && <p class="hint">Not a text, or too large to be shown.</p>}
      {status === "submodule" && <p class="hint">Another commit of the submodule.</p>}
      {hunks?.length === 0 && !binary && !cut && <p class="hint">No changed lines.</p>}
      <footer>
        {isMissing && file !== loaded && <Act run={more}>Show its lines</Act>}
        {isMissing && file === loaded && (
          <p class="hint">Some lines are left out: the file has too many changes.</p>
        )}
        <Copy text={path} label="Copy its path" />
        {children}
      </footer>
    </div>
  );
}
