/** A field that searches once a person pauses. */

import { useEffect, useRef, useState } from "preact/hooks";

/** The pause in typing after which the search begins. */
const PAUSE_MS = 200;

export function SearchField(
  { label, placeholder, value, search, is_main = true, list, class: className }: {
    label: string;
    placeholder: string;
    /** The present query. */
    value: string;
    search: (text: string) => void;
    /** True if the key of the search leads to this field. */
    is_main?: boolean;
    /** The id of a list of suggestions. */
    list?: string;
    class?: string;
  },
) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const newest = useRef(search);
  newest.current = search;
  const sent = useRef(value);
  // Another search was begun elsewhere, such as by a link or by "Clear".
  useEffect(() => {
    if (value === sent.current) return;
    clearTimeout(timer.current);
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      sent.current = next;
      newest.current(next);
    }, PAUSE_MS);
  };
  return (
    <input
      type="search"
      class={className}
      data-search={is_main ? true : undefined}
      aria-label={label}
      placeholder={placeholder}
      list={list}
      value={text}
      onInput={(event) => type(event.currentTarget.value)}
    />
  );
}
