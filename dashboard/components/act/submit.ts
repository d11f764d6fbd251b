/** A person's request: one at a time, and executed once, even after several tries. */

import { useRef, useState } from "preact/hooks";
import { ApiError } from "kit/http/client.ts";

export interface SubmitHeaders extends Record<string, string> {
  readonly "idempotency-key": string;
}

/**
 * The key stays the same until the daemon has accepted or refused the request, so that trying again
 * after a lost response cannot do it twice.
 */
export function useSubmit() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  // Two clicks may come before the component is rendered again.
  const running = useRef(false);
  const key = useRef<string | undefined>(undefined);
  const submit = async (run: (headers: SubmitHeaders) => Promise<unknown>): Promise<void> => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setError(undefined);
    key.current ??= newKey();
    try {
      await run({ "idempotency-key": key.current });
      key.current = undefined;
    } catch (failure) {
      if (isDefinite(failure)) key.current = undefined;
      setError(failure);
    }
    running.current = false;
    setBusy(false);
  };
  /** Makes the next sending a new request. */
  const renew = () => {
    key.current = undefined;
  };
  return { busy, error, submit, renew };
}

/**
 * The request of a form. Its body is computed once, so that a second try sends the same: "in 10
 * minutes" is another time by then. A change or a refusal ends it.
 */
export function useFormSubmit<T>() {
  const { busy, error, submit, renew: renewKey } = useSubmit();
  const body = useRef<T>(undefined);
  const send = (make: () => T, run: (body: T, headers: SubmitHeaders) => Promise<unknown>) =>
    submit(async (headers) => {
      const sent = body.current ??= make();
      try {
        await run(sent, headers);
      } catch (failure) {
        if (isDefinite(failure)) body.current = undefined;
        throw failure;
      }
    });
  const renew = () => {
    body.current = undefined;
    renewKey();
  };
  return { busy, error, send, renew };
}

/** True if the daemon certainly did nothing. */
export function isDefinite(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500;
}

/** `crypto.randomUUID` exists only on pages with HTTPS or a loopback address. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
