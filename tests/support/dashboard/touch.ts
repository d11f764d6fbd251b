/** Fingers on the screen, as the browser gets them from a device. */

import type { Locator, Page } from "playwright-core";

interface Point {
  readonly x: number;
  readonly y: number;
}

const STEPS = 8;

/** Moves a finger from a point to another, and lifts it. */
export async function drag(page: Page, from: Point, to: Point): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const send = (type: "touchStart" | "touchMove" | "touchEnd", touchPoints: Point[]) =>
    devtools.send("Input.dispatchTouchEvent", { type, touchPoints });
  await send("touchStart", [from]);
  for (let step = 1; step <= STEPS; step++) {
    const share = step / STEPS;
    const between = (start: number, end: number) => start + (end - start) * share;
    await send("touchMove", [{ x: between(from.x, to.x), y: between(from.y, to.y) }]);
  }
  await send("touchEnd", []);
  await devtools.detach();
}

/** Swipes over a row by some pixels: to the right, or by a negative number to the left. */
export async function swipe(page: Page, row: Locator, by: number): Promise<void> {
  const box = await row.boundingBox();
  if (!box) throw new Error("The row is not on the page");
  const y = box.y + 24, x = by > 0 ? 120 : 270;
  await drag(page, { x, y }, { x: x + by, y: y + 4 });
}
