/** Health: the daemon, the relay, the account of all messages, and contradictory records. */

import * as at from "protocol/generated/endpoints.ts";
import { Age, duration, Fact, ResourceView, State } from "../components/basics.tsx";
import { Copy } from "../components/copy.tsx";
import { PeerLink } from "../components/message.tsx";
import { visible } from "../components/text/visible.tsx";
import { call, isRefusal, RELAYED } from "../state/calls.ts";
import type {
  DeliveryCounts,
  DoctorReport,
  Health as HealthRecord,
  Peer,
  Selftest,
} from "../state/records.ts";
import { useResource } from "../state/resource.ts";
import { livePeers, localPeers, peers } from "../state/store.ts";
import { Figures } from "./health_figures.tsx";

/** Peers that are examined at once. */
const EXAMINED_MAX = 40;
const EXAMINED_AT_ONCE = 4;

export function Health() {
  const health = useResource("health", ["health", "peers"], () => call(at.getHealth, {}), {
    kept: true,
  });
  return (
    <div class="tiles">
      <Figures />
      <ResourceView resource={health}>{(record) => <Daemon record={record} />}</ResourceView>
      {RELAYED ? <NoCounts /> : <Counts />}
      <Findings />
      <Selftests />
    </div>
  );
}

function Counts() {
  const counts = useResource(
    "counts",
    ["messages", "asks"],
    () => call(at.listDeliveries, { query: { limit: "1" } }),
    { kept: true },
  );
  return <ResourceView resource={counts}>{(record) => <Messages record={record} />}</ResourceView>;
}

/** The list of deliveries never passes the tunnel (contract 9), unlike the queue of each peer. */
function NoCounts() {
  const waiting = livePeers.value.filter(({ pending_ask_count }) => pending_ask_count > 0);
  const asks = waiting.reduce((sum, { pending_ask_count }) => sum + pending_ask_count, 0);
  return (
    <section class="card">
      <h2>Messages</h2>
      <dl class="facts">
        <Fact name="Asks that wait for a reply">{asks.toLocaleString()}</Fact>
        <Fact name="Peers that have such asks">{waiting.length.toLocaleString()}</Fact>
      </dl>
      <p class="hint">
        The account of all messages is not sent through a relay. The dashboard on that machine shows
        it: <code>mesh open</code>
      </p>
    </section>
  );
}

function Daemon({ record }: { record: HealthRecord }) {
  const { version, daemon_id, uptime_seconds, pid, peers } = record;
  // A daemon of an earlier version may not report it.
  const relay: HealthRecord["relay"] | undefined = record.relay;
  return (
    <section class="card">
      <h2>
        Daemon <State of={record.status} tone="good" />
      </h2>
      <dl class="facts">
        <Fact name="Version">{version}</Fact>
        <Fact name="Running for">{duration(uptime_seconds)} (process {pid})</Fact>
        <Fact name="Peers on record">{peers}</Fact>
        <Fact name="Machine">
          <code>{daemon_id}</code>
        </Fact>
        <Fact name="Relay">
          <State of={relay?.status} /> {relay?.url && <bdi>{relay.url}</bdi>}
          {relay?.last_error && <p class="reason">{visible(relay.last_error)}</p>}
        </Fact>
      </dl>
    </section>
  );
}

/** Each message that was accepted is in exactly one state. */
function Messages({ record }: { record: DeliveryCounts }) {
  const { counts, total, unproved, unaccounted } = record;
  return (
    <section class="card">
      <h2>
        Messages{" "}
        <State
          of={unaccounted.length === 0 ? "all accounted for" : `${unaccounted.length} unaccounted`}
          tone={unaccounted.length === 0 ? "good" : "bad"}
        />
      </h2>
      <dl class="facts">
        {Object.entries(counts).filter(([, count]) => count > 0).map(([state, count]) => [
          <dt key={state}>{state}</dt>,
          <dd key={`${state} count`}>{count.toLocaleString()}</dd>,
        ])}
        <Fact name="Sent without proof">{unproved.toLocaleString()}</Fact>
        <dt>
          <strong>Together</strong>
        </dt>
        <dd>
          <strong>{total.toLocaleString()}</strong>
        </dd>
      </dl>
      {unaccounted.map(({ delivery_id, problem }) => (
        <p key={delivery_id} class="rail warn error">
          <code>{delivery_id}</code> {problem}
        </p>
      ))}
    </section>
  );
}

interface Finding {
  readonly peer: Peer;
  readonly report: DoctorReport;
}

const onlinePeers = () => localPeers.peek().filter(({ status }) => status !== "offline");

/** Examines a few peers at a time. A peer that has just gone does not hide the others. */
async function examine(): Promise<Finding[]> {
  await peers.whenLoaded();
  const left = onlinePeers().slice(0, EXAMINED_MAX);
  const examined: Finding[] = [];
  const examineNext = async () => {
    for (let peer = left.shift(); peer; peer = left.shift()) {
      const examined_peer = peer;
      await call(at.diagnosePeer, { params: { id: examined_peer.peer_id }, query: {} }).then(
        (report) => examined.push({ peer: examined_peer, report }),
        (error) => {
          if (!isRefusal(error, "unknown_peer")) throw error;
        },
      );
    }
  };
  await Promise.all(Array.from({ length: EXAMINED_AT_ONCE }, examineNext));
  return examined;
}

/** The number of peers that an examination has reached. */
function reach(examined: number): string {
  return `${examined} of ${onlinePeers().length} online peers examined.`;
}

/** Contradictions in the daemon's records of live peers. */
function Findings() {
  const resource = useResource("findings", ["health"], examine, { kept: true });
  return (
    <section class="card findings">
      <h2>Findings</h2>
      <ResourceView resource={resource}>
        {(examined) => {
          const found = examined.filter(({ report }) => report.contradictions.length > 0);
          if (found.length === 0) {
            return <p>{`${reach(examined.length)} No contradiction.`}</p>;
          }
          return (
            <ul class="stack">
              {found.map(({ peer, report }) => (
                <li key={peer.peer_id}>
                  <PeerLink id={peer.peer_id} name={peer.name} />
                  {report.contradictions.map(({ code, severity, detail }) => (
                    <p key={code} class={`rail warn ${severity}`}>
                      <strong>{severity}</strong> {visible(detail)}
                    </p>
                  ))}
                </li>
              ))}
            </ul>
          );
        }}
      </ResourceView>
      <p class="hint">
        Everything at once: <code>mesh doctor</code> <Copy text="mesh doctor" />
      </p>
    </section>
  );
}

function Selftests() {
  const resource = useResource("selftests", ["health"], () => call(at.listSelftests, {}));
  return (
    <section class="card">
      <h2>Self-test of the agents</h2>
      <ResourceView resource={resource}>
        {({ tested }) =>
          tested.length === 0
            ? <p>No agent was tested on this machine yet.</p>
            : <Results tested={tested} />}
      </ResourceView>
      <p class="hint">
        Test all agents: <code>mesh selftest</code> <Copy text="mesh selftest" />
      </p>
    </section>
  );
}

function Results({ tested }: { tested: readonly Selftest[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Results of the self-test">
      <table>
        <thead>
          <tr>
            {["Agent", "Version", "Transport", "Result", "Tested"].map((title) => (
              <th key={title} scope="col">{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tested.map(({ agent, version, transport, degraded, why, at }) => (
            <tr key={`${agent} ${transport}`}>
              <th scope="row">{agent}</th>
              <td>
                <bdi>{visible(version)}</bdi>
              </td>
              <td>{transport}</td>
              <td>
                <State of={degraded ? "failed" : "passed"} tone={degraded ? "bad" : "good"} />
                {why && (
                  <span class="reason">
                    {" "}
                    <bdi>{visible(why)}</bdi>
                  </span>
                )}
              </td>
              <td>
                <Age at={at} suffix=" ago" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
