/** Installing the page as an app: the browser offers it, and a button in Settings accepts. */

import { signal } from "@preact/signals";

/** Chromium's event; other browsers install by their own menu. */
interface InstallEvent extends Event {
  prompt(): Promise<unknown>;
}

const offered = signal<InstallEvent | undefined>(undefined);
const installed = signal(matchMedia("(display-mode: standalone)").matches);

/** - `offered`: a button may ask; - `installed`: this is the app, or it was just installed. */
export function installState(): "offered" | "installed" | "not_offered" {
  if (installed.value) return "installed";
  return offered.value ? "offered" : "not_offered";
}

export function watchInstall(): void {
  addEventListener("beforeinstallprompt", (event) => {
    if (!isInstallEvent(event)) return;
    event.preventDefault();
    offered.value = event;
  });
  addEventListener("appinstalled", () => {
    installed.value = true;
    offered.value = undefined;
  });
}

/** Shows the browser's own question; an offer can be used once. */
export async function install(): Promise<void> {
  const event = offered.value;
  offered.value = undefined;
  await event?.prompt();
}

function isInstallEvent(event: Event): event is InstallEvent {
  return "prompt" in event && typeof event.prompt === "function";
}
