/** Accessibility problems that axe finds in a page. */

import axe from "axe-core";
import type { Page } from "playwright-core";

/** Runs in the page, in the document, which has no frames. */
function run(rules: { readonly runOnly?: readonly string[] }): string {
  const options = JSON.stringify({ resultTypes: ["violations"], selectors: false, ...rules });
  return `axe.run(document, ${options}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + " " + nodes[0].html))`;
}

/** The rules of colours for light ones, all rules for dark ones: nothing else differs. */
const RUNS = {
  light: run({ runOnly: ["color-contrast", "link-in-text-block"] }),
  dark: run({}),
} as const;

/** Each rule that the page violates in dark or light, with the first element that violates it. */
export async function violationsOf(page: Page): Promise<string[]> {
  if (!await page.evaluate("'axe' in globalThis")) await page.evaluate(axe.source);
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const violations = await page.evaluate<string[]>(RUNS[colorScheme]);
    found.push(...violations.map((line) => `${colorScheme}: ${line}`));
  }
  return found;
}
