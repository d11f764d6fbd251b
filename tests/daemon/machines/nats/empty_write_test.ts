import assert from "node:assert/strict";
import { connect, createServer } from "node:tls";
import type { AddressInfo } from "node:net";
import { systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { adaptSocket } from "../../../../daemon/machines/nats/link.ts";
import { makeAuthority, makeCertificate } from "../../../support/nats/certificates.ts";
import { natsTest } from "../../../support/nats/nats_tests.ts";

const HUNG_MS = 300;

/** The client writes this at the end of a stale connection, and when the server ends its half. */
const EMPTY = [new TextEncoder().encode(""), new Uint8Array(0)];

/** Fails in the commit that raises the version of Deno, which is the place to remove the mend. */
natsTest("the runtime still fails at an empty write to a TLS socket", async () => {
  const outcomes = [];
  for (const empty of EMPTY) outcomes.push(...await writeEach([empty, "after"]));
  assert.ok(
    outcomes.some((outcome) => outcome !== "written"),
    `Deno ${Deno.version.deno} takes empty writes to TLS sockets: remove skipEmptyWrites from ` +
      "daemon/machines/nats/link.ts, and this file",
  );
});

natsTest("an empty write to a TLS socket of the bus is done, and so are later ones", async () => {
  for (const empty of EMPTY) {
    assert.deepEqual(await writeEach([empty, "after"], adaptSocket), ["written", "written"]);
  }
});

/** Writes to a TLS server, one after the other, and says how each write ended. */
async function writeEach(
  chunks: readonly (string | Uint8Array)[],
  adapt: typeof adaptSocket = (socket) => socket,
): Promise<string[]> {
  const { ca, ...own } = await certificates();
  const server = createServer(own, (accepted) => accepted.on("error", () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const socket = adapt(connect({ host: "127.0.0.1", port, ca }));
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const outcomes: string[] = [];
  for (const chunk of chunks) {
    const written = new Promise<string>((resolve) =>
      socket.write(chunk, (error) => resolve(error?.message ?? "written"))
    );
    outcomes.push(await timeout(systemClock, HUNG_MS, written) ?? "hung");
  }
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  return outcomes;
}

async function certificates(): Promise<{ cert: string; key: string; ca: string }> {
  const dir = await Deno.makeTempDir({ prefix: "mesh-tls-" });
  try {
    await makeAuthority(dir);
    await makeCertificate(dir, "server");
    const read = (name: string) => Deno.readTextFileSync(`${dir}/${name}`);
    return { cert: read("server.pem"), key: read("server.key"), ca: read("authority.pem") };
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}
