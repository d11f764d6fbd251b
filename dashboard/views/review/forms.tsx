/** The forms of a review: a comment on a line, and the text with which changes are sent back. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { errorText } from "../../state/calls.ts";
import { type SubmitHeaders, useSubmit } from "../../components/act/submit.ts";

interface TextFormProps {
  readonly label: string;
  readonly button: string;
  readonly close: () => void;
  readonly submit: (text: string) => void;
  readonly busy?: boolean;
  readonly error?: unknown;
}

/** A text field that has the focus; Ctrl Enter submits it, Escape closes it. */
function TextForm({ label, button, close, submit, busy = false, error }: TextFormProps) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    field.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const act = () => {
    if (text.trim() !== "" && !busy) submit(text);
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        act();
      }}
    >
      <label>
        {label}
        <textarea
          ref={field}
          rows={3}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              act();
            } else if (event.key === "Escape") {
              event.stopPropagation();
              close();
            }
          }}
        />
      </label>
      <div class="cluster">
        <button type="submit" class="primary" aria-disabled={busy || text.trim() === ""}>
          {button}
          <kbd aria-hidden="true">Ctrl Enter</kbd>
        </button>
        <button type="button" class="quiet" onClick={close}>Close</button>
      </div>
      {error !== undefined && <p class="reason" role="alert">{errorText(error)}</p>}
    </form>
  );
}

/** Keeps a comment until the person sends all of them. */
export function CommentForm(
  { label, add, close }: { label: string; add: (text: string) => void; close: () => void },
) {
  return <TextForm label={label} button="Keep this comment" close={close} submit={add} />;
}

export function SendBackForm(
  { label, send, close }: {
    label: string;
    send: (text: string, headers: SubmitHeaders) => Promise<unknown>;
    close: () => void;
  },
) {
  const { busy, error, submit } = useSubmit();
  return (
    <TextForm
      label={label}
      button="Send back"
      close={close}
      submit={(text) => void submit((headers) => send(text, headers))}
      busy={busy}
      error={error}
    />
  );
}
