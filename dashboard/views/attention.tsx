/** Attention: items that wait for the human, ranked by who is blocked and for how long. */

import { useEffect } from "preact/hooks";
import { useSwipe } from "../components/act/swipe.ts";
import { RecordBoundary } from "../components/act/record_boundary.tsx";
import { Age, Empty, ResourceView, State } from "../components/basics.tsx";
import { WaitNote } from "../components/wait_note.tsx";
import { PeerLink } from "../components/message.tsx";
import type { Peer } from "../state/records.ts";
import { filter, go, link, route } from "../state/router.ts";
import { inbox, livePeers, unreadNotes, waitingAsks, waitingPeers } from "../state/store.ts";
import { Where } from "./attention/ask_card.tsx";
import { Notes, Snoozed } from "./attention/notes.tsx";
import { Questions, shownQuestions } from "./attention/questions.tsx";
import { FirstRun } from "./first_run.tsx";

export function Attention() {
  const notes = unreadNotes.value, peers = waitingPeers.value;
  const questions = waitingAsks.value.length + shownQuestions.value.length;
  const calm = questions + notes.length + peers.length === 0;
  useChosenCard(questions + notes.length);
  return (
    <ResourceView resource={inbox}>
      {(box) => (
        <div class="column">
          <Questions />
          {peers.length > 0 && <h2>Waiting at their terminal</h2>}
          <ul class="cards">
            {peers.map((peer) => (
              <RecordBoundary key={peer.peer_id} of={peer}>
                <WaitingAgent peer={peer} />
              </RecordBoundary>
            ))}
          </ul>
          <Notes notes={notes} />
          {calm && <Calm registered={box !== null} />}
          <Snoozed />
        </div>
      )}
    </ResourceView>
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

function WaitingAgent({ peer }: { peer: Peer }) {
  const { terminal, tmux_session, pane_id } = peer;
  const swipe = useSwipe({
    right: { label: "Open", act: () => go(link("peers", peer.peer_id)) },
  });
  return (
    <li {...swipe} class="card" data-row tabIndex={-1}>
      <header>
        <PeerLink id={peer.peer_id} name={peer.name} />
        <span class="circle">{peer.circle}</span>
        <State of={peer.waits_for?.kind ?? "awaiting_input"} tone="warn" />
        <span class="grow" />
        {peer.waits_for && (
          <span class="waits">
            waits <Age at={peer.waits_for.since} />
          </span>
        )}
      </header>
      <WaitNote peer={peer} />
      <Where peer={peer} />
      {pane_id && peer.turn_state === "awaiting_input" && (
        <p class="hint">
          It shows a dialog in {terminal === "kitty" ? "kitty window" : "pane"}{" "}
          <code>{pane_id}</code>
          {tmux_session && (
            <>
              of the tmux session <code>{tmux_session}</code>
            </>
          )}.
        </p>
      )}
    </li>
  );
}

function Calm({ registered }: { registered: boolean }) {
  if (livePeers.value.length === 0) return <FirstRun />;
  return (
    <Empty title="Nothing waits for you">
      {registered ? <p>{summary()}</p> : (
        <p>
          No human is registered, so no agent can ask you. Run{" "}
          <code>mesh config set human.name YOU</code> and restart the daemon.
        </p>
      )}
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
