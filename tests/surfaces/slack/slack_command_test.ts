/** `mesh surface slack` as a command: its settings, and what it does before it connects. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { APP_TOKEN, BOT_TOKEN, SAM } from "../../support/slack/fake_slack.ts";
import { MANIFEST } from "../../../surfaces/slack/slack_command.ts";

const DOCS = join(import.meta.dirname ?? ".", "..", "..", "..", "docs");

/** A home without a daemon. */
function setup() {
  const dir = Deno.makeTempDirSync();
  const env = {
    MESH_CONFIG: join(dir, "config.yaml"),
    MESH_STATE: dir,
    MESH_DAEMON__PORT: "1",
  };
  return {
    dir,
    async mesh(args: string[], more: Record<string, string> = {}) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(args, { ...env, ...more }, terminal);
      return { code, ...lines };
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

const SLACK_ENV = {
  MESH_SURFACES__SLACK__APP_TOKEN: APP_TOKEN,
  MESH_SURFACES__SLACK__BOT_TOKEN: BOT_TOKEN,
  MESH_SURFACES__SLACK__USER: SAM,
};

Deno.test("without settings it exits 2, and says for each what to do", async () => {
  using p = setup();
  const { code, out, err } = await p.mesh(["surface", "slack"]);
  assert.deepEqual([code, out], [2, ""]);
  for (const name of ["app_token", "bot_token", "user"]) {
    assert.match(
      err,
      new RegExp(`^mesh: surfaces\\.slack\\.${name} is missing: .*config set`, "m"),
    );
  }
  assert.ok(err.includes(join(p.dir, "config.yaml")));
  const { MESH_SURFACES__SLACK__USER, ...tokens } = SLACK_ENV;
  assert.ok(MESH_SURFACES__SLACK__USER);
  const without_user = await p.mesh(["surface", "slack"], tokens);
  assert.equal(without_user.code, 2);
  assert.doesNotMatch(without_user.err, /_token is missing/);
});

Deno.test("a setting of a wrong form is named, and no token is shown", async () => {
  using p = setup();
  Deno.writeTextFileSync(
    join(p.dir, "config.yaml"),
    `surfaces: {slack: {app_token: "${BOT_TOKEN}", bot_token: "${APP_TOKEN}", user: sam, channel: "#a"}}`,
  );
  const { code, err } = await p.mesh(["surface", "slack"]);
  assert.equal(code, 2);
  for (const name of ["app_token", "bot_token", "user", "channel"]) {
    assert.match(err, new RegExp(`surfaces\\.slack\\.${name}: found `));
  }
  assert.doesNotMatch(err, /topsecret/);
});

Deno.test("`mesh config` stores the tokens, and does not show them", async () => {
  using p = setup();
  Deno.writeTextFileSync(
    join(p.dir, "config.yaml"),
    `surfaces: {slack: {app_token: "${APP_TOKEN}", bot_token: "${BOT_TOKEN}", user: ${SAM}}}`,
  );
  const { code, out, err } = await p.mesh(["config", "list"]);
  assert.equal(code, 0, err);
  assert.match(out, new RegExp(`surfaces\\.slack\\.user.*${SAM}`));
  assert.match(out, /surfaces\.slack\.bot_token/);
  assert.doesNotMatch(out + err, /topsecret/);
});

Deno.test("the command prints the same manifest of the app as the documents", async () => {
  using p = setup();
  const { code, out } = await p.mesh(["surface", "slack", "--manifest"]);
  assert.equal(code, 0);
  assert.deepEqual(
    JSON.parse(out),
    JSON.parse(Deno.readTextFileSync(join(DOCS, "slack_manifest.json"))),
  );
});

Deno.test("the documents name each scope of the manifest, and no other", () => {
  const page = Deno.readTextFileSync(join(DOCS, "slack.md"));
  const table = [...page.matchAll(/^\| `([a-z]+:[a-z]+)`/gm)].map(([, scope]) => scope);
  assert.deepEqual(table, MANIFEST.oauth_config.scopes.bot);
});

Deno.test("without a daemon it exits 3 and prints how to start one", async () => {
  using p = setup();
  const { code, err } = await p.mesh(["surface", "slack"], SLACK_ENV);
  assert.equal(code, 3);
  assert.match(err, /No daemon answers[^]*Start it with: mesh up\n$/);
});

Deno.test("the tokens are sent only to https or to this machine", async () => {
  using p = setup();
  for (const SLACK_API_BASE of ["http://slack.test/api", "ftp://127.0.0.1", "not an address"]) {
    const { code, err } = await p.mesh(["surface", "slack"], { ...SLACK_ENV, SLACK_API_BASE });
    assert.equal(code, 2, SLACK_API_BASE);
    assert.match(err, /SLACK_API_BASE: ".*" is not allowed; use an https URL/);
  }
});
