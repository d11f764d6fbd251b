/** The parts run on linux-arm64, under emulation where `qemu-user` and its libraries are. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { VERSION } from "kit/core/version.ts";
import { client } from "kit/http/client.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { readTextOrNothing } from "../../daemon/host/paths.ts";
import { isMissing, outputOf } from "../support/packaging/installed_package.ts";
import { DENO_DIR, end, temporary } from "../support/programs/child.ts";
import { meshArguments, runParts } from "../support/programs/program.ts";
import { until } from "../support/waiting.ts";

const QEMU = "qemu-aarch64";
const LIBRARIES = "/usr/aarch64-linux-gnu";
const START_MS_MAX = 120_000;

/** Downloads Deno for linux-arm64 from npm into a folder; returns the program's path. */
function downloadDeno(folder: string): string {
  const name = `@deno/linux-arm64-glibc@${Deno.version.deno}`;
  const file = outputOf("npm", ["pack", "--silent", "--pack-destination", folder, name]);
  outputOf("tar", ["--extract", "--file", `${folder}/${file}`, "--directory", folder]);
  return `${folder}/package/deno`;
}

Deno.test({
  name: "on linux-arm64 the parts say their version, and a daemon serves its page, hooks and peers",
  ignore: isMissing(QEMU) || !existsSync(LIBRARIES) || isMissing("npm"),
  async fn() {
    using folder = temporary();
    const deno = downloadDeno(folder.path);
    if (!Deno.env.has("TESTED_PARTS")) await runParts();
    const state = `${folder.path}/state`;
    Deno.mkdirSync(state, { mode: 0o700 });
    const env = { HOME: folder.path, MESH_STATE: state, MESH_DAEMON__PORT: "0", DENO_DIR };
    const command = (...args: string[]) => ["-L", LIBRARIES, deno, ...meshArguments(args)];
    assert.equal(outputOf(QEMU, command("--version"), { env }), VERSION);
    const daemon = new Deno.Command(QEMU, { args: command("daemon"), env, stderr: "null" }).spawn();
    try {
      const notice = () => Promise.resolve(readTextOrNothing(`${state}/daemon.json`));
      const { url } = JSON.parse(await until("the daemon to listen", notice, START_MS_MAX));
      const page = await (await fetch(`${url}/dashboard`)).text();
      assert.match(page, /^<!doctype html>/);
      const started = { hook_event_name: "SessionStart", source: "startup", session_id: "s-1" };
      const body = JSON.stringify({ ...started, transcript_path: "/t", cwd: "/work/api" });
      const headers = { "Content-Type": "application/json" };
      const hook = await fetch(`${url}/hooks/claude-code`, { method: "POST", headers, body });
      assert.deepEqual([hook.status, await hook.json()], [200, {}]);
      const { peers } = await client(url, fetch)(listPeers, { query: {} });
      assert.deepEqual(peers.map(({ name, backend }) => [name, backend]), [[
        "api-claude-code",
        "claude-code",
      ]]);
    } finally {
      assert.equal(await end(daemon, "SIGTERM"), 0);
    }
  },
});
