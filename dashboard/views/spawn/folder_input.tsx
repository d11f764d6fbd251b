/** A field for a folder: completes paths within the folders in which agents may start. */

import { useEffect, useRef, useState } from "preact/hooks";
import { visible } from "../../components/text/visible.tsx";
import { call, errorText } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";

/** The pause in typing after which the daemon is asked. */
const DELAY_MS = 120;

interface FolderList {
  readonly folders: readonly string[];
  readonly truncated: boolean;
  /** The reason why nothing can be listed. */
  readonly problem?: string;
}

const NONE: FolderList = { folders: [], truncated: false };

/** The folders that the text may become; loaded after a pause in typing. */
function useFolders(prefix: string, active: boolean): FolderList {
  const [found, setFound] = useState(NONE);
  useEffect(() => {
    if (!active) return;
    const controller = new AbortController();
    const { signal } = controller;
    const timer = setTimeout(async () => {
      try {
        setFound(await call(at.listFolders, { query: { prefix }, signal }));
      } catch (error) {
        if (!signal.aborted) setFound({ ...NONE, problem: errorText(error) });
      }
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [prefix, active]);
  return active ? found : NONE;
}

export function FolderInput(
  { value, change }: { value: string; change: (folder: string) => void },
) {
  const [open, setOpen] = useState(false);
  const [marked, setMarked] = useState(-1);
  const { folders, truncated, problem } = useFolders(value, open);
  const shown = folders.filter((folder) => folder !== value);
  const edit = (text: string) => {
    change(text);
    setMarked(-1);
    setOpen(true);
  };
  /** Goes into the folder: the next list shows its contents. */
  const choose = (folder: string) => edit(folder.endsWith("/") ? folder : `${folder}/`);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const folder = shown[marked];
    if (step !== undefined) {
      setOpen(true);
      setMarked(Math.max(-1, Math.min(shown.length - 1, marked + step)));
    } else if (event.key === "Enter" && open && folder !== undefined) choose(folder);
    else if (event.key === "Escape" && open && shown.length > 0) setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const expanded = open && shown.length > 0;
  return (
    <div class="combobox">
      <label>
        Folder
        <input
          value={value}
          required
          autofocus
          role="combobox"
          aria-expanded={expanded}
          aria-controls="folders"
          aria-autocomplete="list"
          aria-activedescendant={expanded && marked >= 0 ? `folder-${marked}` : undefined}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => edit(event.currentTarget.value)}
          onClick={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
        />
      </label>
      {expanded && <FolderList folders={shown} marked={marked} choose={choose} />}
      <p class="hint" role="status">
        {problem ?? (truncated ? "There are more folders; keep typing to find them." : "")}
      </p>
    </div>
  );
}

function FolderList(
  { folders, marked, choose }: {
    folders: readonly string[];
    marked: number;
    choose: (folder: string) => void;
  },
) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [marked]);
  return (
    <ul id="folders" class="popup" role="listbox" aria-label="Folders" ref={list}>
      {folders.map((folder, index) => (
        <li
          key={folder}
          id={`folder-${index}`}
          class="option"
          role="option"
          aria-selected={index === marked}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => choose(folder)}
        >
          <bdi>{visible(folder)}</bdi>
        </li>
      ))}
    </ul>
  );
}
