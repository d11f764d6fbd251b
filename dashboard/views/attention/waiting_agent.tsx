/** An agent that waits at its terminal or at a limit, without an ask to the person. */

import { useSwipe } from "../../components/act/swipe.ts";
import { Age, State } from "../../components/basics.tsx";
import { AgentMark } from "../../components/icons/icon.tsx";
import { PeerLink } from "../../components/message.tsx";
import { WaitNote } from "../../components/notes/wait_note.tsx";
import type { Peer } from "../../state/records.ts";
import { go, link } from "../../state/router.ts";
import { Where } from "./ask_card.tsx";

export function WaitingAgent({ peer }: { peer: Peer }) {
  const { terminal, tmux_session, pane_id } = peer;
  const swipe = useSwipe({
    right: { label: "Open", act: () => go(link("peers", peer.peer_id)) },
  });
  return (
    <li {...swipe} id={`card-${peer.peer_id}`} class="card" data-row tabIndex={-1}>
      <header>
        <AgentMark backend={peer.backend} />
        <PeerLink id={peer.peer_id} name={peer.name} />
        <span class="chip">{peer.circle}</span>
        <State of={peer.waits_for?.kind ?? "awaiting_input"} tone="warn" />
        <span class="grow" />
        {peer.waits_for && (
          <span class="waits hint">
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
