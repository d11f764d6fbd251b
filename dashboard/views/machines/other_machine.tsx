/** Another machine: its state, the messages that wait for it, and the peers that it shares. */

import { Age, duration, Fact, State } from "../../components/basics.tsx";
import { useFold } from "../../components/act/folds.ts";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import {
  clockDifference,
  isOffline,
  latency,
  recipientsAmong,
  type RemoteGroup,
} from "../../state/remote.ts";
import type { Message, OtherMachine, Peer } from "../../state/records.ts";
import { Circles } from "../mesh/circles.tsx";

/** Maximum recipients named; the others are counted. */
const RECIPIENTS_MAX = 5;

interface Props {
  readonly group: RemoteGroup;
  /** The messages that may wait for any machine. */
  readonly messages: readonly Message[];
  /** The peers that are listed above all machines. */
  readonly above: readonly Peer[];
  readonly dense: boolean;
  /** True if its peers are shown although it is offline, because they match a search. */
  readonly is_unfolded: boolean;
}

export function OtherMachineGroup({ group, messages, above, dense, is_unfolded }: Props) {
  const { daemon_id, name, machine, peers } = group;
  const [is_detailed, turnDetails] = useFold(`machine/${daemon_id}`, false);
  const [is_open, turn] = useFold(`machine/${daemon_id}/peers`, false);
  const is_folded = isOffline(group) && !is_unfolded;
  const is_shown = !is_folded || is_open;
  return (
    <section class="machine rail stack" aria-label={name}>
      <header class="cluster">
        <h2>
          <bdi>{visible(name)}</bdi>
        </h2>
        {machine && <Facts machine={machine} />}
        {is_folded && peers.length > 0 && (
          <button type="button" class="quiet" aria-expanded={is_open} onClick={turn}>
            {is_open ? "Hide" : "Show"} {countText(peers.length, "peer")}
            <span class="unseen">of {name}</span>
          </button>
        )}
        {machine && (
          <button
            type="button"
            class="quiet"
            aria-expanded={is_detailed}
            aria-label={`Details of ${name}`}
            onClick={turnDetails}
          >
            Details
          </button>
        )}
      </header>
      {machine && machine.waiting > 0 && (
        <Waits machine={machine} peers={peers} messages={messages} />
      )}
      {machine?.went_back && <WentBack loss={machine.went_back} />}
      {machine && is_detailed && <Details machine={machine} peers={peers} />}
      {is_shown && (
        <Circles
          peers={peers}
          above={above}
          dense={dense}
          is_filtered={is_unfolded || isOffline(group)}
          level="h3"
        />
      )}
      {peers.length === 0 && <p class="hint">It shares no peers with this machine.</p>}
    </section>
  );
}

/** Its state, and the age of the evidence. */
function Facts({ machine }: { machine: OtherMachine }) {
  const { status, last_seen } = machine;
  return (
    <span class="cluster">
      <State of={status} />
      <LastSeen machine={machine} at={last_seen} />
      {status === "online" && <Measured machine={machine} />}
    </span>
  );
}

/** The last measurements, which say nothing about an offline machine. */
function Measured({ machine: { latency_ms, clock_ahead_ms } }: { machine: OtherMachine }) {
  const clock = clockDifference(clock_ahead_ms, duration);
  return (
    <>
      {latency_ms !== null && <span class="hint">latency {latency(latency_ms)}</span>}
      {clock && <span class="reason">its clock is {clock}</span>}
    </>
  );
}

function LastSeen({ machine: { status }, at }: { machine: OtherMachine; at: string | null }) {
  if (at === null) return <span class="hint">no sign of it since this daemon started</span>;
  return status === "online"
    ? (
      <span class="hint">
        seen <Age at={at} suffix=" ago" />
      </span>
    )
    : (
      <span class="hint">
        its daemon has given no sign for <Age at={at} />
      </span>
    );
}

/** The waiting messages: how many, since when, and for whom. */
function Waits(
  { machine: { waiting, oldest_waiting_at }, peers, messages }: {
    machine: OtherMachine;
    peers: readonly Peer[];
    messages: readonly Message[];
  },
) {
  const recipients = recipientsAmong(peers, messages);
  const named = recipients.slice(0, RECIPIENTS_MAX);
  const others = waiting - named.reduce((sum, { count }) => sum + count, 0);
  return (
    <p class="machine-waits rail warn cluster hint">
      <span>
        <strong>{waiting.toLocaleString()}</strong> {waiting === 1 ? "waits" : "wait"} here
        {oldest_waiting_at && (
          <>
            , the oldest for <Age at={oldest_waiting_at} />
          </>
        )}
        {named.length > 0 && ":"}
      </span>
      {named.map(({ peer_id, name, count }) => (
        <span key={peer_id}>
          {count.toLocaleString()} for <PeerLink id={peer_id} name={name} />
        </span>
      ))}
      {named.length > 0 && others > 0 && <span class="hint">and {countText(others, "other")}</span>}
    </p>
  );
}

/** The last time at which one of the two databases was found to be an earlier copy. */
function WentBack({ loss }: { loss: NonNullable<OtherMachine["went_back"]> }) {
  return (
    <p class="hint">
      An earlier copy of its database or of this machine's was restored, found{" "}
      <Age at={loss.at} suffix=" ago" />: {loss.sent_again.toLocaleString()}{" "}
      messages and reports were sent again
    </p>
  );
}

function Details({ machine, peers }: { machine: OtherMachine; peers: readonly Peer[] }) {
  const { daemon_id, fingerprint, may_administer } = machine;
  const circles = [...new Set(peers.map(({ circle }) => circle))].sort();
  return (
    <dl class="card facts machine-details">
      <Fact name="Id">
        <code>{daemon_id}</code>
      </Fact>
      <Fact name="Fingerprint">
        <code>{fingerprint}</code>
      </Fact>
      <Fact name="Shares">{circles.length > 0 ? visible(circles.join(", ")) : "no peers"}</Fact>
      <Fact name="Its rights here">
        {may_administer ? "It may administer this machine, as its human" : "Messages only"}
      </Fact>
    </dl>
  );
}

function countText(count: number, what: string): string {
  return `${count.toLocaleString()} ${what}${count === 1 ? "" : "s"}`;
}
