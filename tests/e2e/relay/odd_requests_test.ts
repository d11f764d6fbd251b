/** Unusual requests to a real relay: no answer is a 500, and the log stays small. */

import assert from "node:assert/strict";
import { tryJson } from "kit/core/text.ts";
import { DENO_DIR, end } from "../../support/programs/child.ts";
import { meshArguments } from "../../support/programs/program.ts";
import { until } from "../../support/waiting.ts";

/** A relay with OAuth, and its output. */
class RealRelay implements AsyncDisposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-relay-" });
  readonly #process: Deno.ChildProcess;
  readonly #written: Promise<unknown>;
  text = "";

  constructor() {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: meshArguments(["relay"]),
      clearEnv: true,
      env: {
        HOME: this.dir,
        PATH: "/usr/bin:/bin",
        DENO_DIR,
        RELAY_PORT: "0",
        RELAY_OAUTH_ISSUER: "https://relay.example",
        RELAY_OAUTH_DB: `${this.dir}/relay.db`,
      },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const chunks = this.#process.stderr.pipeThrough(new TextDecoderStream());
    this.#written = chunks.pipeTo(
      new WritableStream({ write: (text) => void (this.text += text) }),
    );
  }

  get lines(): string[] {
    return this.text.split("\n").filter(Boolean);
  }

  /** The status line of the answer to these bytes. */
  async send(bytes: string): Promise<string> {
    const { port } = new URL(JSON.parse(this.lines[0] ?? "{}").url);
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
    await connection.write(new TextEncoder().encode(bytes));
    const answer = new Uint8Array(512);
    const read = await connection.read(answer) ?? 0;
    return new TextDecoder().decode(answer.subarray(0, read)).split("\r\n")[0] ?? "";
  }

  async stop(): Promise<void> {
    await end(this.#process, "SIGTERM");
    await this.#written;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    Deno.removeSync(this.dir, { recursive: true });
  }
}

const HOSTS = ["[::1", "a b", "%%", "relay.example:99999", "relay example", "a\u0001b", "<x>"];
const REQUESTS = [
  ...["/", "/login", "/mcp", "/health", "/m/dm-000000000001/peers", "/nowhere"].flatMap((path) =>
    HOSTS.flatMap((host) => [
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\n\r\n{}`,
    ])
  ),
  "GET http://[ HTTP/1.1\r\nHost: relay.example\r\n\r\n",
  "OPTIONS * HTTP/1.1\r\nHost: relay.example\r\n\r\n",
  "CONNECT a:1 HTTP/1.1\r\nHost: relay.example\r\n\r\n",
  "GET /%zz%00 HTTP/1.1\r\nHost: relay.example\r\n\r\n",
  "\u0016\u0003\u0001\u0000",
];

Deno.test("each line that a relay writes is JSON, and odd requests are refused without a line", async () => {
  await using relay = new RealRelay();
  await until("the relay", () => relay.text.includes("\n"));
  for (const request of REQUESTS) {
    const status = await relay.send(request);
    assert.match(status, /^(?:HTTP\/1\.[01] 4\d\d |$)/, JSON.stringify(request));
  }
  assert.match(await relay.send("GET /health HTTP/1.1\r\nHost: relay.example\r\n\r\n"), / 200 /);
  await relay.stop();
  const lines = relay.lines.map((line) => tryJson(line) as { level?: string } | undefined);
  assert.deepEqual(lines.map((line) => line?.level), ["info", "info"], relay.text);
});
