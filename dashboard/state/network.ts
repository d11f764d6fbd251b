/** The other machines of the network, and the connection to the bus that leads to them. */

import { computed, effect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, isUnavailable } from "./calls.ts";
import { hasOthers } from "./remote.ts";
import * as at from "protocol/generated/endpoints.ts";
import { Resource, useResource } from "./resource.ts";
import { peers } from "./store.ts";
import { connection } from "./stream.ts";

/** A machine announces itself each 20 s. */
const LOOK_MS = 20_000;
/** The shortest time between two loads of the machines in a flood of messages. */
const WAITING_INTERVAL_MS = 2000;

/** Null if the daemon knows no other machines, because its version is older. */
export const network = new Resource(["machines"], async () => {
  try {
    return await call(at.listMachines, {});
  } catch (error) {
    if (isUnavailable(error)) return null;
    throw error;
  }
});

/** True if there is another machine besides this one. */
export const hasOtherMachines = computed(() =>
  hasOthers(peers.value.value ?? [], network.value.value)
);

/**
 * Loads the machines once the stream is open. Most people have one machine, so the first view does
 * not wait for them, and nothing is loaded twice.
 */
export function watchNetwork(): void {
  const stop = effect(() => {
    if (connection.value !== "live") return;
    // The opening of the stream also loads active resources.
    queueMicrotask(() => {
      stop();
      network.activate();
      network.refresh();
    });
  });
}

/**
 * No event announces ages and latencies, and the waiting messages change with each message: only a
 * view of the machines needs these now.
 */
export function useFreshNetwork(): void {
  useResource("what waits for machines", ["messages"], () => Promise.resolve(network.refresh()), {
    interval_ms: WAITING_INTERVAL_MS,
  });
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && network.refresh(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
}
