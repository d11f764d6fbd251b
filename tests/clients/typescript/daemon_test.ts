/** The client finds the daemon and its token. */

import assert from "node:assert/strict";
import { findDaemon, tokenIn } from "../../../clients/typescript/daemon.ts";
import { MeshUnreachable } from "../../../clients/typescript/errors.ts";
import { startTimeOf } from "../../../daemon/host/processes.ts";

Deno.test("the token is found as people write it in the configuration", () => {
  const found: Readonly<Record<string, string | undefined>> = {
    "daemon:\n  auth_token: plain-text\n": "plain-text",
    "# ours\ndaemon: # the daemon\n  port: 1\n\n  # secret\n  auth_token: 'it''s' # ours\n": "it's",
    'daemon:\n  host: ::1\n  auth_token: "a \\"b\\" # c"': 'a "b" # c',
    'daemon:\n  auth_token: "\\x41 in YAML alone"\n': undefined,
    "daemon.auth_token: dotted # ours\n": "dotted",
    "relay:\n  auth_token: of-another-section\n": undefined,
    "daemon:\n  port: 1\nother:\n  auth_token: no\n": undefined,
    "": undefined,
  };
  for (const [yaml, token] of Object.entries(found)) assert.equal(tokenIn(yaml), token, yaml);
});

Deno.test("a daemon that has ended is not believed, for another program may listen there", async () => {
  const MESH_STATE = Deno.makeTempDirSync();
  const env = { MESH_STATE, MESH_CONFIG: "/none" };
  const write = (info: unknown) =>
    Deno.writeTextFileSync(`${MESH_STATE}/daemon.json`, JSON.stringify(info));
  try {
    await assert.rejects(findDaemon({}, env), MeshUnreachable);
    const url = "http://127.0.0.1:9";
    write({ url, pid: Deno.pid, process_started: startTimeOf(Deno.pid) });
    assert.deepEqual(await findDaemon({}, env), { url, token: undefined });
    write({ url, pid: Deno.pid, process_started: "1" });
    const isStale = Deno.build.os === "linux";
    if (isStale) await assert.rejects(findDaemon({}, env), MeshUnreachable);
  } finally {
    Deno.removeSync(MESH_STATE, { recursive: true });
  }
});

Deno.test("given options win over files and variables", async () => {
  const env = { MESH_STATE: "/none", MESH_CONFIG: "/none", MESH_DAEMON__AUTH_TOKEN: "from-env" };
  const url = "https://mesh.example";
  assert.deepEqual(await findDaemon({ url }, env), { url, token: "from-env" });
  assert.deepEqual(await findDaemon({ url, token: "given" }, env), { url, token: "given" });
});
