/** A button that acts, or says why this page may not. */

import type { ComponentChildren } from "preact";
import { errorText } from "../../state/calls.ts";
import { notify } from "../../state/store.ts";
import { type SubmitHeaders, useSubmit } from "../../components/act/submit.ts";

export function Acting(
  { refusal, run, letter, label, children, class: className }: {
    /** The reason why it is not allowed; undefined if it is. */
    refusal: string | undefined;
    run: (headers: SubmitHeaders) => Promise<unknown>;
    /** The key that presses it. */
    letter?: string;
    /** A name that says more than the text. */
    label?: string;
    children: ComponentChildren;
    class?: string;
  },
) {
  const { busy, error, submit } = useSubmit();
  const isOff = refusal !== undefined || busy;
  return (
    <>
      <button
        type="button"
        class={className}
        aria-label={label}
        aria-disabled={isOff}
        title={refusal}
        data-view-key={letter}
        onClick={() => {
          // A phone shows no title.
          if (refusal !== undefined) notify(`Not done: ${refusal}`);
          else submit(run);
        }}
      >
        {children}
        {letter && <kbd aria-hidden="true">{letter}</kbd>}
      </button>
      {error !== undefined && <span class="reason" role="alert">{errorText(error)}</span>}
    </>
  );
}
