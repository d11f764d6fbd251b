/** Divides the screen's rows among the sections, and finds the first visible row of a list. */

import { type Section, SECTIONS } from "../sections.ts";

/** Minimum height at which sections without the focus are shown. */
const SHARED_ROWS_MIN = 10;
/** Minimum height of a section: a title and two rows. */
const SECTION_ROWS_MIN = 3;

/** The rows of each section, its title included; 0 for one that is not shown. */
type Heights = Readonly<Record<Section, number>>;

/** `wants` is the number of rows that each section could fill. */
export function shareRows(
  wants: Heights,
  height: number,
  focus: Section,
  shown: readonly Section[] = SECTIONS,
): Heights {
  const heights = { attention: 0, peers: 0, feed: 0 };
  if (height < SHARED_ROWS_MIN && shown.includes(focus)) return { ...heights, [focus]: height };
  let left = height;
  const give = (section: Section, max: number) => {
    const given = Math.max(0, Math.min(left, max - heights[section]));
    heights[section] += given;
    left -= given;
  };
  const order = [focus, ...shown.filter((section) => section !== focus)]
    .filter((section) => shown.includes(section));
  for (const section of order) give(section, Math.min(wants[section], SECTION_ROWS_MIN));
  const share = Math.floor(height / order.length);
  for (const section of order) give(section, Math.min(wants[section], share));
  for (const section of order) give(section, wants[section]);
  give(order.includes("feed") ? "feed" : order.at(-1) ?? focus, height);
  return heights;
}

/** The first visible row of a list, so that the selected one is near the middle. */
export function firstVisible(count: number, selected: number, height: number): number {
  const centred = selected - Math.floor(height / 2);
  return Math.max(0, Math.min(centred, count - height));
}
