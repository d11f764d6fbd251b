/** The name and the colour of the shown machine, which its server writes into the page. */

import { computed } from "@preact/signals";
import { machineName, OWN_ID } from "../relay.ts";

const meta = (name: string) =>
  document.querySelector<HTMLMetaElement>(`meta[name="mesh-${name}"]`)?.content;

export const shownMachine = computed(() => machineName.value || meta("machine") || OWN_ID);

/** Gives the styles the machine's colour. */
export function showColour(): void {
  const colour = meta("colour");
  if (colour) document.documentElement.style.setProperty("--machine", colour);
}
