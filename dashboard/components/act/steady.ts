/** Rows that have just moved take no clicks: the click may be meant for the previous row. */

import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** The time without movement after which a row takes clicks. */
const STILL_MS = 500;

interface Place {
  readonly top: number;
  /** The time of its arrival there, by the clock of events. */
  readonly since: number;
}

const places = new Map<string, Place>();
/** The ids of the elements that have just moved. */
export const moving = signal<ReadonlySet<string>>(new Set());
let timer: ReturnType<typeof setTimeout> | undefined;

/** Watches the children of a list by their ids. */
export function useSteadiness(list: RefObject<HTMLElement | null>): void {
  const known = useRef<readonly string[]>([]);
  useLayoutEffect(() => {
    measure(list.current);
    const ids = [...list.current?.children ?? []].map(({ id }) => id);
    // A row that comes back has moved, wherever it was before.
    for (const id of known.current) if (!ids.includes(id)) places.delete(id);
    known.current = ids;
  });
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    const observer = new ResizeObserver(() => measure(element));
    observer.observe(element);
    // A banner above the view moves the whole view.
    const main = element.closest("main");
    if (main) observer.observe(main);
    return () => {
      observer.disconnect();
      for (const { id } of element.children) places.delete(id);
    };
  }, []);
}

/** True if a click came too soon. The keyboard chooses an element, not a place: never too soon. */
export function isTooSoon(event: MouseEvent, id: string): boolean {
  const place = places.get(id);
  return event.detail > 0 && place !== undefined && event.timeStamp - place.since < STILL_MS;
}

function measure(list: HTMLElement | null): void {
  if (!list) return;
  const now = performance.now();
  const scrolled = (list.closest("main")?.scrollTop ?? 0) + scrollY;
  for (const element of list.children) {
    const top = Math.round(element.getBoundingClientRect().top + scrolled);
    if (places.get(element.id)?.top !== top) places.set(element.id, { top, since: now });
  }
  publish();
}

function publish(): void {
  const now = performance.now();
  const recent = [...places].filter(([, { since }]) => now - since < STILL_MS);
  const ids = recent.map(([id]) => id);
  if (ids.length !== moving.value.size || ids.some((id) => !moving.value.has(id))) {
    moving.value = new Set(ids);
  }
  clearTimeout(timer);
  if (recent.length === 0) return;
  const next = Math.min(...recent.map(([, { since }]) => since + STILL_MS - now));
  timer = setTimeout(publish, Math.max(next, 1));
}
