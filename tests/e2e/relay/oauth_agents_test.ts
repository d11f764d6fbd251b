/** Real agents log in to the relay's MCP, each with the OAuth client that it ships. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { countRows } from "../../support/relay/oauth_world.ts";
import {
  binOf,
  claudeCode,
  codexCli,
  type Installed,
  makeRunDir,
} from "../../support/e2e/installed_agents.ts";
import { withLab } from "../../support/e2e/lab.ts";
import { OAuthRelay } from "../../support/e2e/oauth_lab.ts";

const FILE = import.meta.url;
const AUTHORIZE = /https?:\/\/[^\s\p{Cc}]+?\/oauth\/authorize\?[^\s\p{Cc}]+(?=[\s\p{Cc}])/u;

const LOGIN_MS_MAX = 40_000;

/** An agent's program in a home of its own. */
class Agent implements Disposable {
  readonly #home: string;
  readonly #bin: string;

  constructor(agent: () => Installed) {
    this.#bin = binOf(agent);
    this.#home = makeRunDir();
    Deno.mkdirSync(join(this.#home, ".codex"));
  }

  write(path: string, text: string): void {
    Deno.writeTextFileSync(join(this.#home, path), text);
  }

  async run(...args: string[]): Promise<void> {
    const { success, stderr } = await this.#command(args, "null").output();
    assert.ok(success, new TextDecoder().decode(stderr));
  }

  /** Logs in; the person opens the printed address, and pastes the address that it leads to. */
  async logIn(relay: OAuthRelay, ...args: string[]): Promise<void> {
    const child = this.#command(args, "piped").spawn();
    const stdin = child.stdin.getWriter();
    let output = "", opened = false;
    const read = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder();
      for await (const chunk of stream) {
        output += decoder.decode(chunk, { stream: true });
        const address = AUTHORIZE.exec(output)?.[0];
        if (!address || opened) continue;
        opened = true;
        const back = await relay.consent(new URL(address));
        await stdin.write(new TextEncoder().encode(`${back}\r`));
      }
    };
    await Promise.all([read(child.stdout), read(child.stderr)]);
    const { code } = await child.status;
    await stdin.close().catch(() => undefined); // It has read what it needed.
    assert.ok(opened, output);
    assert.equal(code, 0, output);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#home, { recursive: true });
  }

  #command(args: string[], stdin: "null" | "piped"): Deno.Command {
    const env = {
      HOME: this.#home,
      PATH: `${dirname(this.#bin)}:${Deno.env.get("PATH") ?? "/usr/bin:/bin"}`,
      NO_COLOR: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    };
    // A login needs a terminal, wide enough that no address is broken.
    const typed = `stty cols 4000 -echo; ${[this.#bin, ...args].join(" ")}`;
    const [program, ...rest] = stdin === "piped"
      ? ["script", "-qec", typed, "/dev/null"]
      : [this.#bin, ...args];
    return new Deno.Command(program ?? "", {
      args: rest,
      cwd: this.#home,
      env,
      clearEnv: true,
      stdin,
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(LOGIN_MS_MAX),
    });
  }
}

withLab(FILE, "codex logs in to the relay [4.oauth.foreign]", async () => {
  await using relay = await OAuthRelay.start();
  using agent = new Agent(codexCli);
  const server = `[mcp_servers.mesh]\nurl = "${relay.issuer}/mcp"\n`;
  agent.write(".codex/config.toml", `mcp_oauth_credentials_store = "file"\n${server}`);
  await agent.logIn(relay, "mcp", "login", "--no-browser", "mesh");
  assert.equal(countRows(relay.db, "oauth_grants", "state = 'active'"), 1);
}, codexCli);

withLab(FILE, "claude logs in to the relay [4.oauth.foreign]", async () => {
  await using relay = await OAuthRelay.start();
  using agent = new Agent(claudeCode);
  await agent.run(
    "mcp",
    "add",
    "--scope",
    "user",
    "--transport",
    "http",
    "mesh",
    `${relay.issuer}/mcp`,
  );
  await agent.logIn(relay, "mcp", "login", "--no-browser", "mesh");
  assert.equal(countRows(relay.db, "oauth_grants", "state = 'active'"), 1);
}, claudeCode);
