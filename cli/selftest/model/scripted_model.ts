/** The interface of the scripted models, and what they share. */

export interface ScriptedModel extends AsyncDisposable {
  readonly url: string;
  /** How often a text occurs in the agent's conversation. Returns the maximum over all requests. */
  occurrences(text: string): number;
  /** Holds back answers until released, so that the agent stays busy. */
  hold(): HoldHandle;
}

export interface HoldHandle {
  release(): void;
}

/** Holds back answers while the model is on hold. */
export class ResponseHold {
  #pending: PromiseWithResolvers<void> | undefined;

  hold(): HoldHandle {
    const pending = this.#pending = Promise.withResolvers<void>();
    return { release: () => pending.resolve() };
  }

  async wait(): Promise<void> {
    await this.#pending?.promise;
  }

  open(): void {
    this.#pending?.resolve();
  }
}

/** Serves on a free loopback port. */
export function serveOnLoopback(
  serve: (request: Request) => Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, serve);
}

export function countOccurrences(text: string, content: string): number {
  return content.split(text).length - 1;
}
