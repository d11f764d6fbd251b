/** The drawing of the map: circles, edges by traffic, peers, and messages on their way. */

import type { Ref } from "preact";
import { link } from "../../state/router.ts";
import { type Curve, curveOf, type Layout, NODE, pointOn } from "./layout.ts";
import { lookOf, type Node } from "./members.ts";
import { SHAPES } from "./moving.ts";
import { type Edge, type InPlay, keyOf } from "./traffic.ts";

interface GraphProps {
  readonly layout: Layout;
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
  /** The messages on the edges at a past moment. */
  readonly in_play: readonly InPlay[];
  /** Peers whose status at that moment differed. */
  readonly statuses: ReadonlyMap<string, string>;
  readonly summary: string;
  /** The node whose edges are highlighted. */
  readonly focused: string | undefined;
  readonly focus: (id: string | undefined) => void;
  /** The element in which moving messages are drawn. */
  readonly layer: Ref<SVGGElement>;
}

const NAME_CHARS_MAX = 14;
const EDGE_PX_MAX = 7;

export function Graph(props: GraphProps) {
  const { layout: { width, height, rings }, nodes, edges, in_play, summary } = props;
  const curves = curvesOf(props);
  return (
    <svg
      class={`map ${props.focused === undefined ? "" : "focused"}`}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="group"
      aria-label={summary}
    >
      {rings.map(({ circle, columns, x, y, rx, ry }) => (
        <g key={circle} class="ring">
          {columns === 0 && <ellipse cx={x} cy={y} rx={rx} ry={ry} />}
          <text x={x} y={y - ry - NODE.above - 12}>{circle}</text>
        </g>
      ))}
      {edges.map((edge) => {
        const curve = curves.get(edge.key);
        return curve && <EdgeLine key={edge.key} edge={edge} curve={curve} {...props} />;
      })}
      <g ref={props.layer} class="tokens" aria-hidden="true" />
      <g class="tokens" aria-hidden="true">
        {in_play.map(({ message, stage, part }) => {
          const curve = curves.get(keyOf(message));
          if (!curve) return null;
          const { x, y } = pointOn(curve, part);
          return (
            <path
              key={message.delivery_id}
              class={`token ${stage}`}
              d={SHAPES[stage]}
              transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}
            />
          );
        })}
      </g>
      {nodes.map((node) => <NodeMark key={node.id} node={node} {...props} />)}
    </svg>
  );
}

/** The curve of each edge by its key. */
export function curvesOf(
  { layout: { places }, edges }: { layout: Layout; edges: readonly Edge[] },
): Map<string, Curve> {
  return new Map(edges.flatMap(({ key, from, to }) => {
    const [a, b] = [places.get(from), places.get(to)];
    return a && b ? [[key, curveOf(a, b)]] : [];
  }));
}

function EdgeLine(
  { edge, curve: { from, by, to }, focused }: { edge: Edge; curve: Curve } & GraphProps,
) {
  const width = Math.min(EDGE_PX_MAX, 1 + Math.log2(edge.count));
  const state = edge.waiting > 0 ? "waiting" : edge.open_asks > 0 ? "open" : "";
  const own = focused === edge.from || focused === edge.to ? "own" : "";
  return (
    <path
      class={`edge ${state} ${own}`}
      d={`M${from.x} ${from.y}Q${by.x} ${by.y} ${to.x} ${to.y}`}
      stroke-width={width.toFixed(1)}
    />
  );
}

function NodeMark({ node, layout: { places }, statuses, focus }: { node: Node } & GraphProps) {
  const place = places.get(node.id);
  if (!place) return null;
  const look = statuses.get(node.id) ?? lookOf(node);
  const name = node.name.length > NAME_CHARS_MAX
    ? `${node.name.slice(0, NAME_CHARS_MAX - 1)}…`
    : node.name;
  const mark = (
    <g class={`node ${look}`} transform={`translate(${place.x} ${place.y})`}>
      <title>{`${node.name}: ${look.replaceAll("_", " ")}`}</title>
      <rect x={-NODE.width / 2} y={-NODE.above} width={NODE.width} height={NODE.height} rx={6} />
      <circle r={9} />
      <text y={24}>{name}</text>
    </g>
  );
  if (!node.peer) return mark;
  const label = `${node.name}, ${look.replaceAll("_", " ")}, circle ${node.circle}`;
  return (
    <a
      href={link("peers", node.id)}
      aria-label={label}
      onMouseEnter={() => focus(node.id)}
      onMouseLeave={() => focus(undefined)}
      onFocus={() => focus(node.id)}
      onBlur={() => focus(undefined)}
    >
      {mark}
    </a>
  );
}
