/** Small parts: state chips, ages, empty and failed states, confirmations. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { errorText, isUnavailable } from "../state/calls.ts";
import type { Resource } from "../state/resource.ts";
import { now } from "../state/store.ts";
import { Command } from "./copy.tsx";
import { Icon, type Shape, StateShape } from "./icons/icon.tsx";
import { type SubmitHeaders, useSubmit } from "./act/submit.ts";

export type Tone = "good" | "busy" | "warn" | "bad" | "calm" | "link";

const TONES: Readonly<Record<string, Tone>> = {
  online: "good",
  idle: "good",
  seen: "good",
  completed: "good",
  connected: "good",
  answered: "good",
  acknowledged: "good",
  verified: "good",
  proving: "busy",
  returned: "warn",
  unproved: "warn",
  refuted: "bad",
  allowed_there: "good",
  active: "good",
  accepted: "link",
  sent: "link",
  running: "busy",
  busy: "busy",
  working: "busy",
  open: "busy",
  delivered: "busy",
  attempting: "busy",
  dispatching: "busy",
  awaiting_input: "warn",
  looping: "warn",
  "at its limit": "warn",
  throttled: "warn",
  exhausted: "warn",
  no_transport: "warn",
  probing: "busy",
  clear: "good",
  "wants a login": "warn",
  blocked: "warn",
  queued: "warn",
  connecting: "warn",
  degraded: "warn",
  failed: "bad",
  expired: "bad",
  dropped: "bad",
  unavailable: "bad",
  down: "bad",
  out_of_credits: "bad",
  pane_unsafe: "bad",
  lapsed: "bad",
};

const SHAPE_OF_TONE: Readonly<Record<Tone, Shape>> = {
  good: "done",
  link: "starting",
  busy: "working",
  warn: "waiting",
  bad: "failed",
  calm: "offline",
};

/** States whose shape is another than that of their tone. */
const SHAPE_OF_STATE: Readonly<Record<string, Shape>> = {
  online: "idle",
  idle: "idle",
  connected: "idle",
  active: "idle",
  queued: "starting",
  connecting: "starting",
};

/** A state in shape, words and colour; an older daemon may not report it. */
export function State({ of, tone }: { of: string | null | undefined; tone?: Tone }) {
  if (!of) return <span class="state">not known</span>;
  const chosen = tone ?? TONES[of] ?? "calm";
  return (
    <span class={`state ${chosen}`}>
      <StateShape shape={(tone ? undefined : SHAPE_OF_STATE[of]) ?? SHAPE_OF_TONE[chosen]} />
      {of.replaceAll("_", " ")}
    </span>
  );
}

const MINUTE = 60, HOUR = 3600, DAY = 86_400;

/** A number of seconds in its largest unit: `42 s`, `7 min`, `3 h`, `2 d`. */
export function duration(seconds: number): string {
  if (seconds < MINUTE) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  return seconds < DAY ? `${Math.floor(seconds / HOUR)} h` : `${Math.floor(seconds / DAY)} d`;
}

/**
 * An instant as an age; the exact time is in its title. Only an expected instant (`future`) may be
 * ahead: a past instant that is later than now means that the clocks differ.
 */
export function Age(
  { at, suffix = "", future = false }: { at: string; suffix?: string; future?: boolean },
) {
  const seconds = (now.value - Date.parse(at)) / 1000;
  // Formatting is slow, and ages are rendered with each tick.
  const exact = useMemo(() => new Date(at).toLocaleString(), [at]);
  const text = future ? expectedText(seconds) : `${duration(seconds)}${suffix}`;
  return <time class="age" dateTime={at} title={exact}>{text}</time>;
}

function expectedText(seconds: number): string {
  if (seconds < 0) return `in ${duration(-seconds)}`;
  return seconds < MINUTE ? "now" : `${duration(seconds)} ago`;
}

/** The time of day. */
export function Clock({ at }: { at: string }) {
  const date = new Date(at);
  const options = { hour: "2-digit", minute: "2-digit", hour12: false } as const;
  const text = date.toLocaleTimeString(undefined, options);
  return <time class="age" dateTime={at} title={date.toLocaleString()}>{text}</time>;
}

/** Nothing to show: what appears here, and a command that brings it. */
export function Empty(
  { title, children, command }: {
    title: string;
    children?: ComponentChildren;
    command?: string | undefined;
  },
) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children && <div>{children}</div>}
      {command && <Command text={command} />}
    </div>
  );
}

/** `role`: a failure without an act of the person does not interrupt a screen reader. */
export function Failed(
  { error, retry, role = "alert" }: {
    error: unknown;
    retry?: () => void;
    role?: "alert" | "status";
  },
) {
  if (isUnavailable(error)) {
    return <p class="failed unavailable" role="status">{errorText(error)}</p>;
  }
  return (
    <div class="failed cluster between" role={role}>
      <span>{errorText(error)}</span>
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

/**
 * Shows the value of a resource: a skeleton until it is loaded, and after a failed update the error
 * together with the last value.
 */
export function ResourceView<T>(
  { resource, children }: { resource: Resource<T>; children: (value: T) => ComponentChildren },
) {
  const value = resource.value.value, error = resource.error.value;
  return (
    <>
      {error !== undefined && <Failed error={error} retry={resource.refresh} role="status" />}
      {value !== undefined && children(value)}
      {value === undefined && error === undefined && <Skeleton />}
    </>
  );
}

/** A named value of a list of facts. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** A placeholder while something is loading. */
export function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <i />
      <i />
      <i />
    </div>
  );
}

/** A window above the page; it holds the focus until it is closed. */
export function Dialog(
  { title, close, children, plain = false }: {
    title: string;
    close: () => void;
    children: ComponentChildren;
    plain?: boolean;
  },
) {
  const dialog = useRef<HTMLDialogElement>(null);
  // At once: the next key is meant for this window.
  useLayoutEffect(() => {
    const focused = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus();
    };
  }, []);
  const onClick = (event: MouseEvent) => event.target === dialog.current && close();
  return (
    <dialog ref={dialog} aria-label={title} onClose={close} onClick={onClick}>
      <div class="dialog-body stack">
        {!plain && (
          <header>
            <h2>{title}</h2>
            <button type="button" class="quiet" aria-label="Close" onClick={close}>
              <Icon name="close" />
            </button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}

/** A button that acts once at a time, and shows why the act failed. */
export function Act(
  { run, children, class: className, label, confirm }: {
    /** The headers make trying again after a lost response safe. */
    run: (headers: SubmitHeaders) => Promise<unknown>;
    children: ComponentChildren;
    class?: string;
    /** A name for people who hear the button without its surroundings. */
    label?: string;
    /** The loss that a person must confirm before the act. */
    confirm?: string;
  },
) {
  const [asking, setAsking] = useState(false);
  const { busy, error, submit } = useSubmit();
  const act = () => {
    setAsking(false);
    submit(run);
  };
  return (
    <>
      <button
        type="button"
        class={className}
        aria-label={label}
        aria-disabled={busy}
        onClick={() => confirm && !busy ? setAsking(true) : act()}
      >
        {children}
      </button>
      {error !== undefined && <Failed error={error} />}
      {asking && confirm && (
        <Dialog title="Are you sure?" close={() => setAsking(false)}>
          <p>{confirm}</p>
          <footer>
            <button type="button" onClick={() => setAsking(false)}>Keep it</button>
            <button type="button" class="danger" onClick={act}>{children}</button>
          </footer>
        </Dialog>
      )}
    </>
  );
}

/** A choice of one value: filters and tabs. */
export function Choices<T extends string>(
  { label, options, chosen, choose }: {
    label: string;
    options: readonly (readonly [value: T, text: string])[];
    chosen: T;
    choose: (value: T) => void;
  },
) {
  return (
    <div class="choices" role="group" aria-label={label}>
      {options.map(([value, text]) => (
        <button
          type="button"
          key={value}
          aria-pressed={value === chosen}
          onClick={() => choose(value)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
