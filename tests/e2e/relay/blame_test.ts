/** A line of a file, over two agents of two vendors, back to an app of the relay. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Blame } from "protocol/origins/blame.ts";
import { agentsIn, commit, post } from "../../support/e2e/hooked_agents.ts";
import { RealDaemon, RealRelay } from "../../support/e2e/relay_lab.ts";
import { TestRepository } from "../../support/repositories/repository.ts";
import { framed } from "../../support/sessions/usage_world.ts";
import { until } from "../../support/waiting.ts";

const APP = "mcp-0123456789ab";
Deno.test("mesh blame leads from a line over agents of two vendors back to an app [4.blame.chain]", async () => {
  using repo = new TestRepository();
  await using relay = new RealRelay();
  const env = {
    MESH_RELAY__ALLOW_ADMIN: "true",
    MESH_HUMAN__NAME: "sam",
    MESH_POLICY: "[{origin: app, deny: [jobs]}]",
  };
  await using daemon = await RealDaemon.start(relay.url, env);
  const { url, daemon_id } = daemon;
  await until("the tunnel", () => relay.connected(daemon_id));
  const { api, hook } = await agentsIn(repo.folder, url);

  const body = JSON.stringify({ from_peer: APP, to_peer: api.peer_id, text: "Build it" });
  const headers = { "content-type": "application/json" };
  const asked = await relay.ask(daemon_id, "/ask", { method: "POST", headers, body });
  const { correlation_id: first } = await new Response(asked.body).json();
  await hook("codex", "UserPromptSubmit", { prompt: framed(first), turn_id: "t-1", model: "m" });

  const certificate = { "x-mesh-certificate": api.birth_certificate };
  const ask = { from_peer: "api", to_peer: "web", text: "Write it" };
  const { correlation_id: second } = await post(url, "/ask", ask, certificate);
  await hook("claude-code", "UserPromptSubmit", { prompt: framed(second) });
  repo.write("src/a.ts", "one\ntwo\n");
  await commit(repo, hook);

  const query = new URLSearchParams({ path: join(repo.folder, "src/a.ts"), first: "2" });
  const found: Blame = await (await relay.browse(daemon_id, `/blame?${query}`)).json();
  assert.deepEqual(
    found.lines?.[0]?.links.map(({ kind, how, id, name }) => [kind, how, id ?? name]),
    [
      ["commit", "git", repo.git("rev-parse", "HEAD")],
      ["agent", "reported", found.lines[0]?.links[1]?.id],
      ["message", "reported", second],
      ["message", "recorded", first],
      ["origin", "recorded", first],
    ],
    JSON.stringify(found),
  );
  assert.equal(found.lines[0]?.links[1]?.name, "web");
  assert.match(found.lines[0]?.links.at(-1)?.text ?? "", /^app mcp-0123456789ab/);
  const job = { prompt: "More", assigned_peer: "web", created_by: "api" };
  const denied = await fetch(`${url}/jobs`, {
    method: "POST",
    body: JSON.stringify(job),
    headers: certificate,
  });
  assert.equal((await denied.json()).error, "policy_denied");
});
