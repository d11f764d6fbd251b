/** What every scripted model offers, whatever wire it speaks: a gate, and what was said to it. */

export interface ScriptedModel extends AsyncDisposable {
  readonly url: string;
  /** How often a text stands in what the agent has told of its conversation, at most. */
  occurrences(text: string): number;
  /** From now on answers wait, and the agent is busy, until they are let go. */
  hold(): HoldHandle;
}

export interface HoldHandle {
  release(): void;
}

/** Where answers wait while the model is held. */
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

/** Serves on a free port of the loopback interface. */
export function serveOnLoopback(
  serve: (request: Request) => Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, serve);
}

/** How often a text stands in another. */
export function countOccurrences(text: string, content: string): number {
  return content.split(text).length - 1;
}
