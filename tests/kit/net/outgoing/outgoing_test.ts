import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { systemClock } from "kit/core/clock.ts";
import { outgoingFetch } from "kit/net/outgoing/http_client.ts";
import { OutgoingSockets } from "kit/net/outgoing/sockets.ts";
import type { CertificateFault } from "../../../support/nats/certificates.ts";
import { ConnectProxy } from "../../../support/net/connect_proxy.ts";
import { FrozenProxy } from "../../../support/net/frozen_proxy.ts";
import { RELAY, SecureServer } from "../../../support/net/secure_server.ts";

const STEP_MS_MAX = 250;
type Env = Record<string, string>;

const socketsOf = (env: Env) =>
  new OutgoingSockets({ env, clock: systemClock, step_ms_max: STEP_MS_MAX });

/** The results of both kinds of outgoing connections: an answer, or the reason for the failure. */
const WAYS: Readonly<Record<string, (env: Env, host: string, port: number) => Promise<string>>> = {
  fetch: async (env, host, port) => {
    const fetch = outgoingFetch(env, systemClock.now);
    const headers = { connection: "close" };
    const response = await fetch(new Request(`https://${host}:${port}/`, { headers }));
    return await response.text();
  },
  socket: async (env, host, port) => {
    const socket = await socketsOf(env).openSecure({ host, port });
    return await exchange(socket, host);
  },
};

function exchange(socket: Socket, host: string): Promise<string> {
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = "";
  return new Promise((resolve, reject) =>
    socket.on("data", (chunk: Uint8Array) => text += new TextDecoder().decode(chunk))
      .on("end", () => resolve(text.split("\r\n\r\n")[1] ?? "")).on("error", reject)
  );
}

for (const [way, reach] of Object.entries(WAYS)) {
  Deno.test(`${way}: an authority of each variable is trusted beside the others`, async () => {
    await using server = await SecureServer.start();
    for (const variable of ["SSL_CERT_FILE", "DENO_CERT", "NODE_EXTRA_CA_CERTS"]) {
      assert.equal(await reach({ [variable]: server.ca }, "127.0.0.1", server.port), "reached");
    }
  });

  Deno.test(`${way}: each fault of a certificate has a reason of its own`, async () => {
    const reasons: Readonly<Record<CertificateFault, RegExp>> = {
      expired:
        /its certificate has expired on 2021-02-03T04:05:06Z \(the clock of this machine says 20/,
      early: /its certificate is not valid yet before 2090-01-01T00:00:00Z .*; check the clocks$/,
      other_name: /its certificate is for another host name$/,
      self_signed: /its certificate is (?:self-signed and )?not trusted.* SSL_CERT_FILE/,
    };
    for (const [fault, reason] of Object.entries(reasons)) {
      await using server = await SecureServer.start({ fault: fault as CertificateFault });
      const env = { SSL_CERT_FILE: server.ca };
      await assert.rejects(reach(env, "127.0.0.1", server.port), { message: reason }, fault);
    }
  });

  Deno.test(`${way}: an unknown authority is named with the variable that cannot be used`, async () => {
    await using server = await SecureServer.start();
    const env = { SSL_CERT_FILE: "/nowhere/authority.pem" };
    await assert.rejects(reach(env, "127.0.0.1", server.port), {
      message:
        /authority is unknown; name .* SSL_CERT_FILE \(SSL_CERT_FILE names \/nowhere\/.*exist\)$/,
    });
  });

  Deno.test(`${way}: a proxy with a password resolves the name and passes the bytes`, async () => {
    await using server = await SecureServer.start();
    await using proxy = new ConnectProxy({
      credentials: "me:s@cret",
      hosts: { [RELAY]: "127.0.0.1" },
    });
    const HTTPS_PROXY = `http://me:s%40cret@${proxy.host}`;
    const env = { HTTPS_PROXY, SSL_CERT_FILE: server.ca };
    assert.equal(await reach(env, RELAY, server.port), "reached");
    assert.deepEqual(proxy.asked, [`${RELAY}:${server.port}`]);
    const except = { ...env, NO_PROXY: "127.0.0.0/8" };
    assert.equal(await reach(except, "127.0.0.1", server.port), "reached");
    assert.equal(proxy.asked.length, 1);
  });
}

Deno.test("an error of a refusing, silent or invalid proxy names it without its password", async () => {
  const answers: [ConstructorParameters<typeof ConnectProxy>[0], RegExp][] = [
    [{ status: 403 }, /refused relay\.example:443 \(403\); if .* name it in NO_PROXY$/],
    [{ credentials: "other:one" }, /refused relay\.example:443 \(407\); give its user name/],
    [{ isMute: true }, /does not answer within 0\.25 s$/],
  ];
  for (const [options, reason] of answers) {
    await using proxy = new ConnectProxy(options);
    const sockets = socketsOf({ HTTPS_PROXY: `http://me:secret@${proxy.host}` });
    await assert.rejects(
      sockets.openSecure({ host: RELAY, port: 443 }),
      ({ message }: Error) =>
        reason.test(message) && message.startsWith(`the proxy at ${proxy.host} (HTTPS_PROXY) `) &&
        !message.includes("secret"),
    );
  }
});

Deno.test("a handshake of TLS that never ends is given up, and leaves no socket", async () => {
  await using server = await SecureServer.start();
  for (const way of ["up", "down"] as const) {
    await using proxy = new FrozenProxy(server.port);
    proxy.frozen = way;
    const opening = socketsOf({}).openSecure({ host: "127.0.0.1", port: proxy.port });
    await assert.rejects(opening, { message: /does not complete TLS within 0\.25 s$/ });
    proxy.frozen = undefined;
  }
});

Deno.test("a server that speaks first is heard through a proxy", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of listener) {
      await connection.write(new TextEncoder().encode("INFO {}\r\n"));
      connection.close();
    }
  })();
  await using proxy = new ConnectProxy({ hosts: { "nats.example": "127.0.0.1" } });
  const target = { host: "nats.example", port: listener.addr.port };
  const socket = await socketsOf({ https_proxy: proxy.url }).open(target, { tls: true });
  const first = await new Promise((resolve) => socket.once("data", resolve));
  assert.equal(String(first), "INFO {}\r\n");
  socket.destroy();
  listener.close();
  await serving;
});
