/** The files of a fake Slack: what the app uploads, and what the person sends. */

interface PendingUpload {
  readonly length: number;
  readonly filename: string;
}

interface StoredFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly url: string;
}

export class FakeFiles {
  /** The bytes that the app has uploaded, by the id of the file. */
  readonly uploaded = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly names = new Map<string, string>();
  /** The outcomes of the next transfers. */
  readonly outcomes: (number | "sign in" | "short" | "lost")[] = [];
  readonly #token: string;
  readonly #begun = new Map<string, PendingUpload>();
  readonly #stored = new Map<string, StoredFile>();
  #count = 0;

  constructor(token: string) {
    this.#token = token;
  }

  /** Stores a file of the person; returns what a message has of it. */
  add(name: string, bytes: Uint8Array<ArrayBuffer>, origin = "http://slack.test") {
    const id = `F${++this.#count}`;
    const url = `${origin}/download/${id}`;
    this.#stored.set(id, { bytes, url });
    const size = bytes.length;
    return { id, name, mimetype: "text/plain", size, url_private_download: url };
  }

  begin(begun: PendingUpload, api: string): Record<string, unknown> {
    const file_id = `F${++this.#count}`;
    this.#begun.set(file_id, begun);
    this.names.set(file_id, begun.filename);
    return { file_id, upload_url: new URL(`/upload/${file_id}`, api).href };
  }

  /** Answers a transfer of a file; undefined for another request. */
  async answer(request: Request): Promise<Response | undefined> {
    const [, kind, id = ""] = /^\/(upload|download)\/(\w+)$/.exec(new URL(request.url).pathname) ??
      [];
    if (kind === undefined) return undefined;
    const outcome = this.outcomes.shift();
    if (outcome === "lost") throw new TypeError("fetch failed");
    if (typeof outcome === "number") return new Response(null, { status: outcome });
    return kind === "upload"
      ? await this.#upload(id, request)
      : this.#download(id, request, outcome);
  }

  async #upload(id: string, request: Request): Promise<Response> {
    const bytes = new Uint8Array(await request.arrayBuffer());
    const begun = this.#begun.get(id);
    if (request.headers.has("authorization") || begun?.length !== bytes.length) {
      return new Response(null, { status: 400 });
    }
    this.uploaded.set(id, bytes);
    return new Response(`OK - ${bytes.length}`);
  }

  #download(id: string, request: Request, outcome: "sign in" | "short" | undefined): Response {
    const file = this.#stored.get(id);
    if (!file) return new Response(null, { status: 404 });
    const isAllowed = request.headers.get("authorization") === `Bearer ${this.#token}`;
    if (!isAllowed || outcome === "sign in") {
      return Response.redirect("https://slack.test/signin");
    }
    return new Response(outcome === "short" ? file.bytes.slice(0, 1) : file.bytes);
  }
}
