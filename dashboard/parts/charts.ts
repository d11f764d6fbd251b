/** Line charts over time. A separate file, because uPlot is loaded only when a chart is shown. */

import uPlot from "uplot";
import type { ChartData } from "./chart_data.ts";

interface ChartOptions {
  /** A value as text, with its unit. */
  readonly format: (value: number) => string;
  /** True if values differ by orders of magnitude. */
  readonly wide: boolean;
  /** The index of the time under the pointer; null when it has left. */
  readonly point: (index: number | null) => void;
}

const HEIGHT_PX = 170;
const AXIS_PX = 56;
const TIME_AXIS_PX = 28;
const DECADES_SHOWN = 3;
const DECADES = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7];
const THEMES = ["(prefers-color-scheme: light)", "(prefers-contrast: more)"];

/** One chart in a box; it follows the width of the box, and the theme. */
export class Chart {
  readonly #plot: uPlot;
  readonly #stop: () => void;

  constructor(box: HTMLElement, data: ChartData, options: ChartOptions) {
    // A canvas does not know light-dark(): only a property of an element has one colour.
    const colourOf = (name: string) => {
      box.style.color = `var(${name})`;
      return getComputedStyle(box).color;
    };
    this.#plot = new uPlot(optionsOf(box, data, options, colourOf), columnsOf(data), box);
    const resize = () => this.#plot.setSize({ width: widthOf(box), height: HEIGHT_PX });
    const redraw = () => this.#plot.redraw(false, true);
    const observer = new ResizeObserver(resize);
    observer.observe(box);
    const themes = THEMES.map((query) => matchMedia(query));
    for (const theme of themes) theme.addEventListener("change", redraw);
    this.#stop = () => {
      observer.disconnect();
      for (const theme of themes) theme.removeEventListener("change", redraw);
    };
  }

  update(data: ChartData): void {
    this.#plot.setData(columnsOf(data));
  }

  close(): void {
    this.#stop();
    this.#plot.destroy();
  }
}

function columnsOf({ times, lines }: ChartData): uPlot.AlignedData {
  return [[...times], ...lines.map(({ values }) => [...values])];
}

function widthOf(box: HTMLElement): number {
  return Math.max(160, Math.floor(box.clientWidth));
}

function optionsOf(
  box: HTMLElement,
  { lines }: ChartData,
  { format, wide, point }: ChartOptions,
  colourOf: (name: string) => string,
): uPlot.Options {
  const axis = {
    stroke: () => colourOf("--muted"),
    grid: { stroke: () => colourOf("--line"), width: 1 },
    ticks: { show: false },
    font: `12px ${getComputedStyle(box).fontFamily}`,
  };
  return {
    width: widthOf(box),
    height: HEIGHT_PX,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { time: true },
      // Similar to a square root: it shows 0, and values of 1 beside values of 10,000.
      y: wide ? { distr: 4, asinh: 1, range: rangeOf } : { range: rangeOf },
    },
    axes: [
      { ...axis, size: TIME_AXIS_PX, values: (_plot, times) => times.map(clockText) },
      {
        ...axis,
        size: AXIS_PX,
        values: (_plot, values) => values.map(format),
        ...(wide && { splits: (plot) => decadesTo(plot.scales["y"]?.max ?? 0) }),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour, filled = false }) => ({
        label,
        stroke: () => colourOf(colour),
        width: 1.5,
        spanGaps: false,
        points: { show: true, size: 5, filter: isolatedPoints },
        ...(filled && { fill: () => `color-mix(in srgb, ${colourOf(colour)} 18%, transparent)` }),
      })),
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => point(idx ?? null)] },
  };
}

/** The lines of a wide axis: at 0, and at the highest powers of ten. */
function decadesTo(max: number): number[] {
  return [0, ...DECADES.filter((at) => at <= max).slice(-DECADES_SHOWN)];
}

/** The values between two gaps, which no line shows. */
function isolatedPoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  const isKnown = (at: number) => (values[at] ?? null) !== null;
  return [...values.keys()].filter((at) => isKnown(at) && !isKnown(at - 1) && !isKnown(at + 1));
}

/** From 0 to a little above the largest value. */
function rangeOf(_plot: uPlot, _min: number | null, max: number | null): [number, number] {
  return [0, Math.max(1, (max ?? 0) * 1.1)];
}

function clockText(seconds: number): string {
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", time);
}
