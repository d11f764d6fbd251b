/** A real agent whose model refuses the request: its turn ends with an error, which is reported. */

import assert from "node:assert/strict";
import { listEvents } from "protocol/api/events.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { openAsk } from "protocol/asks/contract.ts";
import { CodexLab } from "../../../support/e2e/codex_lab.ts";
import { codexCli } from "../../../support/e2e/installed_agents.ts";
import { ANSWERS } from "../../../support/e2e/model_rules.ts";
import { inLongForm, Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

withLab(
  import.meta.url,
  "Claude Code reports an error that ends its turn, and is idle",
  async () => {
    await using lab = new Lab();
    const error = { type: "not_found_error", message: "model: fake-1" };
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
    await using refusing = Deno.serve(
      options,
      () => Response.json({ type: "error", error }, { status: 404 }),
    );
    const env = { ANTHROPIC_BASE_URL: `http://127.0.0.1:${refusing.addr.port}` };
    lab.write("home/.claude/settings.json", { ...lab.read("home/.claude/settings.json"), env });
    await lab.mesh.up();
    const claude = await lab.claude("api");
    await claude.sendPrompt("Go on");
    const { call } = lab.mesh;
    const failed = await until("the error", async () => {
      const { events } = await call(listEvents, { query: { type: "turn_failed" } });
      return events[0];
    });
    assert.equal(failed["error"], "model_not_found");
    const { peers } = await call(listPeers, { query: {} });
    assert.deepEqual(peers.map(({ turn_state }) => turn_state), ["idle"]);
  },
);

/** A model behind a provider that refuses every request while the user's limit is reached. */
function limitedProvider(model: string) {
  const state = { isLimited: false };
  const error = { type: "usage_limit_reached", plan_type: "plus", resets_in_seconds: 7_200 };
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
  const server = Deno.serve(options, (request) => {
    if (state.isLimited) return Response.json({ error }, { status: 429 });
    const { pathname, search } = new URL(request.url);
    const { method, headers, body } = request;
    return fetch(`${model}${pathname}${search}`, { method, headers, body });
  });
  return { state, url: `http://127.0.0.1:${server.addr.port}`, server };
}

inLongForm(withLab)(
  import.meta.url,
  "Codex is idle after a limit that no hook reports, and takes messages again",
  async () => {
    await using lab = new CodexLab([ANSWERS], ["api"]);
    const config = Deno.readTextFileSync(lab.config);
    const [model = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(config) ?? [];
    const provider = limitedProvider(model);
    await using _ = provider.server;
    Deno.writeTextFileSync(lab.config, config.replaceAll(model, provider.url));
    await lab.open();
    const api = await lab.startCodex("api");
    provider.state.isLimited = true;
    await api.sendPrompt("Go on");
    const failed = await until("the error", async () => {
      const { events } = await lab.call(listEvents, { query: { type: "turn_failed" } });
      return events[0];
    });
    assert.equal(failed["error"], "usage_limit_exceeded");
    assert.equal((await lab.peer("api-codex"))?.turn_state, "idle");
    provider.state.isLimited = false;
    const body = { from_peer: "script", to_peer: "api-codex", text: "Which port?" };
    const { correlation_id = "" } = await lab.call(openAsk, {
      body: { ...body, bypass_circle: true },
    });
    await until("the answer", () => lab.has(correlation_id ?? "", "acked"));
  },
  codexCli,
);
