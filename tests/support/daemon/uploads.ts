/** Helpers for uploads: forms, chunked bodies, stored files. */

import { FakeClock } from "../clock.ts";
import { type World, world, type WorldOptions } from "../world.ts";

/** A world whose clock also takes real time, as uploads write real files. */
export const uploadWorld = (options: WorldOptions = {}) =>
  world({ clock: new FakeClock(), ...options });

export interface UploadOptions {
  readonly name?: string;
  readonly type?: string;
}

/** Uploads a text or bytes as a file; returns status and response. */
export async function upload(
  w: World,
  content: BlobPart,
  { name = "a.txt", type = "" }: UploadOptions = {},
) {
  const form = new FormData();
  form.append("file", new File([content], name, { type }));
  const response = await w.fetch("/attachments", { method: "POST", body: form });
  return { status: response.status, ...await response.json() };
}

/** Posts a form given as lines, which are joined with CRLF. */
export function postRawForm(
  w: World,
  lines: readonly string[],
  headers: Record<string, string> = {},
) {
  return w.fetch("/attachments", {
    method: "POST",
    headers: { "content-type": "multipart/form-data; boundary=b", ...headers },
    body: lines.join("\r\n"),
  });
}

/** The lines of a form with one file. */
export function formLines(disposition: string, content = "x", more: readonly string[] = []) {
  return ["--b", `Content-Disposition: ${disposition}`, ...more, "", content, "--b--", ""];
}

/** The names of all files in an attachment's directory. */
export function filesBeside(path: string): string[] {
  const directory = path.slice(0, path.lastIndexOf("/"));
  return [...Deno.readDirSync(directory)].map(({ name }) => name).sort();
}

/** A body in chunks of the given size. */
export function inPieces(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
  }
  return ReadableStream.from(pieces());
}

/** A directory that is deleted after the test. */
export function tempFolder() {
  const directory = Deno.makeTempDirSync();
  return { directory, [Symbol.dispose]: () => Deno.removeSync(directory, { recursive: true }) };
}
