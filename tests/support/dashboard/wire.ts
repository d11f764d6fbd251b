/** The requests of a page, with their bytes on the wire, over a slow line if wanted. */

import type { CDPSession, Page } from "playwright-core";

/** A poor mobile connection: milliseconds to the first byte, and bytes a second. */
const SLOW_LINE = { latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };

interface WireRequest {
  /** Path and query. */
  readonly path: string;
  /** Bytes of the response so far, with its head. */
  bytes: number;
  coding: string | undefined;
}

export class Wire {
  readonly #session: CDPSession;
  readonly #requests = new Map<string, WireRequest>();

  private constructor(session: CDPSession) {
    this.#session = session;
    session.on("Network.requestWillBeSent", ({ requestId, request: { url } }) => {
      const { pathname, search } = new URL(url);
      this.#requests.set(requestId, { path: pathname + search, bytes: 0, coding: undefined });
    });
    session.on("Network.responseReceived", ({ requestId, response }) => {
      const headers = new Headers(response.headers as Record<string, string>);
      const request = this.#requests.get(requestId);
      if (!request) return;
      request.bytes = response.encodedDataLength;
      request.coding = headers.get("content-encoding") ?? undefined;
    });
    session.on("Network.dataReceived", ({ requestId, encodedDataLength }) => {
      const request = this.#requests.get(requestId);
      if (request) request.bytes += encodedDataLength;
    });
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      const request = this.#requests.get(requestId);
      if (request) request.bytes = encodedDataLength;
    });
  }

  /** Records the requests of a page from now on; the browser has none of its files. */
  static async of(page: Page, { isSlow = false } = {}): Promise<Wire> {
    const session = await page.context().newCDPSession(page);
    const wire = new Wire(session);
    await session.send("Network.enable");
    await session.send("Network.clearBrowserCache");
    if (isSlow) {
      await session.send("Network.emulateNetworkConditions", { offline: false, ...SLOW_LINE });
    }
    return wire;
  }

  get requests(): readonly WireRequest[] {
    return [...this.#requests.values()];
  }

  get bytes(): number {
    return this.requests.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async detach(): Promise<void> {
    await this.#session.detach();
  }
}
