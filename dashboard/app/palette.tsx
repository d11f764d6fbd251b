/** Windows over any view: the palette, the keys, the machines, and the question before a stop. */

import { useState } from "preact/hooks";
import { Dialog } from "../components/basics.tsx";
import { visible } from "../components/text/visible.tsx";
import { go } from "../state/router.ts";
import { Switcher } from "./machines.tsx";
import { StopWindow, stopWindow } from "../views/peer/interrupt.tsx";
import { type Entry, findEntries, useJobs } from "./palette_entries.ts";
import { KEYS, overlay, singleKeys, switchSingleKeys } from "./keys.ts";

const close = () => void (overlay.value = "none");

export function Overlays() {
  const peer = stopWindow.value;
  if (peer) return <StopWindow peer={peer} close={() => void (stopWindow.value = undefined)} />;
  if (overlay.value === "palette") return <Palette />;
  if (overlay.value === "machines") return <Switcher close={close} />;
  return overlay.value === "keys" ? <Keys /> : null;
}

function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = findEntries(text, useJobs());
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    if (typeof entry.to === "string") go(entry.to);
    else entry.to();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt(Math.max(0, Math.min(found.length - 1, at + step)));
    else if (event.key === "Enter") choose(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go or do" close={close} plain>
      <input
        role="combobox"
        aria-label="Go to a view, a peer or a job, or do something"
        aria-expanded
        aria-controls="palette"
        aria-activedescendant={`palette-${at}`}
        placeholder="A view, a peer, a job; restart api; words to search for"
        value={text}
        onInput={(event) => (setText(event.currentTarget.value), setAt(0))}
        onKeyDown={onKeyDown}
      />
      <ul id="palette" role="listbox" aria-label="Places and acts">
        {found.map((entry, index) => (
          <li
            key={`${entry.title} ${entry.hint}`}
            id={`palette-${index}`}
            class="option row between"
            role="option"
            aria-selected={index === at}
            onClick={() => choose(entry)}
          >
            <bdi>{visible(entry.title)}</bdi>
            <span class="hint clip">{visible(entry.hint)}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function Keys() {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="facts">
        {KEYS.map(([keys, text]) => [
          <dt key={keys}>
            <kbd>{keys}</kbd>
          </dt>,
          <dd key={`${keys} text`}>{text}</dd>,
        ])}
      </dl>
      <label class="row">
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={(event) => switchSingleKeys(event.currentTarget.checked)}
        />
        Use keys without Ctrl, ⌘ or Alt
      </label>
    </Dialog>
  );
}
