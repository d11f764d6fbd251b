/** Labelled fields of a form: a list to choose from, and a text that may be left out. */

import type { ComponentChildren } from "preact";

/** A choice from a list; it reports only values of the list. */
export function SelectField<T extends string>(
  { label, value, options, choose }: {
    label: string;
    value: T | undefined;
    options: readonly (readonly [value: T, text: ComponentChildren])[];
    choose: (value: T) => void;
  },
) {
  const onChange = ({ currentTarget }: { currentTarget: HTMLSelectElement }) => {
    const chosen = options[currentTarget.selectedIndex];
    if (chosen) choose(chosen[0]);
  };
  return (
    <label>
      {label}
      <select value={value} onChange={onChange}>
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
}

/** A text of a few lines that a person may leave out; `when` says more about that. */
export function OptionalText(
  { label, when = "", rows = 2, value, change }: {
    label: string;
    when?: string;
    rows?: number;
    value: string;
    change: (text: string) => void;
  },
) {
  return (
    <label>
      <span>
        {label} <span class="hint">(optional{when})</span>
      </span>
      <textarea rows={rows} value={value} onInput={(event) => change(event.currentTarget.value)} />
    </label>
  );
}
