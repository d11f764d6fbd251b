/** The live map: messages between peers, now and at each moment of the last hour. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Empty, ResourceView } from "../../components/basics.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { HOUR_MS, useHour } from "./hour.ts";
import type { Hour } from "./hour_pages.ts";
import type { LogEvent, Peer } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { now, peers } from "../../state/store.ts";
import { curvesOf, Graph } from "./graph.tsx";
import { Happened, Scrubber, Sign } from "./history.tsx";
import { type Layout, layoutMap } from "./layout.ts";
import { lookOf, type Node, nodesOf, statusesAt } from "./members.ts";
import { MovingMessages } from "./moving.ts";
import { type Edge, edgesOf, inPlayAt, keyOf, STAGES, StepWatcher } from "./traffic.ts";
import { currentTime } from "../../state/clock.ts";

const EVENTS_MAX = 1000;
const EVENTS_INTERVAL_MS = 2000;
const NO_EVENTS: readonly LogEvent[] = [];
const WIDTH_BEFORE_MEASURED = 1100;

export function MeshMap() {
  const hour = useHour();
  return (
    <ResourceView resource={hour}>
      {(loaded) => (
        <ResourceView resource={peers}>{(all) => <MapOf hour={loaded} peers={all} />}</ResourceView>
      )}
    </ResourceView>
  );
}

function MapOf({ hour: { messages, truncated }, peers }: { hour: Hour; peers: readonly Peer[] }) {
  const [moment, choose] = useState<number | undefined>();
  const events = useEvents();
  const nodes = useMemo(() => nodesOf(peers, messages), [peers, messages]);
  const [box, width] = useWidth();
  const members = nodes.map(({ id, name, circle }) => `${id} ${name} ${circle}`).sort().join("\n");
  const layout = useMemo(() => layoutMap(nodes, width), [members, width]);
  const edges = useMemo(() => edgesOf(messages), [messages]);
  const layer = useMoving({ layout, edges }, messages, moment === undefined);
  const [focused, focus] = useState<string | undefined>();
  if (nodes.length === 0) {
    return (
      <Empty title="Nobody is here" command="mesh setup">
        Peers appear as soon as they connect.
      </Empty>
    );
  }
  const end = moment ?? Math.max(now.value, Date.parse(messages[0]?.created_at ?? "") || 0);
  return (
    <div class="stack">
      <div class="map-box card" ref={box}>
        <Graph
          layout={layout}
          nodes={nodes}
          edges={edges}
          in_play={moment === undefined ? [] : inPlayAt(messages, moment)}
          statuses={moment === undefined ? new Map() : statusesAt(events, moment)}
          summary={summaryOf(nodes, edges, messages.length)}
          focused={focused}
          focus={focus}
          layer={layer}
        />
      </div>
      <Legend truncated={truncated} count={messages.length} />
      <Scrubber messages={messages} end={now.value} at={moment} choose={choose} />
      <Happened messages={messages} events={events} at={end} />
      <AsTable nodes={nodes} edges={edges} />
    </div>
  );
}

/** The newest events of the log, oldest first. */
function useEvents(): readonly LogEvent[] {
  const load = async () => {
    const newest = String(EVENTS_MAX);
    const { events } = await call(at.listEvents, { query: { replay: newest, limit: newest } });
    return events.filter(({ timestamp }) => Date.parse(timestamp) > currentTime() - HOUR_MS);
  };
  const topics = ["peers", "jobs", "schedules"] as const;
  const options = { interval_ms: EVENTS_INTERVAL_MS };
  return useResource("events", topics, load, options).value.value ?? NO_EVENTS;
}

/** The present width of the map. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(WIDTH_BEFORE_MEASURED);
  useLayoutEffect(() => {
    const read = () => box.current && setWidth(Math.floor(box.current.clientWidth));
    const observer = new ResizeObserver(read);
    if (box.current) observer.observe(box.current);
    read();
    return () => observer.disconnect();
  }, []);
  return [box, width] as const;
}

/** Shows the stages since the last load; nothing while a past moment is shown. */
function useMoving(
  drawn: { layout: Layout; edges: readonly Edge[] },
  messages: Hour["messages"],
  live: boolean,
) {
  const layer = useRef<SVGGElement>(null);
  const moving = useRef<MovingMessages>(undefined);
  const watcher = useMemo(() => new StepWatcher(), []);
  useEffect(() => {
    if (layer.current) moving.current = new MovingMessages(layer.current);
    return () => moving.current?.stop();
  }, []);
  useEffect(() => {
    const found = watcher.next(messages);
    if (!live) return;
    const curves = curvesOf(drawn);
    for (const { message, stages } of found) {
      const curve = curves.get(keyOf(message));
      if (curve) moving.current?.show(curve, stages);
    }
  }, [messages]);
  useEffect(() => {
    if (!live) moving.current?.stop();
  }, [live]);
  return layer;
}

function summaryOf(nodes: readonly Node[], edges: readonly Edge[], count: number): string {
  const circles = new Set(nodes.map(({ circle }) => circle)).size;
  return `Map: ${nodes.length} nodes in ${circles} circles, ${edges.length} edges, ` +
    `${count} messages in the last hour`;
}

function Legend({ truncated, count }: { truncated: boolean; count: number }) {
  return (
    <p class="cluster hint">
      {STAGES.filter((stage) => stage !== "created").map((stage) => (
        <span key={stage}>
          <Sign stage={stage} /> {stage}
        </span>
      ))}
      <span>
        <i class="edge-sample open" /> open ask
      </span>
      <span>
        <i class="edge-sample waiting" /> waits to be sent
      </span>
      <span class="grow" />
      <span>
        {truncated
          ? `The newest ${count} messages of the last hour`
          : `${count} messages in the last hour`}
      </span>
    </p>
  );
}

/** The same for people who cannot see the drawing. */
function AsTable({ nodes, edges }: { nodes: readonly Node[]; edges: readonly Edge[] }) {
  const names = new Map(nodes.map((node) => [node.id, node.name]));
  return (
    <details class="map-table">
      <summary>The map as a table</summary>
      <div class="scroll">
        <table>
          <caption>Messages of the last hour</caption>
          <thead>
            <tr>
              {["From", "To", "Messages", "Open asks", "Waiting", "Last"].map((title) => (
                <th key={title} scope="col">{title}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {edges.toSorted((a, b) => b.count - a.count).map((edge) => (
              <tr key={edge.key}>
                <td>
                  <bdi>{visible(names.get(edge.from) ?? "")}</bdi>
                </td>
                <td>
                  <bdi>{visible(names.get(edge.to) ?? "")}</bdi>
                </td>
                <td>{edge.count}</td>
                <td>{edge.open_asks}</td>
                <td>{edge.waiting}</td>
                <td>{edge.last.state}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">
        {nodes.map((node) => `${node.name}: ${lookOf(node).replaceAll("_", " ")}`).join(", ")}
      </p>
    </details>
  );
}
