/** A lean HTTP client: one kept connection, prepared requests, answers barely parsed. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const READ_BYTES = 65_536;
/** End of a body of unknown length. */
const LAST_CHUNK = "\r\n0\r\n\r\n";

/** A request as its bytes. */
export function requestBytes(
  port: number,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const method = body === undefined ? "GET" : "POST";
  const length = encoder.encode(text).length;
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${more}` +
    `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
  return encoder.encode(head + text);
}

export class RawHttpConnection implements Disposable {
  readonly #conn: Deno.TcpConn;
  readonly #buffer = new Uint8Array(READ_BYTES);

  private constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
  }

  static async open(port: number): Promise<RawHttpConnection> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    return new RawHttpConnection(conn);
  }

  /** The answer's body; throws when it is not a 200. */
  async send(request: Uint8Array): Promise<string> {
    for (let sent = 0; sent < request.length;) {
      sent += await this.#conn.write(sent === 0 ? request : request.subarray(sent));
    }
    let answer = "";
    for (;;) {
      const read = await this.#conn.read(this.#buffer);
      if (read === null) throw new Error("The connection closed");
      answer += decoder.decode(this.#buffer.subarray(0, read));
      const head = answer.indexOf("\r\n\r\n");
      if (head < 0) continue;
      const length = Number(/content-length: (\d+)/i.exec(answer)?.[1] ?? 0);
      if (answer.length < head + 4 + length) continue;
      if (/transfer-encoding: chunked/i.test(answer) && !answer.endsWith(LAST_CHUNK)) continue;
      if (!answer.startsWith("HTTP/1.1 200")) throw new Error(answer);
      return answer.slice(head + 4);
    }
  }

  [Symbol.dispose](): void {
    this.#conn.close();
  }
}
