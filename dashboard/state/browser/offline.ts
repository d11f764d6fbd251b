/** The service worker, which opens the page while its server cannot be reached. */

import { signal } from "@preact/signals";
import { PREFIX } from "../calls.ts";

/** The state of the service worker; `reason` says why the page cannot open without its server. */
export const offline = signal<"asking" | "ready" | { readonly reason: string }>("asking");

const WORKER = `${PREFIX}/dashboard/worker.js`;
const SCOPE = `${PREFIX}/dashboard`;

/** The library has no types for this. A `TrustedScriptURL` is used like a string. */
declare const trustedTypes: undefined | {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): {
    createScriptURL(url: string): string;
  };
};

/** The page's policy allows this one policy for script URLs, which accepts one address. */
function workerAddress(): string {
  if (typeof trustedTypes === "undefined") return WORKER;
  const policy = trustedTypes.createPolicy("mesh-worker", {
    createScriptURL(url) {
      if (url !== WORKER) throw new TypeError(`Not the address of the worker: ${url}`);
      return url;
    },
  });
  return policy.createScriptURL(WORKER);
}

export async function startWorker(): Promise<void> {
  if (!("serviceWorker" in navigator)) {
    offline.value = { reason: "this browser allows it only over HTTPS, or not at all" };
    return;
  }
  try {
    const options = { scope: SCOPE, updateViaCache: "none" } as const;
    await navigator.serviceWorker.register(workerAddress(), options);
    await navigator.serviceWorker.ready;
    offline.value = "ready";
  } catch (error) {
    offline.value = { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The worker's registration; undefined until it is ready. */
export async function registration(): Promise<ServiceWorkerRegistration | undefined> {
  return offline.value === "ready" ? await navigator.serviceWorker.ready : undefined;
}
