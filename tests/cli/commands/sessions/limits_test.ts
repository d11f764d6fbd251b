/** `mesh limits`, against a daemon in memory. */

import assert from "node:assert/strict";
import { serveDaemon } from "../../../support/cli/listening_daemon.ts";
import { limitWorld } from "../../../support/daemon/limits.ts";

Deno.test("limits lists each account with its state, its reset, its peers and what waits", async () => {
  await using at = await limitWorld();
  const { mesh, stop } = serveDaemon(at.w);
  try {
    assert.match((await mesh(["limits"])).out, /codex +clear +— +— +0 +api, web/);
    const now = at.w.clock.now();
    const used = { window: "five_hour", used_percent: 83, resets_at: now + 3_600_000, at: now };
    at.agents.codex.windows.set(at.api.session_id, [used]);
    const [since, until] = [now, now + 3_600_000].map((at) =>
      new Date(at).toTimeString().slice(0, 5)
    );
    const line = `codex /home/.codex: used 83 % of its five-hour limit until ${until}, ` +
      `by its record of ${since}`;
    assert((await mesh(["limits"])).out.includes(line), line);
    at.agents.codex.windows.clear();
    await at.hitLimit(at.api);
    const asked = await mesh(["ask", at.web.name, "Ready?"]);
    const [id = ""] = /ask-[0-9a-f]{12}/.exec(asked.out) ?? [];
    assert.match(asked.err, /^web is out of its five-hour limit until /);
    const { out, code } = await mesh(["limits"]);
    const { account_id, resets_at } = await at.limit();
    const time = new Date(resets_at ?? "").toTimeString().slice(0, 5);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`${account_id} +codex +exhausted +— +${time} +1 +api, web`));
    const told = `codex /home/.codex: It is out of its five-hour limit until ${time}. ` +
      "By its session file: “You’ve hit your usage limit.”";
    assert(out.includes(told), out);
    const why = await mesh(["why", id]);
    assert(why.out.includes(`web is out of its five-hour limit until ${time}`), why.out);
    const refused = await mesh(["limits", "resume", "web"]);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /not proven that a person/);
    const { limits } = JSON.parse((await mesh(["limits", "--json"])).out);
    assert.equal(limits[0].state, "exhausted");
  } finally {
    await stop();
  }
});
