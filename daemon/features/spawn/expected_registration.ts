/** Completes a registration with what a restart, a spawn or a link has told the daemon. */

import type { MissingPanes } from "../agents/missing_panes.ts";
import type { Reader } from "kit/data/sqlite.ts";
import type { PaneRoot } from "../../host/tmux/pane.ts";
import type { Terminals } from "../../host/tmux/terminals.ts";
import { refuseUntrusted } from "../../host/trusted_socket.ts";
import { circleOfPane } from "../peers/identity/naming.ts";
import type { CircleBoundary, Registration } from "protocol/peers/record.ts";
import { isLive } from "../peers/directory.ts";
import type {
  ExpectedRegistration,
  RegistrationEvidence,
  RegistrationPlace,
} from "../peers/registration.ts";
import * as peerRows from "../peers/store.ts";
import { expectedRestart } from "./restarts/replacement.ts";
import * as rows from "./store.ts";

interface Lookups {
  readonly db: Reader;
  readonly terminals: Pick<Terminals, "isSameJob">;
}

/** Completes a registration that a restart, a spawn or a link by the daemon expects. */
export function expectedRegistration(
  { db, terminals }: Lookups,
  registration: Registration,
  evidence: RegistrationEvidence,
): ExpectedRegistration {
  const expected: Partial<Registration> | undefined = expectedRestart(db, registration, evidence) ??
    expectedSpawn(db, registration) ?? linkedPeer({ db, terminals }, registration, evidence);
  const proven_peer_id = expected?.peer_id ?? evidence.proven_peer_id;
  return {
    registration: { ...registration, ...expected },
    evidence: { ...evidence, proven_peer_id },
  };
}

/** The fields of the spawn request, if the daemon started the agent on the registration's pane. */
function expectedSpawn(
  db: Reader,
  { pane_id, tmux_socket, backend }: Registration,
): Partial<Registration> | undefined {
  if (pane_id === undefined) return undefined;
  const spawn = rows.open(db).find((spawn) =>
    spawn.pane_id === pane_id && spawn.backend === backend &&
    (tmux_socket === undefined || tmux_socket === spawn.tmux_socket)
  );
  if (!spawn) return undefined;
  const { circle, role, name } = spawn;
  return { circle, role, tmux_socket: spawn.tmux_socket, ...(name && { name }) };
}

/**
 * The peer that was linked by its pane, if this registration comes from its agent and adds or
 * resumes the session. Any caller can read a peer's pane and pid, so the process must be proved. An
 * agent that was started in the shell of the linked agent is another job.
 */
function linkedPeer(
  { db, terminals }: Lookups,
  { backend, pane_id, tmux_socket, agent_pid, runtime_session_id }: Registration,
  { isProcess }: RegistrationEvidence,
): { peer_id: string } | undefined {
  if (!pane_id || !tmux_socket || !agent_pid || !runtime_session_id) return undefined;
  if (!isProcess?.(agent_pid)) return undefined;
  const found = peerRows.byPane(db, pane_id, tmux_socket).find((peer) =>
    peer.backend === backend && peer.agent_pid !== null &&
    [null, runtime_session_id].includes(peer.runtime_session_id) &&
    isLive(peer) && terminals.isSameJob(agent_pid, peer.agent_pid)
  );
  return found && { peer_id: found.peer_id };
}

interface LocationsDeps {
  readonly circle_boundary: CircleBoundary;
  /** The name of this machine. */
  readonly machine: string;
  readonly missingPanes: MissingPanes;
  /** A pane in tmux; undefined in another terminal. */
  paneOf(tmux_socket: string, pane_id: string): Promise<PaneRoot | undefined>;
}

/** Checks the tmux servers that registrations name, and finds the circles of their panes. */
export class RegistrationLocations {
  readonly #deps: LocationsDeps;

  constructor(deps: LocationsDeps) {
    this.#deps = deps;
  }

  /** Refuses a registration on this machine with an untrusted tmux socket. */
  mustBeTrustedSocket({ machine, tmux_socket }: Registration): void {
    if (this.#isHere(machine)) refuseUntrusted(tmux_socket);
  }

  /** Looks for the pane of a registration. */
  async placeOf(
    { machine, circle, pane_id, tmux_socket }: Registration,
  ): Promise<RegistrationPlace> {
    const { circle_boundary, missingPanes, paneOf } = this.#deps;
    if (!this.#isHere(machine) || !pane_id) return {};
    await missingPanes.look([{ pane_id, tmux_socket: tmux_socket ?? null }]);
    if (!tmux_socket) return {};
    const pane = await paneOf(tmux_socket, pane_id);
    const decides = circle === undefined && pane !== undefined;
    return { pane, pane_circle: decides ? circleOfPane(pane, circle_boundary) : undefined };
  }

  #isHere(machine: string | undefined): boolean {
    return machine === undefined || machine === this.#deps.machine;
  }
}
