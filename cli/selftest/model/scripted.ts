/** What every scripted model offers, whatever wire it speaks: a gate, and what was said to it. */

export interface Scripted extends AsyncDisposable {
  readonly url: string;
  /** How often a text stands in what the agent has told of its conversation, at most. */
  times(text: string): number;
  /** From now on answers wait, and the agent is busy, until they are let go. */
  hold(): Held;
}

export interface Held {
  release(): void;
}

/** Where answers wait while the model is held. */
export class Gate {
  #shut: PromiseWithResolvers<void> | undefined;

  hold(): Held {
    const shut = this.#shut = Promise.withResolvers<void>();
    return { release: () => shut.resolve() };
  }

  async pass(): Promise<void> {
    await this.#shut?.promise;
  }

  open(): void {
    this.#shut?.resolve();
  }
}

/** Serves on a free port of the loopback interface. */
export function onLoopback(
  serve: (request: Request) => Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, serve);
}

/** How often a text stands in another. */
export function countOf(text: string, whole: string): number {
  return whole.split(text).length - 1;
}
