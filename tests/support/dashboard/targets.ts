/** Measures what a finger must hit, and the size of texts. */

import type { Page } from "playwright-core";

export const TARGET_PX_MIN = 44;
export const TEXT_PX_MIN = 11;

/** The controls on a page that are smaller than a fingertip; links within a text are left out. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate((min: number) => {
    const controls = "button, a[href], input, select, textarea, summary, [role=option]";
    return [...document.querySelectorAll<HTMLElement>(controls)].flatMap((element) => {
      // A row of a long list that is out of sight is not laid out.
      if (!element.checkVisibility({ contentVisibilityAuto: true })) return [];
      const { width, height } = element.getBoundingClientRect();
      const isInText = element.matches("a:not(svg a)") &&
        getComputedStyle(element).display === "inline" &&
        (element.parentElement?.textContent ?? "").trim() !== (element.textContent ?? "").trim();
      const isHidden = width <= 1 || element.closest(".skip, .unseen, [aria-hidden=true]") !== null;
      if (isHidden || isInText || Math.min(width, height) >= min - 0.5) return [];
      const label = element.getAttribute("aria-label") ?? element.textContent?.trim().slice(0, 30);
      return [`${element.tagName}.${element.className} "${label}" ${width} × ${height}`];
    });
  }, TARGET_PX_MIN);
}

/** The texts on a page that are too small to read. */
export function smallTexts(page: Page): Promise<string[]> {
  return page.evaluate((min: number) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = new Set<string>();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const { parentElement, data } = node as Text;
      if (!parentElement?.checkVisibility() || data.trim() === "") continue;
      const px = Number.parseFloat(getComputedStyle(parentElement).fontSize);
      if (px < min) found.add(`${parentElement.tagName}.${parentElement.className} ${px} px`);
    }
    return [...found];
  }, TEXT_PX_MIN);
}
