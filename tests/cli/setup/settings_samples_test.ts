/** `mesh setup` and `mesh doctor` on settings files in all forms: both read each file alike. */

import assert from "node:assert/strict";
import { dirname } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import { checkAgent } from "../../../cli/doctor/agents.ts";
import { thisMachine } from "../../../cli/doctor/machine.ts";
import { SETUP_AGENTS } from "../../../cli/setup/agents.ts";
import { runSetup } from "../../support/cli/run_setup.ts";
import {
  type Agent,
  HOOK_AGENTS,
  type Kind,
  type Sample,
  SAMPLES,
} from "../../support/agents/settings_samples.ts";

/** The files that a sample applies to, by agent. */
const FILES: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  hooks: {
    "claude-code": ".claude/settings.json",
    codex: ".codex/hooks.json",
    gemini: ".gemini/settings.json",
    copilot: ".copilot/settings.json",
  },
  servers: {
    "claude-code": ".claude.json",
    gemini: ".gemini/settings.json",
    copilot: ".copilot/mcp-config.json",
  },
  opencode: { opencode: ".config/opencode/opencode.json" },
  toml: { codex: ".codex/config.toml" },
};

/** A home with one settings file. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-samples-" });
  readonly env = { HOME: this.dir, PATH: "", MESH_DAEMON__AUTH_TOKEN: "t".repeat(40) };
  readonly path: string;
  readonly #agent: string;

  constructor(agent: string, file: string, content: Uint8Array) {
    this.#agent = agent;
    this.path = `${this.dir}/${file}`;
    Deno.mkdirSync(dirname(this.path), { recursive: true });
    Deno.writeFileSync(this.path, content);
  }

  async setup(...args: string[]): Promise<{ code: number; text: string }> {
    const lines: string[] = [];
    const print = (line: string) => void lines.push(line);
    const options = ["--agent", this.#agent, ...args];
    const code = await runSetup(options, this.env, { out: print, err: print });
    return { code, text: lines.join("\n") };
  }

  /** The codes of the doctor's findings about the agents. */
  async doctor(): Promise<string[]> {
    const agent = SETUP_AGENTS.find(({ id }) => id === this.#agent) ?? assert.fail();
    const found = await checkAgent(agent, thisMachine(this.env, systemClock));
    // The agents are not installed, and the tests may run from a package cache.
    const others = ["AGENT_GONE", "AGENT_PROGRAM_CACHED"];
    return found.map(([, code]) => code).filter((code) => !others.includes(code));
  }

  get bytes(): Uint8Array {
    return Deno.readFileSync(this.path);
  }

  get text(): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.bytes);
  }

  /** The files of the home. */
  get files(): string[] {
    const inside = (dir: string): string[] =>
      [...Deno.readDirSync(dir)].flatMap(({ name, isDirectory }) =>
        isDirectory ? inside(`${dir}/${name}`) : [`${dir}/${name}`]
      );
    return inside(this.dir).sort();
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

function contentOf({ content }: Sample, agent: Agent | undefined): Uint8Array {
  if (content instanceof Uint8Array) return content;
  const text = typeof content === "string" ? content : agent ? content(agent) : assert.fail();
  return new TextEncoder().encode(text);
}

function mustHave(text: string, parts: readonly string[] = [], what: string): void {
  for (const part of parts) assert.ok(text.includes(part), `${what}: ${part} is gone:\n${text}`);
}

async function mustBeRefused(home: Home, reason: RegExp, first: Uint8Array): Promise<void> {
  const files = home.files;
  const { code, text } = await home.setup();
  assert.equal(code, 1);
  assert.match(text, reason);
  assert.ok(text.includes(home.path), `the refusal names the file: ${text}`);
  assert.deepEqual([home.bytes, home.files], [first, files]);
  assert.ok((await home.doctor()).includes("AGENT_FILE_REFUSED"), "the doctor refuses it, too");
  await home.setup("--uninstall");
  assert.deepEqual([home.bytes, home.files], [first, files], "uninstalling leaves it");
}

async function mustBeSetUp(home: Home, sample: Sample, first: Uint8Array): Promise<void> {
  const { others, old = [], edits, doctor = [] } = sample;
  const firstText = home.text, files = home.files;
  mustHave(firstText, [...(others ?? []), ...old, ...(edits ?? [])], "the sample");
  const before = await home.doctor();
  assert.equal(before.includes("AGENT_SET_UP"), false, "before setup");
  assert.equal(before.includes("AGENT_FILE_REFUSED"), false, before.join());
  const { code, text } = await home.setup();
  assert.equal(code, 0, text);
  const installed = home.bytes;
  mustHave(home.text, others, "setup");
  mustHave(home.text, edits, "setup");
  for (const part of old) assert.ok(!home.text.includes(part), `${part} stayed:\n${home.text}`);
  assert.deepEqual(await home.doctor(), ["AGENT_SET_UP", ...doctor]);
  const again = await home.setup();
  assert.match(again.text, /nothing to change/);
  assert.deepEqual(home.bytes, installed);
  const undone = await home.setup("--uninstall");
  assert.equal(undone.code, 0, undone.text);
  mustHave(home.text, others, "uninstalling");
  if (old.length === 0) assert.deepEqual([home.bytes, home.files], [first, files]);
  else assert.doesNotMatch(home.text, /main\.ts["' ]/);
}

for (const sample of SAMPLES) {
  Deno.test(`settings with ${sample.name}: ${sample.refused ? "refused" : "set up, and undone"}`, async () => {
    for (const kind of sample.kinds) {
      for (const [agent, file] of Object.entries(FILES[kind])) {
        const first = contentOf(sample, HOOK_AGENTS.find(({ id }) => id === agent));
        using home = new Home(agent, file, first);
        const run = sample.refused
          ? mustBeRefused(home, sample.refused, first)
          : mustBeSetUp(home, sample, first);
        await run.catch((error) => {
          throw new Error(`${agent}, ${file}: ${error.message}`, { cause: error });
        });
      }
    }
  });
}
