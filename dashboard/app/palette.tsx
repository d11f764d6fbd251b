/** The windows of the keyboard: the palette, and the list of keys. */

import { useState } from "preact/hooks";
import { Dialog } from "../components/basics.tsx";
import { visible } from "../components/text/visible.tsx";
import { go, link } from "../state/router.ts";
import { livePeers } from "../state/store.ts";
import { KEYS, overlay, singleKeys, switchSingleKeys } from "./keys.ts";
import { VIEWS } from "./views.ts";

interface Entry {
  readonly title: string;
  readonly hint: string;
  readonly to: string;
}

const SHOWN_MAX = 12;
const close = () => void (overlay.value = "none");

export function Overlays() {
  if (overlay.value === "palette") return <Palette />;
  return overlay.value === "keys" ? <Keys /> : null;
}

function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = search(text);
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    go(entry.to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt(Math.max(0, Math.min(found.length - 1, at + step)));
    else if (event.key === "Enter") choose(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" close={close} plain>
      <input
        class="palette-input"
        role="combobox"
        aria-label="Go to a view or a peer"
        aria-expanded={found.length > 0}
        aria-controls={found.length > 0 ? "palette" : undefined}
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        placeholder="Go to a view or a peer…"
        value={text}
        onInput={(event) => (setText(event.currentTarget.value), setAt(0))}
        onKeyDown={onKeyDown}
      />
      {found.length > 0 && (
        <ul id="palette" role="listbox" aria-label="Places">
          {found.map((entry, index) => (
            <li
              key={entry.to}
              id={`palette-${index}`}
              role="option"
              aria-selected={index === at}
              onClick={() => choose(entry)}
            >
              <bdi>{visible(entry.title)}</bdi>
              <span class="hint">{entry.hint}</span>
            </li>
          ))}
        </ul>
      )}
      {found.length === 0 && <p class="hint" role="status">Nothing has this name.</p>}
    </Dialog>
  );
}

function search(text: string): Entry[] {
  const views = VIEWS.map(({ name, title, key }) => ({ title, hint: `g ${key}`, to: link(name) }));
  const peers = livePeers.value.map(({ peer_id, name, circle, status }) => ({
    title: name,
    hint: `${circle} · ${status}`,
    to: link("peers", peer_id),
  }));
  const start = { title: "Start an agent", hint: "n", to: link("mesh", "", { new: "agent" }) };
  const words = text.toLowerCase().split(/\s+/);
  return [...views, start, ...peers].filter(({ title, hint }) =>
    words.every((word) => `${title} ${hint}`.toLowerCase().includes(word))
  ).slice(0, SHOWN_MAX);
}

function Keys() {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="keys">
        {KEYS.map(([keys, text]) => [
          <dt key={keys}>
            <kbd>{keys}</kbd>
          </dt>,
          <dd key={`${keys} text`}>{text}</dd>,
        ])}
      </dl>
      <label class="switch">
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
