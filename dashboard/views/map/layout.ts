/**
 * The places of the map's nodes: each circle is a ring, or a block of rows if a ring has no room.
 * The same input gives the same places.
 */

/** The nodes of the map. */
export interface Member {
  readonly id: string;
  readonly name: string;
  readonly circle: string;
}

/** The middle of a node's dot. */
export interface Place {
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

interface Ring {
  readonly circle: string;
  /** The nodes in a row of a block; 0 for a ring. */
  readonly columns: number;
  /** The middle. */
  readonly x: number;
  readonly y: number;
  readonly rx: number;
  readonly ry: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly rings: readonly Ring[];
  readonly places: ReadonlyMap<string, Place>;
}

/** The room of a node with its name below it. */
export const NODE = { width: 104, height: 46, above: 16 } as const;
/** The room of a circle's name above its ring. */
const TITLE_PX = 34;
const GAP_PX = 28;
const WIDTH_MIN = NODE.width * 2;
/** The ratio of a ring's width to its height, if there is room. */
const ASPECT = 1.5;
const STEP_PX = 4;
/** Maximum height of a ring; a higher one becomes a block. */
const RING_RY_MAX = 420;
/** The height of a block's row: its nodes, and room for edges between the rows. */
const ROW_PX = NODE.height + 22;
/** Rings grow by the first factor with which the map needs few rows and is not too high. */
const FACTORS = [2, 1.8, 1.6, 1.4, 1.2];
const ENLARGED_HEIGHT_MAX = 460;
const ENLARGED_ROWS_MAX = 2;

interface Size {
  readonly rx: number;
  readonly ry: number;
  readonly columns: number;
}

interface SizedCircle extends Size {
  readonly circle: string;
  readonly members: readonly Member[];
  readonly width: number;
  readonly height: number;
}

/** Rings in rows from left to right by the name of their circle, as large as there is room for. */
export function layoutMap(members: readonly Member[], wanted_width: number): Layout {
  const width = Math.max(WIDTH_MIN, wanted_width);
  const circles = [...Map.groupBy(members, ({ circle }) => circle)]
    .sort(([a], [b]) => compare(a, b))
    .map(([circle, of]) => toSizedCircle(circle, of.toSorted(byName), width));
  const tight = rowsOf(circles, width);
  for (const factor of FACTORS) {
    const rows = rowsOf(circles.map((circle) => enlarge(circle, factor)), width);
    const height = heightOf(rows);
    const is_few = rows.length <= Math.max(tight.length, ENLARGED_ROWS_MAX);
    if (is_few && height <= ENLARGED_HEIGHT_MAX) return placeRows(rows, width);
  }
  return placeRows(tight, width);
}

function placeRows(rows: readonly (readonly SizedCircle[])[], width: number): Layout {
  const rings: Ring[] = [], places = new Map<string, Place>();
  let top = 0;
  for (const row of rows) {
    const used = row.reduce((sum, circle) => sum + circle.width, 0) + GAP_PX * (row.length - 1);
    const height = heightOf([row]);
    let left = (width - used) / 2;
    for (const { circle, members, width: own, ...size } of row) {
      const x = left + own / 2;
      const y = top + TITLE_PX + NODE.above + (height - TITLE_PX - NODE.height) / 2;
      rings.push({ circle, x, y, rx: size.rx, ry: size.ry, columns: size.columns });
      for (const [index, spot] of spots(members.length, size).entries()) {
        const id = members[index]?.id;
        if (id !== undefined) places.set(id, { id, x: x + spot.x, y: y + spot.y });
      }
      left += own + GAP_PX;
    }
    top += height + GAP_PX;
  }
  return { width, height: heightOf(rows), rings, places };
}

function heightOf(rows: readonly (readonly SizedCircle[])[]): number {
  const heights = rows.map((row) => Math.max(...row.map(({ height }) => height)));
  return heights.reduce((sum, height) => sum + height + GAP_PX, 0) - (rows.length > 0 ? GAP_PX : 0);
}

/** A larger ring for the same members; they lie further apart. */
function enlarge(circle: SizedCircle, factor: number): SizedCircle {
  const [rx, ry] = [circle.rx * factor, circle.ry * factor];
  const width = circle.width + 2 * (rx - circle.rx), height = circle.height + 2 * (ry - circle.ry);
  return { ...circle, rx, ry, width, height };
}

function toSizedCircle(circle: string, members: readonly Member[], width: number): SizedCircle {
  const { rx, ry, columns } = sizeOf(members.length, (width - NODE.width) / 2);
  return {
    circle,
    members,
    rx,
    ry,
    columns,
    width: 2 * rx + NODE.width,
    height: 2 * ry + NODE.height + TITLE_PX,
  };
}

/** The smallest ring on which `count` nodes do not overlap; a block if no ring is large enough. */
function sizeOf(count: number, rx_max: number): Size {
  if (count < 2) return { rx: 0, ry: 0, columns: 0 };
  for (let ry = NODE.height / 2; ry <= RING_RY_MAX; ry += STEP_PX) {
    const rx = Math.min(rx_max, Math.max(NODE.width / 2 + 4, ry * ASPECT));
    if (!overlaps(spots(count, { rx, ry, columns: 0 }))) return { rx, ry, columns: 0 };
  }
  const columns = Math.min(count, Math.floor(2 * rx_max / NODE.width) + 1);
  const rows = Math.ceil(count / columns);
  return { rx: (columns - 1) * NODE.width / 2, ry: (rows - 1) * ROW_PX / 2, columns };
}

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** Places on a ring: two nodes side by side; more nodes begin at the top. */
function spots(count: number, { rx, ry, columns }: Size): Spot[] {
  if (columns > 0) return blockSpots(count, { rx, ry, columns });
  const start = count === 2 ? Math.PI : -Math.PI / 2;
  return Array.from({ length: count }, (_, index) => {
    const angle = start + index * 2 * Math.PI / count;
    return { x: rx * Math.cos(angle), y: ry * Math.sin(angle) };
  });
}

/** Rows from the left to the right. */
function blockSpots(count: number, { rx, ry, columns }: Size): Spot[] {
  const rows = Math.ceil(count / columns);
  const along = (half: number, at: number, of: number) =>
    of < 2 ? 0 : half * (2 * at / (of - 1) - 1);
  return Array.from({ length: count }, (_, index) => ({
    x: along(rx, index % columns, columns),
    y: along(ry, Math.floor(index / columns), rows),
  }));
}

function overlaps(all: readonly Spot[]): boolean {
  return all.some((a, index) =>
    all.slice(index + 1).some((b) =>
      Math.abs(a.x - b.x) < NODE.width && Math.abs(a.y - b.y) < NODE.height
    )
  );
}

function rowsOf(all: readonly SizedCircle[], width: number): SizedCircle[][] {
  const rows: SizedCircle[][] = [];
  let used = Infinity;
  for (const circle of all) {
    used += GAP_PX + circle.width;
    if (used > width) {
      rows.push([]);
      used = circle.width;
    }
    rows.at(-1)?.push(circle);
  }
  return rows;
}

/** A bow from one node to another; the other direction is another bow. */
export interface Curve {
  readonly from: Spot;
  readonly by: Spot;
  readonly to: Spot;
}

/** The distance of a bow from the straight line, as a part of its length. */
const BEND = 0.16;

export function curveOf(from: Place, to: Place): Curve {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const by = { x: (from.x + to.x) / 2 - dy * BEND, y: (from.y + to.y) / 2 + dx * BEND };
  return { from, by, to };
}

/** The point of a curve; `part` goes from 0 to 1. */
export function pointOn({ from, by, to }: Curve, part: number): Spot {
  const [a, b, c] = [(1 - part) ** 2, 2 * part * (1 - part), part ** 2];
  return { x: a * from.x + b * by.x + c * to.x, y: a * from.y + b * by.y + c * to.y };
}

function byName(a: Member, b: Member): number {
  return compare(a.name, b.name) || compare(a.id, b.id);
}

/** The same in every language of the browser. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
