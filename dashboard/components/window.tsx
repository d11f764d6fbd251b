/** The window of an action: the facts, then a button that acts, then the result. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Peer } from "../state/records.ts";
import { Dialog, Failed } from "./basics.tsx";

/** The props of the window of an action on a peer. */
export interface ActionProps {
  readonly peer: Peer;
  readonly close: () => void;
}

/** An act that runs once at a time, with its result or its error; `after` gets a result. */
export function useAct<T>(run: () => Promise<T>, after: (result: NonNullable<T>) => void) {
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<T>();
  const [error, setError] = useState<unknown>();
  const act = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    try {
      const done = await run();
      setResult(() => done);
      if (done !== undefined && done !== null) after(done);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return { busy, result, error, act };
}

export function ActionWindow(
  { title, close, children, error, done, act, label, busy, disabled = false, danger = false }: {
    title: string;
    close: () => void;
    children: ComponentChildren;
    error?: unknown;
    /** True if the act succeeded: then the window can only be closed. */
    done?: boolean;
    /** Absent while there is nothing to do. */
    act?: (() => unknown) | undefined;
    label: string;
    busy: boolean;
    disabled?: boolean;
    danger?: boolean;
  },
) {
  const acts = act !== undefined && !done;
  const submit = (event: Event) => {
    event.preventDefault();
    if (acts && !disabled) act();
  };
  return (
    <Dialog title={title} close={close}>
      <form class="form window stack" onSubmit={submit}>
        {children}
        {error !== undefined && <Failed error={error} />}
        <footer>
          <button type="button" onClick={close}>{acts ? "Cancel" : "Done"}</button>
          {acts && (
            <button type="submit" class={danger ? "danger" : "primary"} disabled={busy || disabled}>
              {busy ? "Working…" : label}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

/** A command as it would be typed, with its arguments quoted. */
export function CommandLine({ argv }: { argv: readonly string[] }) {
  return (
    <pre
      class="inset cluster"
      tabIndex={0}
      role="region"
      aria-label="Command"
    >{argv.map(quoteArg).join(" ")}</pre>
  );
}

function quoteArg(arg: string): string {
  return /^[\w@%+=:,./~[\]-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`;
}
