/**
 * Messages that move along edges. A frame is requested only while something moves. With reduced
 * motion each message is shown on its edge for a moment instead.
 */

import { type Curve, pointOn } from "./layout.ts";
import type { Stage } from "./traffic.ts";

const SVG = "http://www.w3.org/2000/svg";
const TRAVEL_MS = 1000;
/** The time for which a message is shown with reduced motion. */
const STAND_MS = 1500;
/** The time between two stages of one message. */
const BETWEEN_MS = 200;
/** Maximum marks at once: more would be unreadable, and slow. */
const MOVING_MAX = 120;

/** Shapes around the point 0 0: they differ for people who cannot tell the colours apart. */
export const SHAPES: Readonly<Record<Stage, string>> = {
  created: "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0",
  sent: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0",
  accepted: "M0 -6.5L6.5 0L0 6.5L-6.5 0Z",
  seen: "M-5 -5H5V5H-5Z",
};

interface MovingMark {
  readonly element: SVGPathElement;
  readonly curve: Curve;
  readonly starts_at: number;
}

export class MovingMessages {
  readonly #layer: SVGGElement;
  #moving: MovingMark[] = [];
  #frame = 0;

  constructor(layer: SVGGElement) {
    this.#layer = layer;
  }

  /** The number of marks shown now. */
  get count(): number {
    return this.#layer.childElementCount;
  }

  /** Shows the stages that a message reached, one after the other. */
  show(curve: Curve, stages: readonly Stage[]): void {
    if (document.hidden) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const shown = still ? stages.slice(-1) : stages.filter((stage) => stage !== "created");
    for (const [index, stage] of shown.entries()) {
      if (this.count >= MOVING_MAX) return;
      const element = this.#draw(stage, curve, still ? 0.5 : 0);
      if (still) setTimeout(() => element.remove(), STAND_MS);
      else {
        const starts_at = performance.now() + index * BETWEEN_MS;
        this.#moving.push({ element, curve, starts_at });
      }
    }
    if (this.#moving.length > 0 && this.#frame === 0) this.#request();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#moving = [];
    this.#layer.replaceChildren();
  }

  #draw(stage: Stage, curve: Curve, part: number): SVGPathElement {
    const element = document.createElementNS(SVG, "path");
    element.setAttribute("class", `token ${stage}`);
    element.setAttribute("d", SHAPES[stage]);
    place(element, curve, part);
    this.#layer.append(element);
    return element;
  }

  #request(): void {
    this.#frame = requestAnimationFrame((now) => this.#step(now));
  }

  #step(now: number): void {
    this.#moving = this.#moving.filter(({ element, curve, starts_at }) => {
      const part = Math.max(0, (now - starts_at) / TRAVEL_MS);
      if (part < 1) place(element, curve, ease(part));
      else element.remove();
      return part < 1;
    });
    this.#frame = 0;
    if (this.#moving.length > 0) this.#request();
  }
}

function place(element: SVGElement, curve: Curve, part: number): void {
  const { x, y } = pointOn(curve, part);
  element.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
}

/** Easing: slow at both ends. */
function ease(part: number): number {
  return part < 0.5 ? 2 * part * part : 1 - (2 - 2 * part) ** 2 / 2;
}
