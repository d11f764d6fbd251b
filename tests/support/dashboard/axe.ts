/** Accessibility problems that axe finds in a page. */

import axe from "axe-core";
import type { Page } from "playwright-core";

/** Runs in the page: all rules, in the document, which has no frames. */
const RUN = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + " " + nodes[0].html))`;

/** Each violated rule, with the first element that violates it. */
export async function violationsOf(page: Page): Promise<string[]> {
  if (!await page.evaluate("'axe' in globalThis")) await page.evaluate(axe.source);
  return await page.evaluate<string[]>(RUN);
}
