/** The npm package of the client, in Node.js. */

import { fileURLToPath } from "node:url";
import { testClient } from "../../support/clients/suite.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SCRIPT = `${ROOT}tests/support/clients/peer_script.js`;
const PACKAGE = `${ROOT}dist/client/dist/mesh_peer.js`;

/** The major version of the installed Node.js; undefined without one. */
function nodeVersion(): number | undefined {
  try {
    const { stdout } = new Deno.Command("node", { args: ["--version"] }).outputSync();
    return Number(/^v(\d+)/.exec(new TextDecoder().decode(stdout))?.[1]);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const version = nodeVersion();
if (version === undefined || version < 20) {
  const name = "Node.js (skipped: version 20 or later is not installed)";
  Deno.test({ name, ignore: true, fn: () => undefined });
} else {
  const { success, stderr } = new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "pack-client"],
    cwd: ROOT,
    stdout: "null",
  }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  // Node.js 20 has a WebSocket, but hides it.
  const flags = version < 22 ? ["--experimental-websocket"] : [];
  testClient({
    title: `Node.js ${version}`,
    command: ["node", ...flags, SCRIPT, PACKAGE],
    example: {
      readme: `${ROOT}clients/typescript/README.md`,
      file: "example.mjs",
      command: ["node", ...flags],
      module: ["agent-mesh-client", PACKAGE],
    },
  });
}
