/** The TypeScript client in Deno, from its sources. */

import { fileURLToPath } from "node:url";
import { testClient } from "../../support/clients/suite.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SCRIPT = `${ROOT}tests/support/clients/peer_script.js`;

const MODULE = `${ROOT}clients/typescript/mesh_peer.ts`;
const RUN = [Deno.execPath(), "run", "-A"];

testClient({
  title: "Deno",
  command: [...RUN, SCRIPT, MODULE],
  example: {
    readme: `${ROOT}clients/typescript/README.md`,
    file: "example.mjs",
    command: RUN,
    module: ["agent-mesh-client", MODULE],
  },
});
