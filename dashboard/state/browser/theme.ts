/** The theme of the page: as the device has it, or a person's choice for this browser. */

import { signal } from "@preact/signals";
import { keepText, readKept } from "./storage.ts";

export type Theme = "device" | "dark" | "light";

const KEY = "mesh-theme";
const QUERY = /\(prefers-color-scheme: (dark|light)\)/g;

export const theme = signal<Theme>(toTheme(readKept(KEY)));

/** The conditions as they were written, by their owners. */
const written = new WeakMap<object, string>();

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  keepText(KEY, chosen === "device" ? null : chosen);
  applyTheme();
}

/** Replaces the conditions that ask for the device's theme, in the styles and for the browser. */
export function applyTheme(): void {
  for (const { cssRules } of document.styleSheets) {
    for (const rule of cssRules) {
      if (!(rule instanceof CSSMediaRule)) continue;
      rule.media.mediaText = conditionOf(rule, rule.media.mediaText);
    }
  }
  for (const meta of document.querySelectorAll<HTMLMetaElement>("meta[name=theme-color]")) {
    meta.media = conditionOf(meta, meta.media);
  }
}

function conditionOf(owner: object, condition: string): string {
  const before = written.get(owner) ?? condition;
  written.set(owner, before);
  const chosen = theme.value;
  if (chosen === "device") return before;
  // Always true, or never.
  return before.replaceAll(QUERY, (_, asked) => asked === chosen ? "(width >= 0)" : "(width < 0)");
}

function toTheme(kept: string | null): Theme {
  return kept === "dark" || kept === "light" ? kept : "device";
}
