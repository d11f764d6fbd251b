/** The actions on a peer: a menu, and one window for each action. */

import * as at from "protocol/generated/endpoints.ts";
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type ActionProps, ActionWindow, useAct } from "../../components/window.tsx";
import { isSubagent } from "protocol/derived/peers.ts";
import type { Peer } from "../../state/records.ts";
import { Copy, Fork } from "./fork.tsx";
import { HandOver } from "./hand_over.tsx";
import { RestartWindow } from "./restart.tsx";
import { call } from "../../state/calls.ts";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { notify } from "../../state/store.ts";
import { NameField } from "../spawn/naming.tsx";
import { visible } from "../../components/text/visible.tsx";
import { filter, go, link, route } from "../../state/router.ts";
import { LossList } from "./losses.tsx";
import { Fact, ResourceView, State } from "../../components/basics.tsx";
import { Icon, type IconName } from "../../components/icons/icon.tsx";

interface Action {
  readonly title: string;
  readonly hint: string;
  readonly icon: IconName;
  readonly destructive?: true;
  /** True if the peer's record allows the action; the daemon may still refuse. */
  readonly allowed: (peer: Peer) => boolean;
  readonly window: ComponentType<ActionProps>;
}

/** A subagent belongs to its parent: it cannot be restarted or forked. */
const isAgent = (peer: Peer) =>
  (peer.role === "agent" || peer.role === "orchestrator") && !isSubagent(peer);
const isLive = ({ status }: Peer) => status !== "retired";

const ACTIONS: readonly Action[] = [
  {
    title: "Restart…",
    hint: "Start it again in its pane; shows first what would run",
    icon: "restart",
    allowed: (peer) => isAgent(peer) && isLive(peer),
    window: RestartWindow,
  },
  {
    title: "Copy…",
    hint: "Start it again, with a copy of its conversation",
    icon: "copy",
    allowed: (peer) => isAgent(peer) && isLive(peer) && peer.backend !== null,
    window: Copy,
  },
  {
    title: "Fork…",
    hint: "Start another kind of agent in its folder, without its conversation",
    icon: "start",
    allowed: (peer) => isAgent(peer) && isLive(peer) && peer.backend !== null,
    window: Fork,
  },
  {
    title: "Hand over…",
    hint: "Give its last turns, open asks and files to another peer",
    icon: "answer",
    allowed: (peer) => isAgent(peer) && isLive(peer),
    window: HandOver,
  },
  {
    title: "Reconnect…",
    hint: "Look for a way to reach it, without disturbing it",
    icon: "relay",
    allowed: (peer) => isLive(peer) && (peer.pane_id !== null || peer.ws_connected),
    window: Rehook,
  },
  {
    title: "Rename…",
    hint: "Give it another name",
    icon: "settings",
    allowed: isLive,
    window: Rename,
  },
  {
    title: "Close…",
    hint: "Remove it from the mesh; its program goes on",
    icon: "close",
    destructive: true,
    allowed: () => true,
    window: Close,
  },
  {
    title: "Kill…",
    hint: "End its program and retire it",
    icon: "kill",
    destructive: true,
    allowed: (peer) => isLive(peer) && peer.agent_pid !== null,
    window: Kill,
  },
];

export function Actions({ peer }: { peer: Peer }) {
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState<Action>();
  const area = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useOutside(area, open, () => setOpen(false));
  const asked = route.value.query.get("act");
  useEffect(() => {
    if (asked === null) return;
    filter({ act: "" });
    setChosen(ACTIONS.find(({ title, allowed }) => title === `${asked}…` && allowed(peer)));
  }, [asked]);
  if (peer.role === "human") return null;
  const choose = (action: Action) => {
    button.current?.focus(); // The window gives the focus back to it.
    setOpen(false);
    setChosen(action);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open) return;
    event.preventDefault();
    setOpen(false);
    button.current?.focus();
  };
  const Window = chosen?.window;
  return (
    <div class="menu" ref={area} onKeyDown={onKeyDown}>
      <button
        type="button"
        ref={button}
        aria-expanded={open}
        aria-controls="peer-actions"
        onClick={() => setOpen(!open)}
      >
        Actions <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <ul id="peer-actions" class="menu-list popup stack tight" aria-label="Actions">
          {ACTIONS.filter(({ allowed }) => allowed(peer)).map((action) => (
            <li key={action.title}>
              <button
                type="button"
                class={`row list-row ${action.destructive ? "destructive" : ""}`}
                onClick={() => choose(action)}
              >
                <Icon name={action.icon} />
                <span class="stack tight">
                  {action.title}
                  <span class="hint">{action.hint}</span>
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {Window && <Window peer={peer} close={() => setChosen(undefined)} />}
    </div>
  );
}

/** Calls `leave` when the focus or the pointer goes elsewhere. */
function useOutside(
  area: { readonly current: HTMLElement | null },
  active: boolean,
  leave: () => void,
): void {
  useEffect(() => {
    if (!active) return;
    const onEvent = ({ target }: Event) => {
      if (target instanceof Node && !area.current?.contains(target)) leave();
    };
    document.addEventListener("pointerdown", onEvent);
    document.addEventListener("focusin", onEvent);
    return () => {
      document.removeEventListener("pointerdown", onEvent);
      document.removeEventListener("focusin", onEvent);
    };
  }, [active]);
}

function Rename({ peer, close }: ActionProps) {
  const [name, setName] = useState(peer.name);
  const { act, ...state } = useAct(
    () => call(at.renamePeer, { params: { id: peer.peer_id }, query: {}, body: { name } }),
    (renamed) => {
      notify(`${peer.name} is now called ${renamed.name}.`);
      refreshTopics(["peers", "messages", "asks"]);
      close();
    },
  );
  return (
    <ActionWindow
      title={`Rename ${peer.name}`}
      label="Rename it"
      close={close}
      act={act}
      disabled={name === peer.name}
      {...state}
    >
      <NameField label="New name" value={name} change={setName} required />
      <p class="hint">
        Messages to the old name no longer reach it. Earlier messages keep the old name.
      </p>
    </ActionWindow>
  );
}

function Close({ peer, close }: ActionProps) {
  const { peer_id, name, agent_pid } = peer;
  const { act, ...state } = useAct(
    () => call(at.closePeer, { params: { id: peer_id }, query: {} }),
    () => leave(`${name} is closed.`),
  );
  return (
    <ActionWindow
      title={`Close ${name}?`}
      label="Close it"
      danger
      close={close}
      act={act}
      {...state}
    >
      <p>
        <bdi>{visible(name)}</bdi> leaves the mesh for good: its identity cannot be used again.{" "}
        {agent_pid !== null && `Its program, process ${agent_pid}, is left running.`}
      </p>
      <LossList peer={peer} />
    </ActionWindow>
  );
}

export function Kill({ peer, close }: ActionProps) {
  const { peer_id, name, agent_pid, turn_state } = peer;
  const { act, ...state } = useAct(
    () => call(at.killPeer, { params: { id: peer_id }, query: {}, body: {} }),
    (killed) => leave(`${name} is retired: process ${killed.agent_pid} ended by ${killed.signal}.`),
  );
  return (
    <ActionWindow title={`Kill ${name}?`} label="Kill it" danger close={close} act={act} {...state}>
      <p>
        Process {agent_pid} of <bdi>{visible(name)}</bdi> is ended, and the peer is retired.{" "}
        {turn_state === "working"
          ? "It is at work now. Work that it has not written to disk is lost."
          : "Work that it has not written to disk is lost."}
      </p>
      <LossList peer={peer} />
    </ActionWindow>
  );
}

/** Leaves the peer's own view, which has nothing left to show. */
function leave(text: string): void {
  notify(text);
  refreshTopics(["peers", "asks", "messages"]);
  go(link("mesh"));
}

function Rehook({ peer: { peer_id, name }, close }: ActionProps) {
  const rehook = (apply: boolean) =>
    call(at.rehookPeer, { params: { id: peer_id }, query: {}, body: { apply } });
  const checked = useResource(`${peer_id} rehook`, ["peers"], () => rehook(false));
  const { act, result, ...state } = useAct(
    () => rehook(true),
    () => refreshTopics(["peers", "health"]),
  );
  const found = result ?? checked.value.value;
  return (
    <ActionWindow
      title={`Reconnect ${name}`}
      label="Bring it back"
      close={close}
      done={result !== undefined}
      act={found?.would_do ? act : undefined}
      {...state}
    >
      <ResourceView resource={checked}>
        {() => (
          <div role="status" class="stack">
            {found && <Report found={found} acted={result !== undefined} />}
          </div>
        )}
      </ResourceView>
    </ActionWindow>
  );
}

type RehookReport = Awaited<ReturnType<typeof call<typeof at.rehookPeer>>>;

function Report({ found, acted }: { found: RehookReport; acted: boolean }) {
  const { healthy, transport, would_do, reason, acted: changed } = found;
  return (
    <>
      <dl class="facts">
        <Fact name="Messages reach it">
          {healthy ? <>by {transport}</> : <State of="no" tone="bad" />}
        </Fact>
        {reason !== null && (
          <>
            <Fact name={acted || would_do !== null ? "It was offline" : "Reason"}>
              {reason.replaceAll("_", " ")}
            </Fact>
          </>
        )}
        {would_do !== null && (
          <>
            <Fact name={changed ? "Done" : "Can be done"}>{would_do}</Fact>
          </>
        )}
      </dl>
      {!acted && would_do === null && (
        <p class="hint">
          {healthy
            ? "There is nothing to mend."
            : "It cannot be reconnected without its program: restart it, or look at its evidence."}
        </p>
      )}
    </>
  );
}
