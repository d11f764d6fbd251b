/** A button that acts, or says why this page may not. */

import type { ComponentChildren } from "preact";
import { errorText } from "../../state/calls.ts";
import { notify } from "../../state/store.ts";
import { type SubmitHeaders, useSubmit } from "../../components/act/submit.ts";

export function Acting(
  { refusal, run, letter, children, class: className }: {
    /** The reason why it is not allowed; undefined if it is. */
    refusal: string | undefined;
    run: (headers: SubmitHeaders) => Promise<unknown>;
    /** The key that presses it. */
    letter?: string;
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
