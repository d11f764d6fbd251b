/** An agent as an app of the relay: its user logs in with a browser, and its model is scripted. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { writeFiles } from "../../../tools/selftest/agent_run.ts";
import { createModel } from "../../../tools/selftest/agents.ts";
import { isRemoved } from "../../../tools/selftest/harness.ts";
import type { ScriptedModel } from "../../../tools/selftest/model/scripted_model.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import {
  binOf,
  copilotUnpacked,
  installRelease,
  makeRunDir,
} from "../../support/e2e/installed_agents.ts";
import { userEnvironment } from "../../support/e2e/programs.ts";
import { until } from "../../support/waiting.ts";
import { AGENT_APPS, type AgentApp } from "../agents.ts";
import { request, step, visit } from "./steps.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

const RUN_MS_MAX = 60_000;
const MCP_URL = Deno.env.get("MCP_URL") ?? "";

const TO = { daemon_id: "dm-000000000000", peer_id: "peer-0", message: "Hello" };
const SAY = { say: "SAW ${result}" };
const RULES: readonly ScriptedReply[] = [
  { match: /List the machines/, steps: [{ tool: "list_machines" }, SAY] },
  { match: /Send a message/, steps: [{ tool: "send_message", args: TO }, SAY] },
];

/** Runs of a prompt: the first may begin before the agent has connected its servers. */
const PROMPTS_MAX = 3;

/** A user of the agent: a home, a working folder, and a browser that records addresses. */
class User implements AsyncDisposable {
  readonly #app: AgentApp;
  readonly #dir = makeRunDir();
  readonly #model: ScriptedModel;
  readonly #env: Readonly<Record<string, string>>;

  constructor(app: AgentApp) {
    this.#app = app;
    const { fixture, release, config, addServer } = app;
    this.#model = createModel({ ...fixture, rules: () => RULES }, "");
    const { url } = this.#model;
    const home = join(this.#dir, "home"), folder = join(this.#dir, "api");
    for (const name of ["api", "tmp", "bin", "home/.cache"]) {
      Deno.mkdirSync(join(this.#dir, name), { recursive: true });
    }
    if (release.folder === "copilot") Deno.symlinkSync(copilotUnpacked(), `${home}/.cache/copilot`);
    writeFiles(fixture.files({ home, folder, version: release.version }, url));
    const path = join(home, config);
    writeFiles({ [path]: addServer(readText(path), MCP_URL) });
    const browser = join(this.#dir, "bin/xdg-open");
    Deno.writeTextFileSync(browser, `#!/bin/sh\necho "$1" >>${this.#dir}/opened\n`, {
      mode: 0o755,
    });
    const env = userEnvironment(this.#dir, binOf(() => installRelease(release)));
    this.#env = {
      ...env,
      ...fixture.env(url),
      ...app.env,
      PATH: `${join(this.#dir, "bin")}:${env["PATH"]}`,
      BROWSER: browser,
      TERM: "xterm-256color",
      NO_COLOR: "1",
    };
  }

  /** Addresses that the agent has opened in the browser. */
  get openedAddresses(): string[] {
    return readText(join(this.#dir, "opened")).split("\n").filter(Boolean);
  }

  async logIn(): Promise<void> {
    const { login, confirm, stays } = this.#app;
    const typed = `stty cols 4000 rows 50; ${login.join(" ")}`;
    const child = this.#command("script", ["-qec", typed, "/dev/null"], "piped").spawn();
    const stdin = child.stdin.getWriter();
    const output: string[] = [];
    const reading = readTo(child.stdout, output);
    const type = (text: string) => stdin.write(new TextEncoder().encode(text));
    try {
      if (confirm) {
        await until(`${confirm}`, () => confirm.test(output.join("")));
        await type("\r");
      }
      const address = await until("the browser", () => this.openedAddresses.at(-1));
      await visit(await request(`OPEN ${address}`));
      await until("the login in a file", () => this.#records.length > 0);
      if (!stays) assert((await child.status).success, output.join(""));
    } finally {
      if (stays) child.kill("SIGKILL");
      await stdin.close().catch(() => undefined); // It may have ended.
      await reading;
    }
  }

  /** Two hours pass: the access token expires at the relay, and by the agent's own record. */
  async expire(): Promise<void> {
    await request("EXPIRE");
    for (const path of this.#records) {
      const earlier = (_: string, name: string, at: string) =>
        `${name}${Number(at) - (at.length > 10 ? 7_200_000 : 7_200)}`;
      const text = readText(path).replace(/("expires_?at":\s*)(\d+)/gi, earlier);
      Deno.writeTextFileSync(path, text);
    }
  }

  /** The files in which the agent keeps its login. */
  get #records(): string[] {
    const files = this.#filesOf(join(this.#dir, "home"));
    return files.filter((path) => readText(path).includes("mesh_at_"));
  }

  #filesOf(dir: string): string[] {
    return [...Deno.readDirSync(dir)].flatMap(({ name, isFile, isDirectory }) => {
      if (isDirectory) return this.#filesOf(join(dir, name));
      return isFile && name.endsWith(".json") ? [join(dir, name)] : [];
    });
  }

  /** Runs a prompt. Returns what the agent prints. */
  async prompt(text: string): Promise<string> {
    const [program = "", ...args] = this.#app.prompt;
    const { stdout, stderr } = await this.#command(program, [...args, text], "null").output();
    const decoder = new TextDecoder();
    return `${decoder.decode(stdout)}${decoder.decode(stderr)}`;
  }

  /** Runs a prompt until the agent prints this. */
  async sees(text: string, expected: RegExp): Promise<void> {
    let printed = "";
    for (let prompts = 0; prompts < PROMPTS_MAX; prompts++) {
      printed = await this.prompt(text);
      if (expected.test(printed)) return;
    }
    assert.fail(printed);
  }

  /** Runs a prompt to its end, in which the agent does not print this. */
  async doesNotSee(text: string, refused: RegExp): Promise<void> {
    const printed = await this.prompt(text);
    assert.match(printed, /SAW/);
    assert.doesNotMatch(printed, refused);
  }

  #command(program: string, args: string[], stdin: "null" | "piped"): Deno.Command {
    return new Deno.Command(program, {
      args,
      cwd: join(this.#dir, "api"),
      env: this.#env,
      clearEnv: true,
      stdin,
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(RUN_MS_MAX),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#model[Symbol.asyncDispose]();
    await until("the last writes of the agent", () => isRemoved(this.#dir));
  }
}

function readText(path: string): string {
  return unlessMissing(() => Deno.readTextFileSync(path)) ?? "";
}

async function readTo(stream: ReadableStream<Uint8Array<ArrayBuffer>>, output: string[]) {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) output.push(text);
}

const app = AGENT_APPS.find(({ title }) => title === Deno.args[0]);
assert(app, `No agent has the name ${Deno.args[0]}`);
{
  await using user = new User(app);
  await step("login", () => user.logIn());
  await step("tools", async () => {
    await user.sees("List the machines", /SAW [^]*dm-/);
    await user.sees("Send a message", /SAW [^]*unknown_machine/);
  });
  await step("refresh", async () => {
    await user.expire();
    await user.sees("List the machines", /SAW [^]*dm-/);
    assert.equal(user.openedAddresses.length, 1);
  });
  await step("revocation", async () => {
    await request("REVOKE");
    await user.doesNotSee("List the machines", /SAW [^]*dm-/);
  });
}
{
  await using user = new User(app);
  await step("read-only", async () => {
    await user.logIn();
    await user.sees("List the machines", /SAW [^]*dm-/);
    await user.doesNotSee("Send a message", /unknown_machine/);
    await user.expire();
    await user.sees("List the machines", /SAW [^]*dm-/);
  });
}
Deno.exit(0); // Its input may stay open.
