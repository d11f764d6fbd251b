/** `mesh config unset`, `edit`, `list` and maps in `set`; `mesh token` and `mesh docs`. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { answeringDaemon } from "../../../support/cli/answering_daemon.ts";

const FILE = "daemon:\n  port: 9000\n# mine\nhuman:\n  name: sam\n";

function configFixture(text = FILE) {
  const p = answeringDaemon({ "GET /docs": () => new Response("<h1>Routes</h1>") });
  const path = join(p.dir, "config.yaml");
  Deno.writeTextFileSync(path, text, { mode: 0o600 });
  return { ...p, path, file: () => Deno.readTextFileSync(path) };
}

Deno.test("`config unset` removes a key and an empty section, and keeps the comments of others", async () => {
  await using p = configFixture();
  const { code, out } = await p.mesh(["config", "unset", "daemon.port"]);
  assert.equal(code, 0);
  assert.match(out, /^Removed daemon\.port from .*mesh restart/);
  assert.equal(p.file(), "# mine\nhuman:\n  name: sam\n");
  const again = JSON.parse((await p.mesh(["config", "unset", "daemon.port", "--json"])).out);
  assert.deepEqual([again.ok, again.was_set], [true, false]);
  assert.equal((await p.mesh(["config", "unset", "daemon.prot"])).code, 2);
});

Deno.test("`config unset` keeps the comments above a section that becomes empty", async () => {
  for (
    const [before, kept] of [
      ["# all\ndaemon:\n  port: 9000\n", "# all\n"],
      ["# all\n\n# of it\ndaemon:\n  port: 9000\n", "# all\n\n# of it\n"],
      [
        "human:\n  name: sam\n# of it\ndaemon:\n  port: 9000\n",
        "human:\n  name: sam\n# of it\n",
      ],
    ] as const
  ) {
    await using p = configFixture(before);
    assert.equal((await p.mesh(["config", "unset", "daemon.port"])).code, 0);
    assert.equal(p.file(), `${kept}daemon: null\n`);
    assert.equal((await p.mesh(["config", "set", "daemon.port", "9001"])).code, 0);
    assert.equal(p.file(), `${kept}daemon:\n  port: 9001\n`);
  }
});

Deno.test("`config set` writes a map as a map", async () => {
  await using p = configFixture("");
  const map = "{claude-code: [claude, --verbose]}";
  assert.equal((await p.mesh(["config", "set", "spawn.commands", map])).code, 0);
  assert.doesNotMatch(p.file(), /["']/);
  assert.match((await p.mesh(["config", "get", "spawn.commands"])).out, /"claude-code":\["claude"/);
  const list = await p.mesh(["config", "list"]);
  assert.match(list.out, /^daemon\.host /m);
});

Deno.test("`config edit` opens the editor and lists the mistakes it left", async () => {
  await using p = configFixture();
  const env = { PATH: Deno.env.get("PATH") ?? "", EDITOR: "sed -i s/9000/high/" };
  const refused = await p.mesh(["config", "edit"], {}, env);
  assert.deepEqual([refused.code, /is not a terminal/.test(refused.err)], [1, true]);
  const { MESH_DAEMON__PORT: _, ...fileOnly } = { ...p.env, ...env };
  const { capturedTerminal } = await import("../../../support/cli/captured_output.ts");
  const { runCli } = await import("../../../../cli.ts");
  const { terminal, lines } = capturedTerminal({ interactive: true });
  assert.equal(await runCli(["config", "edit"], fileOnly, terminal), 1);
  assert.match(lines.err, /daemon\.port: found "high"/);
});

Deno.test("`token` prints the token alone, and says where none is set", async () => {
  await using p = configFixture();
  const env = { MESH_DAEMON__AUTH_TOKEN: "0123456789abcdef" };
  assert.equal((await p.mesh(["token"], {}, env)).out, "0123456789abcdef\n");
  const none = await p.mesh(["token"]);
  assert.deepEqual([none.code, /No token is set.*mesh setup/.test(none.err)], [1, true]);
  const relay = await p.mesh(["token", "--relay"], {}, env);
  assert.deepEqual([relay.code, /No relay is configured/.test(relay.err)], [1, true]);
});

Deno.test("`docs` saves the page privately, because a browser has no token", async () => {
  await using p = configFixture();
  const { code, out } = await p.mesh(["docs", "--print"]);
  assert.equal(code, 0);
  assert.equal(Deno.readTextFileSync(out.trim()), "<h1>Routes</h1>");
  assert.equal((Deno.statSync(out.trim()).mode ?? 0) & 0o777, 0o600);
  assert.equal((await p.mesh(["docs", "--openapi"])).code, 1);
});
