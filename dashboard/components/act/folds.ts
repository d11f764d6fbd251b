/** Remembers unfolded parts, which stay unfolded when their view is shown again. */

import { useState } from "preact/hooks";

/** The oldest choices are dropped. */
const KEPT_MAX = 500;

const choices = new Map<string, boolean>();

/** True if the fold of this key is open, and a function that toggles it. */
export function useFold(key: string, isOpenAtFirst: boolean): readonly [boolean, () => void] {
  const [, render] = useState({});
  const isOpen = choices.get(key) ?? isOpenAtFirst;
  const turn = () => {
    choices.delete(key);
    choices.set(key, !isOpen);
    for (const oldest of choices.keys()) {
      if (choices.size <= KEPT_MAX) break;
      choices.delete(oldest);
    }
    render({});
  };
  return [isOpen, turn];
}
