/** Measures what a finger must hit, and the size of texts. */

import type { Page } from "playwright-core";

const TARGET_PX_MIN = 44;
const TEXT_PX_MIN = 11;

/** The controls on a page that are smaller than a fingertip; links within a text are left out. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll(
    "button, a[href], input, select, textarea, summary, [role=option]",
  )].flatMap((element) => {
    // A row of a long list that is out of sight is not laid out.
    if (!element.checkVisibility({ contentVisibilityAuto: true })) return [];
    const { width, height } = element.getBoundingClientRect();
    const text = element.textContent.trim();
    const isInText = element.matches("a:not(svg a)") && element.parentElement.textContent.trim() !== text &&
      getComputedStyle(element).display === "inline";
    const isHidden = width <= 1 || element.closest(".skip, .unseen, [aria-hidden=true]") !== null;
    if (isHidden || isInText || Math.min(width, height) >= ${TARGET_PX_MIN} - 0.5) return [];
    const name = element.getAttribute("aria-label") ?? text.slice(0, 30);
    return [element.tagName + " " + name + ": " + width + " × " + height];
  })`);
}

/** The texts on a page that are too small to read. */
export function smallTexts(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll("body *")].flatMap((element) => {
    const isText = ({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== "";
    const text = [...element.childNodes].find(isText);
    const px = Number.parseFloat(getComputedStyle(element).fontSize);
    return text && element.checkVisibility() && px < ${TEXT_PX_MIN} ? [text.data + ": " + px] : [];
  })`);
}
