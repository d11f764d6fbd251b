/**
 * The live screen of a peer's pane. It is read only while it is visible: no event announces what
 * a program draws.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Empty, Failed } from "../../components/basics.tsx";
import { Copy } from "../../components/copy.tsx";
import { plainText } from "../../components/terminal/colour_rows.ts";
import type {
  FontSizes,
  ScreenContent,
  TerminalInput,
  TerminalPart,
  TerminalView,
} from "../../components/terminal/part.ts";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { part } from "../../state/parts.ts";
import type { Peer, Screen } from "../../state/records.ts";
import { fontSizes, isWrapped, ScreenSize } from "./screen_size.tsx";
import { KeyBar, TypingNotice, TypingSwitch, useTyping } from "./typing.tsx";

const loadTerminal = part<TerminalPart>("terminal");

const INTERVAL_MS = 700;
/** The interval while a person types, who wants to see the effect. */
const TYPING_INTERVAL_MS = 250;
/** The pause after a failure, such as a pane that is gone. */
const RETRY_MS = 5000;

/** The peer's screen, read at intervals while the page is visible. */
function useScreen(peer_id: string, interval_ms: number) {
  const [screen, setScreen] = useState<Screen>();
  const [error, setError] = useState<unknown>();
  const [round, setRound] = useState(0);
  const interval = useRef(interval_ms);
  interval.current = interval_ms;
  const readNow = useRef(() => {});
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let is_reading = false, again = false;
    const read = async () => {
      clearTimeout(timer);
      if (is_reading) return void (again = true);
      is_reading = true;
      again = false;
      let wait_ms = interval.current;
      try {
        const found = await call(at.showPane, { params: { id: peer_id }, query: {}, signal });
        setScreen((before) => isSame(before, found) ? before : found);
        setError(undefined);
      } catch (failure) {
        if (signal.aborted) return;
        setError(failure);
        wait_ms = RETRY_MS;
      }
      is_reading = false;
      if (!signal.aborted && !document.hidden) timer = setTimeout(read, again ? 0 : wait_ms);
    };
    readNow.current = read;
    const onVisibility = () => document.hidden ? clearTimeout(timer) : read();
    document.addEventListener("visibilitychange", onVisibility, { signal });
    if (!document.hidden) read();
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [peer_id, round]);
  return { screen, error, readNow, retry: () => setRound(round + 1) };
}

function isSame(before: Screen | undefined, next: Screen): boolean {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(next);
}

export function PaneScreen({ peer }: { peer: Peer }) {
  const [fast, setFast] = useState(false);
  const terminal = useRef<TerminalView | undefined>(undefined);
  const { screen, error, readNow, retry } = useScreen(
    peer.peer_id,
    fast ? TYPING_INTERVAL_MS : INTERVAL_MS,
  );
  const typing = useTyping(peer.peer_id, { screen, typed: () => readNow.current() });
  useEffect(() => setFast(typing.is_on), [typing.is_on]);
  if (peer.pane_id === null) {
    return (
      <div class="scroll-area">
        <Empty title="It has no pane" command="tmux new -s work claude">
          It was started neither in tmux nor in kitty, so there is no screen. Agents that you start
          in tmux have one.
        </Empty>
      </div>
    );
  }
  const text = screen?.rows.map(plainText).join("\n").trimEnd() ?? "";
  // Keys go to a screen, and not to its text.
  const showsLines = isWrapped.value && !typing.is_on;
  const place = screen && `Pane ${screen.pane_id}, ${screen.width} × ${screen.height}, `;
  return (
    <div class="screen">
      <p class="cluster between">
        <span class="hint">{place}{typing.is_on ? "takes your keys" : "read only"}</span>
        {screen?.in_mode && (
          <span class="reason">the pane is in copy mode; this is the screen below it</span>
        )}
        {screen && <TypingSwitch typing={typing} />}
        {screen && <ScreenSize shown_px={() => terminal.current?.font_px} />}
        {screen && <Copy text={text} label="Copy its text" />}
      </p>
      <TypingNotice typing={typing} name={peer.name} />
      {error !== undefined && <Failed error={error} retry={retry} />}
      {screen && !showsLines && (
        <Terminal
          screen={screen}
          sizes={fontSizes()}
          stale={error !== undefined}
          name={peer.name}
          input={typing.input}
          opened={(view) => terminal.current = view}
        />
      )}
      {typing.is_on && <KeyBar typing={typing} />}
      {screen && <Lines text={text} name={peer.name} shown={showsLines} />}
    </div>
  );
}

/** The text of the screen, with wrapped lines; unseen beside the screen itself. */
function Lines({ text, name, shown }: { text: string; name: string; shown: boolean }) {
  const pre = useRef<HTMLPreElement>(null);
  const { px_max } = fontSizes();
  useLayoutEffect(() => {
    if (pre.current) pre.current.style.fontSize = shown ? `${px_max}px` : "";
  }, [shown, px_max]);
  const label = `Text of the screen of ${name}`;
  const region = { tabIndex: 0, role: "region", "aria-label": label } as const;
  return (
    <pre ref={pre} class={shown ? "pane-terminal pane-lines" : "unseen"} {...shown && region}>
      {text}
    </pre>
  );
}

function Terminal(
  { screen, sizes, stale, name, input, opened }: {
    screen: ScreenContent;
    sizes: FontSizes;
    stale: boolean;
    name: string;
    input: TerminalInput | undefined;
    opened: (view: TerminalView | undefined) => void;
  },
) {
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<TerminalView>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    let own: TerminalView | undefined, gone = false;
    loadTerminal().then(({ openTerminal }) => {
      if (gone || !host.current) return;
      own = openTerminal(host.current);
      setView(own);
      opened(own);
    }).catch(setError);
    return () => {
      gone = true;
      opened(undefined);
      own?.dispose();
    };
  }, []);
  // At once: the next key after the switch is meant for the pane.
  useLayoutEffect(() => {
    if (!view || !input) return;
    view.takeInput(input);
    return () => view.takeInput(undefined);
  }, [view, input]);
  useEffect(() => view?.setSizes(sizes), [view, sizes.px_min, sizes.px_max]);
  useEffect(() => view?.show(screen), [view, screen]);
  return (
    <>
      {error !== undefined && <Failed error={error} />}
      <div
        class={`pane-terminal ${stale ? "stale" : ""}`}
        tabIndex={0}
        role="region"
        aria-label={`Screen of ${name}`}
        ref={host}
      />
    </>
  );
}
