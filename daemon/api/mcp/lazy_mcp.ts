/**
 * The MCP endpoint. It is loaded when the first tool is called, because its SDK takes a third of
 * our memory.
 */

import type { Mcp, McpDeps } from "./mcp.ts";

export class LazyMcp implements AsyncDisposable {
  readonly #deps: McpDeps;
  #loading: Promise<Mcp> | undefined;

  constructor(deps: McpDeps) {
    this.#deps = deps;
  }

  /**
   * Loads the endpoint, or returns it if it is loaded. Rejects if loading fails; the next call then
   * tries again.
   */
  get(): Promise<Mcp> {
    return this.#loading ??= import("./mcp.ts").then(({ Mcp }) => new Mcp(this.#deps))
      .catch((error) => {
        this.#loading = undefined;
        throw error;
      });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A failure to load was already reported to the caller of `get`.
    await (await this.#loading?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }
}
