/** A digest of what a simulation shows: the same seed gives the same. */

import { createHash } from "node:crypto";

export class TraceDigest {
  readonly #hash = createHash("sha256");
  readonly add = (line: string): void => void this.#hash.update(`${line}\n`);

  hex(): string {
    return this.#hash.digest("hex");
  }
}
