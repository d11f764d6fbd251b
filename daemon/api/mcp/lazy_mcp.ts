/** The MCP endpoint, loaded when the first tool is called: its SDK is a third of our memory. */

import type { Mcp, McpDeps } from "./mcp.ts";

export class LazyMcp implements AsyncDisposable {
  readonly #deps: McpDeps;
  #loading: Promise<Mcp> | undefined;

  constructor(deps: McpDeps) {
    this.#deps = deps;
  }

  /** Rejects if it cannot be loaded; the next call tries again. */
  get(): Promise<Mcp> {
    return this.#loading ??= this.#load().catch((error) => {
      this.#loading = undefined;
      throw error;
    });
  }

  async #load(): Promise<Mcp> {
    const { Mcp } = await import("./mcp.ts");
    return new Mcp(this.#deps);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A caller of an endpoint that could not be loaded has been told so.
    await (await this.#loading?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }
}
