/** Draws the growth of operations as small plots on one picture, both axes logarithmic. */

import { exponentOf, type Growth, type Point } from "./growth.ts";
import { format } from "./table.ts";

const COLUMNS = 4;
const PANEL = { width: 214, height: 132 } as const;
const PLOT = { left: 34, top: 34, width: 168, height: 72 } as const;
const LEGEND_HEIGHT = 26;
/** The range of times that every panel shows at least, as powers of ten. */
const DECADES_MIN = 2;

/** Readable on a light and on a dark page. */
const STYLE = "text{font:11px ui-sans-serif,system-ui,sans-serif;fill:#1f2328}" +
  ".title{font-weight:600}.small{font-size:9px;fill:#59636e}" +
  ".axis{stroke:#d1d9e0}.time{stroke:#0969da;fill:none;stroke-width:1.8}.timed{fill:#0969da}" +
  ".held{stroke:#bc4c00;fill:none;stroke-width:1.3}.holds{fill:#bc4c00}" +
  ".linear{stroke:#818b98;stroke-dasharray:3 3;fill:none}" +
  "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.axis{stroke:#3d444d}" +
  ".time{stroke:#4493f8}.timed{fill:#4493f8}.held{stroke:#f0883e}.holds{fill:#f0883e}}";

interface Spot {
  readonly x: number;
  readonly y: number;
}

interface Scales {
  x(n: number): number;
  y(ms: number): number;
  readonly low: number;
  readonly high: number;
}

/** The picture of a part; `title` is its label for screen readers. */
export function panels(title: string, growths: readonly Growth[]): string {
  const rows = Math.ceil(growths.length / COLUMNS);
  const width = COLUMNS * PANEL.width, height = rows * PANEL.height + LEGEND_HEIGHT;
  const drawn = growths.map((growth, at) => {
    const x = (at % COLUMNS) * PANEL.width, y = Math.floor(at / COLUMNS) * PANEL.height;
    return `<g transform="translate(${x} ${y})">${panel(growth)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
    `width="${width}" height="${height}" role="img">\n<title>${escapeXml(title)}</title>\n` +
    `<style>${STYLE}</style>\n${drawn.join("\n")}\n${legend(height - LEGEND_HEIGHT / 2)}\n</svg>\n`;
}

function panel(growth: Growth): string {
  const { points, what } = growth;
  const scales = scalesOf(points);
  const { left, top, width, height } = PLOT;
  const exponent = exponentOf(growth);
  const power = exponent === undefined ? "" : `n^${Math.max(0, exponent).toFixed(1)}`;
  const [first, last] = [points[0], points.at(-1)];
  return text(8, 14, what, "title") +
    text(8, 27, last ? `${format(last.ms)} ms, ${power}` : "", "small") +
    `<path class="axis" fill="none" d="M${left} ${top}V${top + height}H${left + width}"/>` +
    text(2, top + 8, tick(scales.high), "small") +
    text(2, top + height, tick(scales.low), "small") +
    (first ? text(left, top + height + 12, format(first.n), "small") : "") +
    (last ? text(left + width - 40, top + height + 12, format(last.n), "small") : "") +
    linear(points, scales) +
    line(points.map(({ n, ms }) => spot(scales, n, ms)), "time", "timed") +
    line(
      points.flatMap(({ n, block_ms }) =>
        block_ms === undefined ? [] : [spot(scales, n, block_ms)]
      ),
      "held",
      "holds",
    );
}

/** The axes of a panel: whole powers of ten around its times. */
function scalesOf(points: readonly Point[]): Scales {
  const times = points.flatMap(({ ms, block_ms }) => [ms, block_ms ?? ms]).filter((ms) => ms > 0);
  const low = Math.floor(Math.log10(Math.min(...times, 1)));
  const high = Math.max(Math.ceil(Math.log10(Math.max(...times))), low + DECADES_MIN);
  const sizes = points.map(({ n }) => Math.log(n));
  const [from, to] = [Math.min(...sizes), Math.max(...sizes)];
  const { left, top, width, height } = PLOT;
  return {
    low,
    high,
    x: (n) => left + width * (Math.log(n) - from) / (to - from || 1),
    y: (ms) => top + height * (1 - (Math.log10(Math.max(ms, 10 ** low)) - low) / (high - low)),
  };
}

/** The line of linear growth, from the first time. */
function linear(points: readonly Point[], scales: Scales): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last || first === last) return "";
  const from = spot(scales, first.n, first.ms);
  const ms = Math.min(first.ms * last.n / first.n, 10 ** scales.high);
  const to = spot(scales, first.n * ms / first.ms, ms);
  return `<path class="linear" d="M${at(from)}L${at(to)}"/>`;
}

function line(spots: readonly Spot[], line_class: string, spot_class: string): string {
  if (spots.length === 0) return "";
  const circles = spots.map(({ x, y }) =>
    `<circle class="${spot_class}" cx="${round(x)}" cy="${round(y)}" r="2.2"/>`
  );
  return `<path class="${line_class}" d="M${spots.map(at).join("L")}"/>${circles.join("")}`;
}

function legend(y: number): string {
  return `<path class="time" d="M8 ${y}h22"/>${text(36, y + 4, "time of the operation")}` +
    `<path class="held" d="M190 ${y}h22"/>` +
    text(218, y + 4, "longest delivery of other messages meanwhile") +
    `<path class="linear" d="M492 ${y}h22"/>${
      text(520, y + 4, "proportional to n; both axes log")
    }`;
}

function spot({ x, y }: Scales, n: number, ms: number): Spot {
  return { x: x(n), y: y(ms) };
}

function at({ x, y }: Spot): string {
  return `${round(x)} ${round(y)}`;
}

function tick(power: number): string {
  return power >= 3 ? `${10 ** (power - 3)} s` : `${Number((10 ** power).toPrecision(1))} ms`;
}

function text(x: number, y: number, content: string, name?: string): string {
  const style = name === undefined ? "" : ` class="${name}"`;
  return `<text${style} x="${round(x)}" y="${round(y)}">${escapeXml(content)}</text>`;
}

function escapeXml(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
