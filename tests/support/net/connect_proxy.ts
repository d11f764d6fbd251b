/** An HTTP proxy that supports `CONNECT`, and answers as a test demands. */

export interface ProxyOptions {
  /** As in `Proxy-Authorization`, in plain text: `user:password`. */
  readonly credentials?: string;
  /** Answers with this status instead of connecting. */
  readonly status?: number;
  /** Accepts requests and never answers. */
  readonly isMute?: boolean;
  /** Targets of host names, which the proxy resolves. */
  readonly hosts?: Readonly<Record<string, string>>;
}

export class ConnectProxy implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #options: ProxyOptions;
  readonly #open = new Set<Deno.Conn>();
  readonly #serving: Promise<void>;
  /** `HOST:PORT` of each connection that was asked for. */
  readonly asked: string[] = [];

  constructor(options: ProxyOptions = {}) {
    this.#options = options;
    this.#serving = this.#serve();
  }

  get host(): string {
    const { addr } = this.#listener;
    return addr.transport === "tcp" ? `127.0.0.1:${addr.port}` : "";
  }

  get url(): string {
    return `http://${this.host}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) close(connection);
    await this.#serving;
  }

  async #serve(): Promise<void> {
    const all: Promise<void>[] = [];
    for await (const client of this.#listener) all.push(this.#handle(client).catch(() => {}));
    await Promise.all(all);
  }

  async #handle(client: Deno.Conn): Promise<void> {
    this.#open.add(client);
    const { credentials, hosts = {}, isMute, status = 200 } = this.#options;
    const buffer = new Uint8Array(16_384);
    const head = new TextDecoder().decode(buffer.subarray(0, await client.read(buffer) ?? 0));
    const [, host = "", port = ""] = /^CONNECT (\S+):(\d+) /.exec(head) ?? [];
    this.asked.push(`${host}:${port}`);
    if (isMute) return;
    const answer = (line: string) =>
      client.write(new TextEncoder().encode(`HTTP/1.1 ${line}\r\n\r\n`));
    const isAllowed = credentials === undefined ||
      head.includes(`Proxy-Authorization: Basic ${btoa(credentials)}`) ||
      head.includes(`proxy-authorization: Basic ${btoa(credentials)}`);
    if (!isAllowed || status !== 200) {
      await answer(isAllowed ? `${status} Refused` : "407 Proxy Authentication Required");
      return close(client);
    }
    const server = await Deno.connect({ hostname: hosts[host] ?? host, port: Number(port) });
    this.#open.add(server);
    await answer("200 Connection established");
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
  }
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
