/** An app that reaches the relay by mcp-remote, a proxy for apps that know MCP on stdio only. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { request, step, visit } from "./steps.ts";

const env = Deno.env.toObject();

/** mcp-remote, as an app starts it. Its login is in `folder`. */
class Remote implements Disposable {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  #id = 0;

  constructor(folder: string, { mayLogIn = true } = {}) {
    const more = { MCP_REMOTE_CONFIG_DIR: folder, BROWSER: "true" };
    const args = [env["MCP_URL"] ?? "", "--allow-http"];
    this.#child = spawn(env["MCP_REMOTE"] ?? "", args, { env: { ...env, ...more } });
    this.#answers = createInterface({ input: this.#child.stdout ?? process.stdin })
      [Symbol.asyncIterator]();
    createInterface({ input: this.#child.stderr ?? process.stdin }).on("line", (line) => {
      const address = /https?:\S+\/oauth\/authorize\?\S+/.exec(line)?.[0];
      if (address && mayLogIn) void request(`OPEN ${address}`).then(visit);
      else if (address) this.#child.kill();
    });
  }

  async call(method: string, params: object = {}): Promise<string> {
    const message = { jsonrpc: "2.0", id: ++this.#id, method, params };
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
    const { value = "", done } = await this.#answers.next();
    if (done) throw new Error("mcp-remote has ended");
    return value;
  }

  async tool(name: string, args: object = {}): Promise<string> {
    const clientInfo = { name: "app", version: "1" };
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    if (this.#id === 0) await this.call("initialize", hello);
    return await this.call("tools/call", { name, arguments: args });
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}

/** Makes the access token that mcp-remote keeps one that the relay does not know. */
function spoilToken(folder: string): void {
  const edit = (path: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(path)) {
      const file = join(path, name);
      if (isDirectory) edit(file);
      else if (name.endsWith("tokens.json")) {
        const text = Deno.readTextFileSync(file).replace(/mesh_at_[^"]+/, "mesh_at_over");
        Deno.writeTextFileSync(file, text);
      }
    }
  };
  edit(folder);
}

const SEND = { daemon_id: "dm-000000000000", peer_id: "peer-0", message: "Hello" };
const folder = `${env["HOME"]}/first`, second = `${env["HOME"]}/second`;

await step("login", async () => {
  using remote = new Remote(folder);
  assert.match(await remote.tool("list_machines"), /dm-/);
  assert.match(await remote.tool("send_message", SEND), /unknown_machine/);
});
await step("tools", async () => {
  using remote = new Remote(folder, { mayLogIn: false });
  assert.match(await remote.tool("list_machines"), /dm-/);
});
await step("refresh", async () => {
  spoilToken(folder);
  using remote = new Remote(folder, { mayLogIn: false });
  assert.match(await remote.tool("list_machines"), /dm-/);
});
await step("revocation", async () => {
  await request("REVOKE");
  using remote = new Remote(folder, { mayLogIn: false });
  const answer = await remote.tool("list_machines").catch(() => "refused");
  assert.doesNotMatch(answer, /dm-/);
});
await step("read-only", async () => {
  using remote = new Remote(second);
  assert.match(await remote.tool("list_machines"), /dm-/);
  const answer = await remote.tool("send_message", SEND).catch(() => "refused");
  assert.doesNotMatch(answer, /unknown_machine/);
});
Deno.exit(0);
