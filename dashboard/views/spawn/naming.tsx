/** Fields for names: of a new peer, and of its circle. */

import { livePeers } from "../../state/store.ts";

/** Contract 1. */
const PATTERN = "[A-Za-z0-9._\\-]{1,64}";
const RULE = "1 to 64 letters, digits, dots, underscores or hyphens";

export interface Names {
  readonly name: string;
  readonly circle: string;
}

export function NameField({ label, value, change, required = false, hint, list }: {
  label: string;
  value: string;
  change: (value: string) => void;
  required?: boolean;
  /** The meaning of an empty field. */
  hint?: string;
  /** The id of a list of proposals. */
  list?: string;
}) {
  return (
    <label>
      {label}
      <input
        value={value}
        required={required}
        autofocus={required}
        pattern={PATTERN}
        title={RULE}
        placeholder={hint}
        list={list}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}

/** The name and the circle of a new peer. */
export function NameAndCircle({ names, change, circle_hint }: {
  names: Names;
  change: (part: Partial<Names>) => void;
  circle_hint: string;
}) {
  const circles = [...new Set(livePeers.value.map((peer) => peer.circle))].sort();
  return (
    <div class="tiles fit">
      <NameField
        label="Name"
        value={names.name}
        change={(name) => change({ name })}
        hint="chosen by the daemon"
      />
      <NameField
        label="Circle"
        value={names.circle}
        change={(circle) => change({ circle })}
        hint={circle_hint}
        list="circles"
      />
      <datalist id="circles">
        {circles.map((circle) => <option key={circle} value={circle} />)}
      </datalist>
    </div>
  );
}
