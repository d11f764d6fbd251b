/** A file of the page in the codings in which it is sent. */

import type { Coding } from "kit/http/encoding.ts";

export interface StoredFile {
  readonly type: string;
  /** A digest of the content. */
  readonly digest: string;
  /** The codings besides `identity`; a picture has none, because it is compressed itself. */
  readonly codings: readonly Coding[];
  read(coding: Coding): Promise<Uint8Array<ArrayBuffer>>;
}
