import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { socketsOf } from "../../../../daemon/api/relay/relay_socket.ts";
import {
  type CertificateFault,
  makeAuthority,
  makeCertificate,
  makeFaultyCertificate,
} from "../../../support/nats/certificates.ts";
import { ConnectProxy } from "../../../support/net/connect_proxy.ts";

const RELAY = "relay.example";

async function withRelay(
  fault: CertificateFault | undefined,
  test: (port: number, ca: string) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "mesh-tls-" });
  await makeAuthority(dir);
  if (fault) await makeFaultyCertificate(dir, fault);
  else await makeCertificate(dir, "server", `DNS:${RELAY}`);
  const read = (file: string) => Deno.readTextFileSync(`${dir}/${fault ?? "server"}.${file}`);
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    cert: read("pem"),
    key: read("key"),
    onListen: () => undefined,
  }, (request) => {
    const authorization = request.headers.get("authorization") ?? "";
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onopen = () => socket.send(authorization);
    return response;
  });
  try {
    await test(server.addr.port, `${dir}/authority.pem`);
  } finally {
    await server.shutdown();
    await Deno.remove(dir, { recursive: true });
  }
}

/** The first message of the relay, or the reason why none came. */
function firstMessage(env: Record<string, string>, host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const open = socketsOf({ env, clock: systemClock });
    const headers = { authorization: "Bearer s" };
    const connection = open(`wss://${host}:${port}/ws/daemon`, headers, {
      opened: () => undefined,
      received: (data) => {
        resolve(String(data));
        connection.close(1000, "");
      },
      closed: (_code, _reason, error = "closed") => resolve(error),
    });
  });
}

Deno.test("the tunnel goes through a proxy to a relay with an authority of its own", async () => {
  await withRelay(undefined, async (port, ca) => {
    await using proxy = new ConnectProxy({
      credentials: "me:secret",
      hosts: { [RELAY]: "127.0.0.1" },
    });
    const env = { https_proxy: `http://me:secret@${proxy.host}`, SSL_CERT_FILE: ca };
    assert.equal(await firstMessage(env, RELAY, port), "Bearer s");
    assert.deepEqual(proxy.asked, [`${RELAY}:${port}`]);
    const { https_proxy } = env;
    assert.match(
      await firstMessage({ https_proxy }, RELAY, port),
      /^its certificate is not trusted, because its authority is unknown; name .* SSL_CERT_FILE$/,
    );
  });
});

Deno.test("the tunnel says that the relay's certificate has expired", async () => {
  await withRelay("expired", async (port, ca) => {
    assert.match(
      await firstMessage({ SSL_CERT_FILE: ca }, "127.0.0.1", port),
      /^its certificate has expired on 2021-02-03T04:05:06Z \(the clock of this machine says /,
    );
  });
});
