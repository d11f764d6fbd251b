/** Attention: items that wait for the human, ranked by who is blocked and for how long. */

import { useEffect } from "preact/hooks";
import { RecordBoundary } from "../components/act/record_boundary.tsx";
import { Empty, ResourceView } from "../components/basics.tsx";
import { call, RELAYED } from "../state/calls.ts";
import { hasTwoPanes } from "../state/browser/width.ts";
import type { InboxItem, Peer } from "../state/records.ts";
import * as at from "protocol/generated/endpoints.ts";
import { useResource } from "../state/resource.ts";
import { sessionState } from "../state/session.ts";
import { filter, link, route } from "../state/router.ts";
import { inbox, livePeers, unreadNotes, waitingAsks, waitingPeers } from "../state/store.ts";
import { Notes, Snoozed } from "./attention/notes.tsx";
import { Panes } from "./attention/panes.tsx";
import { Questions, shownQuestions } from "./attention/questions.tsx";
import { WaitingAgent } from "./attention/waiting_agent.tsx";
import { FirstRun } from "./first_run.tsx";

/** The shortest time between two loads of the number of ready reviews. */
const REVIEWS_INTERVAL_MS = 3_000;

export function Attention() {
  const notes = unreadNotes.value, peers = waitingPeers.value;
  const questions = waitingAsks.value.length + shownQuestions.value.length;
  const calm = questions + notes.length + peers.length === 0;
  return (
    <ResourceView resource={inbox}>
      {(box) => (
        <div class={hasTwoPanes.value ? "stack loose" : "column stack loose"}>
          {hasTwoPanes.value
            ? !calm && <Panes notes={notes} peers={peers} />
            : <Column notes={notes} peers={peers} />}
          <ReadyReviews />
          {calm && <Calm registered={box !== null} />}
          <Snoozed />
        </div>
      )}
    </ResourceView>
  );
}

/** The number of changes that wait for a person's review. */
function ReadyReviews() {
  // A machine behind a relay may not allow it, and each refusal would be an error in the console.
  const isPerson = sessionState.value === "human" && !RELAYED;
  const load = async () => {
    return isPerson ? (await call(at.listReviews, { query: { limit: "0" } })).ready : 0;
  };
  const options = { interval_ms: REVIEWS_INTERVAL_MS };
  const topics = ["reviews", "turns"] as const;
  const ready = useResource(`ready reviews ${isPerson}`, topics, load, options).value.value ?? 0;
  if (ready === 0) return null;
  return (
    <p>
      <a href={link("review")}>{ready.toLocaleString()} ready to review</a>
    </p>
  );
}

function Column({ notes, peers }: { notes: readonly InboxItem[]; peers: readonly Peer[] }) {
  useChosenCard(notes.length + shownQuestions.value.length);
  return (
    <>
      <Questions />
      {peers.length > 0 && <h2>Waiting at their terminal</h2>}
      <ul class="cards stack">
        {peers.map((peer) => (
          <RecordBoundary key={peer.peer_id} of={peer}>
            <WaitingAgent peer={peer} />
          </RecordBoundary>
        ))}
      </ul>
      <Notes notes={notes} />
    </>
  );
}

/** Shows the card that a notification has named, as soon as it is there. */
function useChosenCard(cards: number): void {
  const chosen = route.value.query.get("at");
  useEffect(() => {
    if (chosen === null) return;
    const show = () => {
      const card = document.getElementById(`card-${chosen}`);
      if (!card) return;
      card.scrollIntoView({ block: "center" });
      card.focus({ preventScroll: true });
      filter({ at: "" });
    };
    // A new view is scrolled to its top and its heading gets the focus, in the next frame.
    let frame = requestAnimationFrame(() => frame = requestAnimationFrame(show));
    return () => cancelAnimationFrame(frame);
  }, [chosen, cards]);
}

function Calm({ registered }: { registered: boolean }) {
  if (livePeers.value.length === 0) return <FirstRun />;
  return (
    <Empty
      title="Nothing waits for you"
      command={registered ? undefined : "mesh config set human.name YOU"}
    >
      <p>Questions, permissions and messages to you appear here, the most urgent first.</p>
      <p>
        {registered
          ? summary()
          : "No human is registered, so no agent can ask you. Set your name, then restart the daemon."}
      </p>
      <a href={link("mesh")}>See what the agents do</a>
    </Empty>
  );
}

function summary(): string {
  const live = livePeers.value.filter(({ status }) => status !== "offline");
  const busy = live.filter(({ status, turn_state }) =>
    status === "busy" || turn_state === "working"
  );
  return `${live.length} of ${livePeers.value.length} peers are online, ${busy.length} at work.`;
}
