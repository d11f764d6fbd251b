/** The attachment routes of a fake daemon. */

export interface FakeAttachment {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly content_type: string;
  readonly sha256: string;
  readonly path: string;
  readonly created_at: string;
  readonly expires_at: string;
}

export class FakeAttachments {
  /** The bytes of the files that exist, by their id. */
  readonly bytes = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly uploads: FakeAttachment[] = [];
  readonly deleted: string[] = [];
  /** The largest file that an upload may have. */
  file_bytes_max = 25_000_000;
  #count = 0;

  /** Stores a file, as an agent does that attaches it; returns its record. */
  add(
    filename: string,
    bytes: Uint8Array<ArrayBuffer>,
    content_type = "application/octet-stream",
  ): FakeAttachment {
    const id = `att-${(++this.#count).toString(16).padStart(32, "0")}`;
    this.bytes.set(id, bytes);
    return {
      id,
      filename,
      size: bytes.length,
      content_type,
      sha256: "",
      path: `/files/${id}`,
      created_at: "2030-01-01T00:00:00.000Z",
      expires_at: "2030-01-08T00:00:00.000Z",
    };
  }

  /** Answers a request to a route of attachments; undefined for another route. */
  async answer(request: Request): Promise<Response | undefined> {
    const path = /^\/attachments(?:\/(.+))?$/.exec(new URL(request.url).pathname);
    if (!path) return undefined;
    const [, id] = path;
    if (id === undefined) return this.#upload(await request.formData());
    const bytes = this.bytes.get(id);
    if (!bytes) {
      const detail = `Attachment "${id}" does not exist or has expired`;
      return Response.json({ error: "attachment_not_found", detail }, { status: 404 });
    }
    if (request.method === "GET") return new Response(bytes);
    this.bytes.delete(id);
    this.deleted.push(id);
    return Response.json({ ok: true });
  }

  async #upload(form: FormData): Promise<Response> {
    const file = form.get("file");
    if (!(file instanceof File)) return Response.json({}, { status: 422 });
    if (file.size > this.file_bytes_max) {
      const detail = `The file is larger than ${this.file_bytes_max} bytes`;
      return Response.json({ error: "attachment_too_large", detail }, { status: 413 });
    }
    const record = this.add(file.name, new Uint8Array(await file.arrayBuffer()), file.type);
    this.uploads.push(record);
    return Response.json(record);
  }
}
