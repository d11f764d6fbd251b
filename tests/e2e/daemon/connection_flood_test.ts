/** Too many connections: a process that cannot open another file works again afterwards. */

import assert from "node:assert/strict";
import { CallersFixture } from "../../support/e2e/callers_fixture.ts";
import { meshCommand } from "../../support/programs/program.ts";
import { until } from "../../support/waiting.ts";

const isLinux = Deno.build.os === "linux";
/** Limit of the process's open files, and connections made to it. */
const FILES = 300, CONNECTIONS = 600;

/** Opens more connections than the process can accept, and closes them. */
async function flood(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const connections: Deno.TcpConn[] = [];
  for (let made = 0; made < CONNECTIONS; made++) {
    // The daemon may stop listening in between.
    const connection = await Deno.connect({ hostname, port: Number(port) }).catch(() => undefined);
    if (connection) connections.push(connection);
  }
  assert.ok(connections.length > FILES, `${connections.length} connections`);
  for (const connection of connections) connection.close();
}

function answers(url: string): Promise<boolean> {
  return until(`an answer of ${url}`, async () => {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    await answer?.body?.cancel();
    return answer?.status === 200;
  });
}

Deno.test("a daemon that cannot open another file works again afterwards", {
  ignore: !isLinux,
}, async () => {
  await using fixture = new CallersFixture({ files: FILES });
  await fixture.ready();
  await flood(fixture.url);
  assert.ok(await answers(fixture.url));
});

Deno.test("a relay that cannot open another file works again afterwards", {
  ignore: !isLinux,
}, async () => {
  const program = `ulimit -n ${FILES}; exec ${meshCommand(["relay"]).join(" ")}`;
  const relay = new Deno.Command("bash", {
    args: ["-c", program],
    env: { RELAY_PORT: "0", NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const output = relay.stderr.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let log = "";
    const url = await until("the relay", async () => {
      log += (await output.read()).value ?? "";
      return /"url":"([^"]+)"/.exec(log)?.[1];
    });
    await flood(url);
    assert.ok(await answers(url));
  } finally {
    await output.cancel();
    relay.kill("SIGTERM");
    await relay.status;
  }
});
