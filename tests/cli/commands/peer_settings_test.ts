/** The requests of `mesh tag`, and the output of `mesh peer kill @tag` for each peer. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";

/** Runs a command against a daemon with these answers; returns its code, output and bodies. */
async function run(line: string[], answer: (path: string) => Response) {
  const bodies: unknown[] = [];
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
  await using server = Deno.serve(options, async (request) => {
    if (request.method === "PATCH") bodies.push(await request.json());
    return answer(new URL(request.url).pathname);
  });
  const dir = Deno.makeTempDirSync();
  const port = String(server.addr.port);
  const env = { MESH_CONFIG: join(dir, "none.yaml"), MESH_STATE: dir, MESH_DAEMON__PORT: port };
  const { terminal, lines } = capturedTerminal();
  const code = await runCli(line, env, terminal);
  Deno.removeSync(dir, { recursive: true });
  return { code, out: lines.out, bodies };
}

Deno.test("mesh tag adds tags with a plus or no sign, and removes tags with a minus", async () => {
  const peer = { peer_id: "peer-1", name: "api", tags: ["backend", "go"], reminders: null };
  const { code, out, bodies } = await run(
    ["tag", "api", "+backend", "-web", "go"],
    () => Response.json({ ...peer, description: null }),
  );
  assert.equal(code, 0);
  assert.deepEqual(bodies, [{ add_tags: ["backend", "go"], remove_tags: ["web"] }]);
  assert.match(out, /@backend @go/);
});

Deno.test("mesh tag refuses an option behind the peer, and sends nothing", async () => {
  const { code, bodies } = await run(["tag", "api", "+go", "--json"], () => Response.json({}));
  assert.equal(code, 2);
  assert.deepEqual(bodies, []);
});

Deno.test("mesh peer kill @tag continues after a refusal, names both, and exits with 1", async () => {
  const refusal = { ok: false, error: "kill_refused", detail: "It has no process", hint: "" };
  const { code, out } = await run(["peer", "kill", "@db"], (path) => {
    const peers = [{ peer_id: "peer-1", name: "ada" }, { peer_id: "peer-2", name: "bob" }];
    if (path === "/groups/db") return Response.json({ peers });
    if (path === "/peers/peer-1/kill") return Response.json(refusal, { status: 409 });
    const killed = { ok: true, peer_id: "peer-2", agent_pid: 42, signal: "SIGTERM" };
    return Response.json(killed);
  });
  assert.equal(code, 1);
  assert.match(out, /not killed: ada: .*\n.*killed: bob: process 42, by SIGTERM/);
});

Deno.test("mesh peer set sends limits as numbers, and default as null", async () => {
  const line = ["peer", "set", "api", "--queue-max", "20", "--per-minute", "default"];
  const { code, bodies } = await run(
    [...line, "--hook-messages", "off"],
    () => Response.json({ peer_id: "peer-1", name: "api", tags: [], reminders: null }),
  );
  assert.equal(code, 0);
  assert.deepEqual(bodies, [
    { queue_max: 20, pair_per_minute: null, hook_messages: false, add_tags: [], remove_tags: [] },
  ]);
  const wrong = await run(["peer", "set", "api", "--queue-max", "many"], () => Response.json({}));
  assert.equal(wrong.code, 2);
});

Deno.test("mesh interrupt prints what is proved, and exits with 1 if nothing is", async () => {
  const answer = { peer_id: "peer-1", name: "api", by: null, proof: null };
  const cases = [
    ["interrupted", 0, /^interrupted: It stopped/],
    ["ended", 0, /^over: It stopped/],
    ["not_busy", 0, /^not busy: It stopped/],
    ["asked", 1, /^not proved: It stopped/],
  ] as const;
  for (const [outcome, expected, text] of cases) {
    const { code, out } = await run(
      ["interrupt", "api"],
      (path) =>
        path === "/peers/api/interrupt"
          ? Response.json({ ...answer, outcome, detail: "It stopped" })
          : Response.json({ peer_id: null, name: null, proof: "none" }),
    );
    assert.deepEqual([outcome, code], [outcome, expected]);
    assert.match(out, text);
  }
});
