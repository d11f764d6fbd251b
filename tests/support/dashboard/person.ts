/** A person at a page: the clicks and keys that a job takes, and how long it lasts. */

import type { Locator, Page } from "playwright-core";
import { systemClock } from "kit/core/clock.ts";

/** The effort of one job. A scroll is one look further down or up, by swipe or wheel. */
export interface Effort {
  readonly clicks: number;
  readonly keys: number;
  readonly scrolls: number;
  readonly seconds: number;
}

export class Person {
  readonly page: Page;
  #clicks = 0;
  #keys = 0;
  #scrolls = 0;
  readonly #started = systemClock.monotonic();

  constructor(page: Page) {
    this.page = page;
  }

  /** Clicks, or taps on a phone. */
  async click(target: Locator): Promise<void> {
    await this.see(target);
    this.#clicks++;
    await target.click();
  }

  /** Presses single keys or combinations. */
  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      this.#keys++;
      await this.page.keyboard.press(key);
    }
  }

  /** Types into the field that has the focus; each character is a key. */
  async type(text: string): Promise<void> {
    this.#keys += text.length;
    await this.page.keyboard.type(text);
  }

  /** Chooses an option of a list that the platform shows: a click opens it, a click chooses. */
  async choose(list: Locator, option: { readonly label: string }): Promise<void> {
    await this.see(list);
    this.#clicks += 2;
    await list.selectOption(option);
  }

  /** Waits until it is shown, and scrolls to it if it is out of sight. */
  async see(target: Locator): Promise<void> {
    await target.waitFor();
    const before = await target.boundingBox();
    await target.scrollIntoViewIfNeeded();
    const after = await target.boundingBox();
    if (before && after && Math.abs(before.y - after.y) > 1) this.#scrolls++;
  }

  async waitForFocus(field: Locator): Promise<void> {
    await field.and(this.page.locator(":focus")).waitFor();
  }

  get effort(): Effort {
    const seconds = (systemClock.monotonic() - this.#started) / 1000;
    return {
      clicks: this.#clicks,
      keys: this.#keys,
      scrolls: this.#scrolls,
      seconds: Math.round(seconds * 10) / 10,
    };
  }
}
