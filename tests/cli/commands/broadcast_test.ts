/** The output of `mesh broadcast`. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";

Deno.test("mesh broadcast lists its recipients, or says that there are none", async () => {
  const sent = [{ peer_id: "peer-1", name: "ada" }, { peer_id: "peer-2", name: "bob" }];
  // deno-fmt-ignore
  const cases: [sent_to: typeof sent, pattern: RegExp][] = [
    [sent, /^sent to 2: ada, bob\n$/],
    [[],   /^sent to nobody: the circle has no other agent; choose another one with --circle/],
  ];
  for (const [sent_to, pattern] of cases) {
    const answer = {
      ok: true,
      sent_to: sent_to.map((recipient) => ({ ...recipient, delivery_id: "qd-1" })),
      skipped: [],
      failed: [],
    };
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
    const respond = ({ url }: Request) =>
      Response.json(url.endsWith("/peers") ? { peers: [] } : answer);
    await using server = Deno.serve(options, respond);
    const dir = Deno.makeTempDirSync();
    const port = String(server.addr.port);
    const env = { MESH_CONFIG: join(dir, "none.yaml"), MESH_STATE: dir, MESH_DAEMON__PORT: port };
    const { terminal, lines } = capturedTerminal();
    assert.equal(await runCli(["broadcast", "All", "--from", "eve"], env, terminal), 0);
    assert.match(lines.out, pattern);
    Deno.removeSync(dir, { recursive: true });
  }
});
