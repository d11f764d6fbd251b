/** An agent that was started: where it runs, and the peer that it becomes. */

import { State } from "../../components/basics.tsx";
import { visible } from "../../components/text/visible.tsx";
import type { SpawnResult } from "../../state/records.ts";
import { link } from "../../state/router.ts";
import { livePeers } from "../../state/store.ts";

export function SpawnedAgent({ spawned }: { spawned: SpawnResult }) {
  const { pane_id, tmux_socket, tmux_session, display_name, warnings, seed_state } = spawned;
  const peer = livePeers.value.find((candidate) =>
    candidate.pane_id === pane_id && candidate.tmux_socket === tmux_socket &&
    candidate.status !== "offline"
  );
  return (
    <div role="status" class="stack">
      <p>
        {peer
          ? <State of="registered" tone="good" />
          : <State of="waits for its registration" tone="busy" />} {peer
          ? (
            <a href={link("peers", peer.peer_id)}>
              Open <bdi>{visible(peer.name)}</bdi>
            </a>
          )
          : <bdi>{visible(display_name)}</bdi>}
      </p>
      <p class="hint">
        It runs in pane {pane_id} of the tmux session <bdi>{visible(tmux_session)}</bdi>.{" "}
        {!peer && "It may first ask something there, such as whether to trust the folder."}
      </p>
      {seed_state === "awaiting_registration" && !peer && (
        <p class="hint">Its first message is sent once it registers.</p>
      )}
      {warnings.map((warning) => <p key={warning} class="reason">{warning}</p>)}
    </div>
  );
}
