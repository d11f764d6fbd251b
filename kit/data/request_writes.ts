/** The writes of one request, over all its transactions and `await`s. */

import type { AsyncLocalStorage } from "node:async_hooks";

/** Made once the server listens: a start of the daemon loads no module of Node's library. */
let current: AsyncLocalStorage<RequestWrites | undefined> | undefined;
let loading: Promise<void> | undefined;

async function load(): Promise<void> {
  const { AsyncLocalStorage } = await import("node:async_hooks");
  current = new AsyncLocalStorage();
}

export class RequestWrites {
  /** True if a commit has stored a part. */
  hasStored = false;
  /** The error of a failed commit, with which a part was lost; undefined without one. */
  failure: unknown;

  /** The writes of the request that runs; undefined outside of any request. */
  static get current(): RequestWrites | undefined {
    return current?.getStore();
  }

  /** Resolves when requests can run; undefined if they can. */
  static whenReady(): Promise<void> | undefined {
    return current ? undefined : loading ??= load();
  }

  /** Runs the work of the request, after `whenReady`: what it writes from here on counts. */
  run<T>(work: () => T): T {
    if (!current) throw new Error("The writes of requests cannot be told apart yet");
    return current.run(this, work);
  }

  /** Called once a commit that held a part has succeeded or failed. */
  settle(error: unknown): void {
    if (error === undefined) this.hasStored = true;
    else this.failure = error;
  }
}

/** Runs work that handles its own failures: they do not refuse the request that has begun it. */
export function detached<T>(work: () => T): T {
  return current?.getStore() === undefined ? work() : current.run(undefined, work);
}
