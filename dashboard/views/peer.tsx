/** Peer: the conversation, writing to it, and the evidence about it. */

import { Choices, Empty, ResourceView } from "../components/basics.tsx";
import { Subagents } from "../components/children.tsx";
import { BudgetLines } from "../components/notes/budget_lines.tsx";
import { AgentMark, Icon } from "../components/icons/icon.tsx";
import { WaitNote } from "../components/notes/wait_note.tsx";
import { visible } from "../components/text/visible.tsx";
import { call, isRefusal, RELAYED } from "../state/calls.ts";
import { isRemote, withShownName } from "../state/remote.ts";
import { recordSentence } from "protocol/derived/proofs.ts";
import { wakeSentence } from "protocol/derived/wakes.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Peer } from "../state/records.ts";
import { only, useResource } from "../state/resource.ts";
import { filter, link, route } from "../state/router.ts";
import { livePeers, peers, peersById } from "../state/store.ts";
import { PeerLeases } from "./holdings/lease_list.tsx";
import { sortPeers } from "./mesh/order.ts";
import { Activity, PeerList } from "./mesh/peer_card.tsx";
import { Actions } from "./peer/actions.tsx";
import { Conversation } from "./peer/conversation.tsx";
import { Evidence } from "./peer/evidence.tsx";
import { PeerChanges } from "./peer/changes.tsx";
import { StopButton } from "./peer/interrupt.tsx";
import { isAsleep, WakeButton } from "./peer/wake.tsx";
import { PaneScreen } from "./peer/screen.tsx";
import { Timeline } from "./peer/timeline.tsx";

const TABS = {
  conversation: "Conversation",
  timeline: "Timeline",
  changes: "Changes",
  screen: "Screen",
  evidence: "Evidence",
} as const;
type Tab = keyof typeof TABS;
const TAB_ORDER: readonly Tab[] = ["conversation", "timeline", "changes", "screen", "evidence"];

export function PeerView() {
  const { id, query } = route.value;
  const asked = query.get("tab");
  const tab = TAB_ORDER.find((name) => name === asked) ?? "conversation";
  return (
    <ResourceView resource={peers}>
      {() => {
        const peer = peersById.value.get(id);
        return peer
          ? <PeerPage peer={peer} tab={tab} />
          : <FormerPeer key={id} id={id} tab={tab} />;
      }}
    </ResourceView>
  );
}

function PeerPage({ peer, tab: asked }: { peer: Peer; tab: Tab }) {
  const { peer_id } = peer;
  // The pane of a remote peer is shown on its own machine only.
  const tab = isRemote(peer) && asked === "screen" ? "conversation" : asked;
  return (
    <div class="split">
      <nav class="split-list" aria-label="Peers">
        <PeerList peers={sortPeers(livePeers.value, "need")} dense={false} current={peer_id} />
      </nav>
      <article class="split-main">
        <PeerHead peer={peer} tab={tab} />
        {!isRemote(peer) && <PeerSubagents key={peer_id} id={peer_id} />}
        {tab === "evidence" && <Evidence peer={peer} />}
        {tab === "screen" && <PaneScreen key={peer_id} peer={peer} />}
        {tab === "timeline" && <Timeline key={peer_id} peer={peer} />}
        {tab === "changes" && <PeerChanges key={peer_id} peer={peer} />}
        {tab === "conversation" && <Conversation key={peer_id} peer={peer} />}
      </article>
    </div>
  );
}

/** The peer's subagents; nothing until they are loaded, because most peers have none. */
function PeerSubagents({ id }: { id: string }) {
  const load = () => call(at.getPeer, { params: { id }, query: {} });
  const found = only(useResource(`${id} subagents`, ["peers"], load), [id]).value.value;
  // An older daemon, which the relay may show, does not report them.
  const children: readonly unknown[] | undefined = found?.children;
  return found && children ? <Subagents {...found} /> : null;
}

/** A peer that the list of peers leaves out: it is retired, or has been offline for long. */
function FormerPeer({ id, tab }: { id: string; tab: Tab }) {
  const resource = useResource<Peer | null>(id, ["peers"], async () => {
    try {
      return withShownName(await call(at.getPeer, { params: { id }, query: {} }));
    } catch (error) {
      if (isRefusal(error, "unknown_peer")) return null;
      throw error;
    }
  });
  return (
    <ResourceView resource={resource}>
      {(peer) => peer ? <PeerPage peer={peer} tab={tab} /> : <Unknown />}
    </ResourceView>
  );
}

function Unknown() {
  return (
    <Empty title="This peer is not known">
      It may have been closed. <a href={link("mesh")}>See all peers</a>
    </Empty>
  );
}

function PeerHead({ peer, tab }: { peer: Peer; tab: Tab }) {
  const { backend, model, circle, path, description } = peer;
  const sleep = wakeSentence(peer.name, peer.wake);
  const record = recordSentence(peer);
  return (
    <header class="peer-head">
      <a class="button quiet back" href={link("mesh")} aria-label="All peers">
        <Icon name="back" />
      </a>
      <h1 class="grow cluster">
        <AgentMark backend={backend} is_person={peer.role === "human"} />
        <bdi>{visible(peer.name)}</bdi>
        <Activity peer={peer} />
      </h1>
      {isAsleep(peer) && <WakeButton key={`wake ${peer.peer_id}`} peer={peer} />}
      {peer.role !== "human" && !isAsleep(peer) && (
        <StopButton key={`stop ${peer.peer_id}`} peer={peer} />
      )}
      {isRemote(peer)
        ? <RemoteNote machine={peer.machine} />
        : <Actions key={peer.peer_id} peer={peer} />}
      <div class="peer-about">
        <p class="where hint">
          <bdi>{visible([backend, model, circle, path].filter(Boolean).join(" · "))}</bdi>
        </p>
        {description && <p class="task hint">{visible(description)}</p>}
        <WaitNote peer={peer} />
        {sleep !== undefined && <p class="hint">{visible(sleep)}</p>}
        {record !== undefined && <p class="hint">{visible(record)}</p>}
        {!isRemote(peer) && <BudgetLines of={peer.peer_id} />}
        {!isRemote(peer) && !RELAYED && <PeerLeases peer_id={peer.peer_id} />}
      </div>
      <Choices<Tab>
        label="Part"
        chosen={tab}
        choose={(next) => filter({ tab: next === "conversation" ? "" : next })}
        options={TAB_ORDER.filter((name) => name === tab || hasTab(peer, name))
          .map((name) => [name, TABS[name]])}
      />
    </header>
  );
}

/** The human has neither a folder nor a session. The folders of remote peers are not known here. */
function hasTab(peer: Peer, tab: Tab): boolean {
  const { pane_id, role, path } = peer;
  if (tab === "screen") return pane_id !== null;
  if (tab === "timeline") return role !== "human";
  return tab !== "changes" || (role !== "human" && (path !== null || isRemote(peer)));
}

/** Shown instead of the actions, which need the peer's process or pane. */
function RemoteNote({ machine }: { machine: string | null }) {
  return (
    <p class="hint">
      Runs on <bdi>{visible(machine ?? "another machine")}</bdi>: restart, rename or end it there.
    </p>
  );
}
