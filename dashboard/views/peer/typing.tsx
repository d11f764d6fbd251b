/** Typing into a peer's pane: off until a person switches it on, and until the view is left. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "kit/http/client.ts";
import type { Key } from "protocol/agents/contract.ts";
import type { Acceptable } from "protocol/panes.ts";
import { Failed } from "../../components/basics.tsx";
import { Copy } from "../../components/copy.tsx";
import type { TerminalInput } from "../../components/terminal/part.ts";
import { visible } from "../../components/text/visible.tsx";
import { call, isRefusal } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Screen } from "../../state/records.ts";
import { TypingQueue } from "./typing_queue.ts";

/** Needs no acceptance: a person sees a draft, or a screen that the daemon does not know. */
const ALWAYS_ACCEPTED: readonly Acceptable[] = ["draft_present", "screen_unknown"];

/** States that a person has to accept first, because the keys would have another effect. */
const TO_ACCEPT: readonly (readonly [Acceptable, string])[] = [
  ["dialog_open", "A dialog is open there, and your keys would answer it."],
  ["not_foreground", "A program other than the agent reads the keys there now."],
  ["shell_prompt", "The pane shows a shell, which would run what you type."],
];

const ALLOW_LINE = "mesh config set panes.allow_typing true";

/** For keyboards without these keys, such as a phone's. */
const BAR: readonly (readonly [Key, label: string, name?: string])[] = [
  [{ key: "Escape" }, "Esc"],
  [{ key: "Tab" }, "Tab"],
  [{ key: "Up" }, "↑", "Up"],
  [{ key: "Down" }, "↓", "Down"],
  [{ key: "Left" }, "←", "Left"],
  [{ key: "Right" }, "→", "Right"],
  [{ key: "Ctrl-c" }, "Ctrl C"],
  [{ key: "Enter" }, "Enter"],
];

interface TypingState {
  readonly is_on: boolean;
  /** Absent while it is off. */
  readonly input: TerminalInput | undefined;
  readonly error: unknown;
  readonly start: () => void;
  readonly stop: () => void;
  readonly press: (key: Key) => void;
  /** Accepts the state that has held the keys back. */
  readonly accept: (reason: Acceptable) => void;
}

export function useTyping(
  peer_id: string,
  { screen, typed }: { screen: Screen | undefined; typed: () => void },
): TypingState {
  const [is_on, setOn] = useState(false);
  const [error, setError] = useState<unknown>();
  const accepted = useRef<readonly Acceptable[]>([]);
  const stop = () => {
    accepted.current = [];
    setOn(false);
  };
  /** True if the keys were typed. Without keys, the daemon only checks. */
  const send = async (keys: readonly Key[]): Promise<boolean> => {
    try {
      const body = { keys: [...keys], accept: [...ALWAYS_ACCEPTED, ...accepted.current] };
      const params = { id: peer_id };
      const { overruled } = await call(at.typeIntoPane, { params, query: {}, body });
      accepted.current = accepted.current.filter((reason) => overruled.includes(reason));
      setError(undefined);
      if (keys.length > 0) typed();
      return true;
    } catch (failure) {
      setError(failure);
      if (!isRefusal(failure, "not_typed")) stop();
      return false;
    }
  };
  const queue = useMemo(() => new TypingQueue(send), [peer_id]);
  const type = (keys: readonly Key[]) => {
    if (!queue.add(keys)) setError(new Error("That is too much at once. Nothing of it was typed."));
  };
  const input = useMemo(() => is_on ? { typed: type, leave: stop } : undefined, [is_on, queue]);
  useEffect(() => {
    if (!is_on) return;
    const onHidden = () => document.hidden && stop();
    document.addEventListener("visibilitychange", onHidden);
    return () => {
      document.removeEventListener("visibilitychange", onHidden);
      queue.clear();
    };
  }, [is_on, queue]);
  // An acceptance ends with its reason, such as a dialog that has closed.
  useEffect(() => {
    if (is_on && accepted.current.length > 0) send([]);
  }, [screen]);
  return {
    is_on,
    input,
    error,
    stop,
    start: () => void send([]).then((ready) => ready && setOn(true)),
    press: (key) => type([key]),
    accept(reason) {
      accepted.current = [...accepted.current, reason];
      send([]).then((ready) => ready && setOn(true));
    },
  };
}

export function TypingSwitch({ typing: { is_on, start, stop } }: { typing: TypingState }) {
  return (
    <button type="button" aria-pressed={is_on} onClick={is_on ? stop : start}>
      Type into this pane
    </button>
  );
}

/** An explanation of the switch while it is on, and the reason why nothing was typed. */
export function TypingNotice({ typing, name }: { typing: TypingState; name: string }) {
  const { is_on, error, accept } = typing;
  const held = TO_ACCEPT.find(([reason]) => reason === reasonOf(error));
  return (
    <>
      {is_on && (
        <p class="rail warn hint" role="status">
          Your keys go to <bdi>{visible(name)}</bdi> as if you sat at its terminal. <kbd>F2</kbd>
          {" "}
          ends this, and so does leaving the view.
        </p>
      )}
      {held && (
        <div class="failed cluster between" role="alert">
          <span>{held[1]} Nothing was typed.</span>
          <button type="button" onClick={() => accept(held[0])}>Type there</button>
        </div>
      )}
      {isRefusal(error, "typing_off") && (
        <div class="failed cluster between" role="alert">
          <span>
            Typing into panes is off. Run <code>{ALLOW_LINE}</code>, then restart the daemon.
          </span>
          <Copy text={ALLOW_LINE} />
        </div>
      )}
      {error !== undefined && !held && !isRefusal(error, "typing_off") && <Failed error={error} />}
    </>
  );
}

function reasonOf(error: unknown): unknown {
  return error instanceof ApiError ? error.problem["reason"] : undefined;
}

export function KeyBar({ typing: { press } }: { typing: TypingState }) {
  // The focus stays in the terminal, and with it a phone's keyboard.
  const keepFocus = (event: Event) => event.preventDefault();
  return (
    <div class="cluster" role="group" aria-label="Keys" onMouseDown={keepFocus}>
      {BAR.map(([key, label, name]) => (
        <button
          key={label}
          type="button"
          aria-label={name}
          onClick={() => press(key)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
