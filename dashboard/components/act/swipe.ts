/**
 * Swipes of a row to the right or to the left, for touch. Each does what a button of the row does,
 * and none permits anything: a swipe may be an accident.
 */

import { useRef } from "preact/hooks";

export interface SwipeAct {
  /** Shown beside the row while it moves. */
  readonly label: string;
  readonly act: (row: HTMLElement) => void;
}

export interface Swipes {
  readonly right?: SwipeAct | undefined;
  readonly left?: SwipeAct | undefined;
}

/** The distance after which a movement is a swipe or a scroll. */
const DECIDED_PX = 12;
/** The distance after which letting go acts. */
const ACT_PX = 88;
/** Gestures of the browser and the device begin at the edges of the screen. */
const EDGE_PX = 28;
/** A swipe is this much more sideways than upright. */
const SLOPE = 1.5;
/** Part of the movement that a row follows to a side without an act. */
const RESISTANCE = 0.2;

const FIELDS = "input, textarea, select, [contenteditable]";

interface Movement {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  is_swipe: boolean;
}

/** The properties of a row that takes swipes. */
export function useSwipe(swipes: Swipes) {
  const movement = useRef<Movement | undefined>(undefined);
  const newest = useRef(swipes);
  newest.current = swipes;
  const end = (row: HTMLElement) => {
    movement.current = undefined;
    show(row, 0, undefined);
  };
  return {
    "data-swipe": true,
    onPointerDown(event: RowEvent) {
      const { isPrimary, pointerId, clientX, clientY } = event;
      if (!isPrimary || !mayBegin(event)) return;
      movement.current = { id: pointerId, x: clientX, y: clientY, is_swipe: false };
    },
    onPointerMove({ currentTarget: row, pointerId, clientX, clientY }: RowEvent) {
      const now = movement.current;
      if (now?.id !== pointerId) return;
      const [x, y] = [clientX - now.x, clientY - now.y];
      if (!now.is_swipe) {
        if (Math.hypot(x, y) < DECIDED_PX) return;
        if (Math.abs(x) < SLOPE * Math.abs(y)) return end(row);
        now.is_swipe = true;
        row.setPointerCapture(pointerId);
      }
      show(row, x, actOf(newest.current, x));
    },
    onPointerUp({ currentTarget: row, pointerId, clientX }: RowEvent) {
      const now = movement.current;
      if (now?.id !== pointerId) return;
      const x = clientX - now.x;
      const chosen = now.is_swipe && Math.abs(x) >= ACT_PX ? actOf(newest.current, x) : undefined;
      end(row);
      chosen?.act(row);
    },
    onPointerCancel({ currentTarget }: RowEvent) {
      end(currentTarget);
    },
  };
}

type RowEvent = PointerEvent & { readonly currentTarget: HTMLElement };

const actOf = ({ right, left }: Swipes, x: number) => x > 0 ? right : left;

/** False for a mouse, in a field, beside a selection, and where the touch scrolls sideways. */
function mayBegin({ pointerType, clientX, target, currentTarget: row }: RowEvent): boolean {
  if (pointerType === "mouse" || clientX < EDGE_PX || clientX > innerWidth - EDGE_PX) return false;
  if (!(target instanceof Element) || target.closest(FIELDS)) return false;
  if (getSelection()?.isCollapsed === false || (visualViewport?.scale ?? 1) > 1.01) return false;
  for (let box: Element | null = target; box && box !== row; box = box.parentElement) {
    const scrolls = box.scrollWidth > box.clientWidth && box.clientWidth > 0;
    if (scrolls && /auto|scroll/.test(getComputedStyle(box).overflowX)) return false;
  }
  return true;
}

/** Moves the row, with the name of the act beside it. */
function show(row: HTMLElement, x: number, act: SwipeAct | undefined): void {
  const { dataset, style } = row;
  if (x === 0) {
    for (const name of ["swipeTo", "swipeLabel", "swipeActs"]) delete dataset[name];
    style.removeProperty("--swipe");
    return;
  }
  dataset["swipeTo"] = x > 0 ? "right" : "left";
  dataset["swipeLabel"] = act?.label ?? "";
  if (act && Math.abs(x) >= ACT_PX) dataset["swipeActs"] = "";
  else delete dataset["swipeActs"];
  style.setProperty("--swipe", `${act ? x : x * RESISTANCE}px`);
}
