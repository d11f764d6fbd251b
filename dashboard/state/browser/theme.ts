/** The theme of the page: as the device has it, or a person's choice for this browser. */

import { signal } from "@preact/signals";
import { keepText, readKept } from "./storage.ts";

export type Theme = "device" | "dark" | "light";

const KEY = "mesh-theme";
const SCHEME = /dark|light/;

export const theme = signal<Theme>(toTheme(readKept(KEY)));

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  keepText(KEY, chosen === "device" ? null : chosen);
  applyTheme();
}

/** Sets the colour scheme of the page, and the colour of the browser's own bars. */
export function applyTheme(): void {
  const chosen = theme.value;
  document.documentElement.style.colorScheme = chosen === "device" ? "" : chosen;
  for (const meta of document.querySelectorAll<HTMLMetaElement>("meta[name=theme-color]")) {
    const scheme = meta.dataset["scheme"] ??= SCHEME.exec(meta.media)?.[0] ?? "";
    meta.media = chosen === "device"
      ? `(prefers-color-scheme: ${scheme})`
      : scheme === chosen
      ? "all"
      : "not all";
  }
}

function toTheme(kept: string | null): Theme {
  return kept === "dark" || kept === "light" ? kept : "device";
}
