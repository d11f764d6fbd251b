/** The files of a fake Bot API: what the person sent, and how the bot downloads it. */

/** The largest file that a bot may download. */
const DOWNLOAD_BYTES_MAX = 20 * 2 ** 20;

interface StoredFile {
  readonly file_path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes that the server sends instead of the file, once. */
  served?: Uint8Array<ArrayBuffer>;
}

export class StoredFiles {
  readonly #files = new Map<string, StoredFile>();

  /** Stores a file; returns the fields that a message has of it. */
  add(bytes: Uint8Array<ArrayBuffer>, file_path?: string): { file_id: string; file_size: number } {
    const file_id = `file-${this.#files.size + 1}`;
    this.#files.set(file_id, { file_path: file_path ?? `documents/${file_id}.bin`, bytes });
    return { file_id, file_size: bytes.length };
  }

  /** Serves only the beginning of a file, once. */
  cutNext(file_id: string): void {
    const file = this.#files.get(file_id);
    if (file) file.served = file.bytes.slice(0, 1);
  }

  /** The answer to `getFile`; a text says why there is none. */
  find(file_id: string): Record<string, unknown> | string {
    const file = this.#files.get(file_id);
    if (!file) return "Bad Request: wrong file_id or the file is temporarily unavailable";
    if (file.bytes.length > DOWNLOAD_BYTES_MAX) return "Bad Request: file is too big";
    return {
      file_id,
      file_unique_id: file_id,
      file_size: file.bytes.length,
      file_path: file.file_path,
    };
  }

  serve(path: string): Response {
    const file = this.#files.values().find(({ file_path }) =>
      file_path === decodeURIComponent(path)
    );
    if (!file) return new Response("Not Found", { status: 404 });
    const body = file.served ?? file.bytes;
    delete file.served;
    return new Response(body);
  }
}

/** The parameters of a call: JSON, or a form whose values are JSON or plain texts. */
export async function paramsOf(request: Request): Promise<Record<string, unknown>> {
  const type = request.headers.get("content-type") ?? "";
  if (!type.startsWith("multipart/")) return JSON.parse(await request.text());
  const params: Record<string, unknown> = {};
  for (const [name, value] of await request.formData()) {
    params[name] = typeof value !== "string"
      ? { filename: value.name, bytes: new Uint8Array(await value.arrayBuffer()) }
      : /^[\d{]/.test(value)
      ? JSON.parse(value)
      : value;
  }
  return params;
}
