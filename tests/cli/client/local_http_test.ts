/** Requests to the daemon without `fetch`: what is sent, what is read, and how it fails. */

import assert from "node:assert/strict";
import { sendLocally } from "../../../cli/client/local_http.ts";

/** A server that returns these bytes to every request, and the texts of the requests. */
function scriptedServer(response: string) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const received: string[] = [];
  const serving = (async () => {
    for await (const connection of listener) {
      const buffer = new Uint8Array(65_536);
      const size = await connection.read(buffer) ?? 0;
      received.push(new TextDecoder().decode(buffer.subarray(0, size)));
      await connection.write(new TextEncoder().encode(response));
      connection.close();
    }
  })();
  return {
    url: new URL(`http://127.0.0.1:${listener.addr.port}/path?q=1`),
    received,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

const get = { method: "GET", headers: {} };

Deno.test("a request has its length, and drops headers that are not printable ASCII", async () => {
  await using server = scriptedServer("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nü.");
  const headers = { "X-Plain": "a", "X-Broken": "a\r\nX-Injected: b", "X-Missing": undefined };
  const { url, received } = server;
  const response = await sendLocally({ url, method: "POST", headers, body: "äö" });
  assert.deepEqual(response, { status: 200, text: "ü." });
  assert.equal(
    received[0],
    `POST /path?q=1 HTTP/1.0\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
      "Content-Length: 4\r\nX-Plain: a\r\n\r\näö",
  );
});

Deno.test("a response that is cut off, or is not HTTP, is an error", async () => {
  for (const text of ["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", "SSH-2.0\r\n\r\n", ""]) {
    await using server = scriptedServer(text);
    await assert.rejects(sendLocally({ url: server.url, ...get }), /^Error: The daemon /, text);
  }
});

Deno.test("an abort ends a request that waits for its response", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const controller = new AbortController();
  const url = new URL(`http://127.0.0.1:${listener.addr.port}/`);
  const request = sendLocally({ url, ...get, signal: controller.signal });
  const connection = await listener.accept();
  await connection.read(new Uint8Array(1024));
  controller.abort();
  await assert.rejects(request);
  connection.close();
  listener.close();
});
