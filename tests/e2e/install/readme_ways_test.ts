/**
 * Each way of the README to install mesh, as written there: from an empty home to an answer. Of the
 * other ways in docs/install.md, `tests/packaging/release_test.ts` runs `install.sh` with a server
 * of its own; Homebrew needs a tap.
 */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { stopwatch, systemClock } from "kit/core/clock.ts";
import { isMissing, makePackage, outputOf } from "../../support/packaging/installed_package.ts";
import { binOf, claudeCode, type InstallResult } from "../../support/e2e/installed_agents.ts";
import { Lab, type Preparation, withLab } from "../../support/e2e/lab.ts";
import { ANSWERS } from "../../support/e2e/model_rules.ts";
import { print } from "../../support/waiting.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const README = Deno.readTextFileSync(join(ROOT, "README.md"));
const FOLDER = "home/api";
/** Node, npm, tmux, bash, git and curl, and no Deno. */
const SYSTEM_PATH = "/usr/bin:/bin";

const Ways = z.array(z.object({ command: z.string(), bin: z.string() }));
type Way = z.infer<typeof Ways>[number];

/** The command lines of the README's block with this mark, without their comments. */
function commandsOf(mark: string): string[] {
  const [, block = ""] = new RegExp(`^\`\`\`sh ${mark}\\n([^]*?)^\`\`\``, "m").exec(README) ?? [];
  const lines = block.split("\n").map((line) => line.replace(/\s+#.*/, ""));
  return lines.filter((line) => line !== "");
}

/** The times inside of the namespace, whose output is shown only after a failure. */
const TIMES = Deno.env.get("MESH_TIMES");

function report(line: string, ms: number): void {
  const text = `${(ms / 1000).toFixed(1)} s  ${line}`;
  if (TIMES === undefined) print(text);
  else Deno.writeTextFileSync(TIMES, `${text}\n`, { append: true });
}

/** Runs a line as a person does, and reports the time that it took. */
async function runLine(line: string, cwd: string, env: Record<string, string>): Promise<string> {
  const elapsedMs = stopwatch(systemClock);
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", line],
    cwd,
    env,
    clearEnv: true,
    stdin: "null",
  }).output();
  report(line, elapsedMs());
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.ok(success, `${line}\n${text(stdout)}${text(stderr)}`);
  return text(stdout).trim();
}

/** Claude Code, if npm is there and no Deno is on the PATH of the system. */
function agentAndNpm(): InstallResult {
  const found = (name: string) =>
    SYSTEM_PATH.split(":").some((dir) => !isMissing(`${dir}/${name}`));
  if (!found("npm")) return { reason: "npm is not in /usr/bin" };
  return found("deno") ? { reason: "a Deno is in /usr/bin" } : claudeCode();
}

/** Installs mesh in each way, outside of the namespace: each needs the registry of npm. */
function installInEachWay(): Preparation {
  const dir = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-ways-" }));
  const certificates = Object.entries(Deno.env.toObject()).filter(([name]) =>
    /CERT|_CA_/.test(name)
  );
  const ways = commandsOf("install").map((command, number): Way => {
    const home = join(dir, `home-${number}`);
    const bin = join(home, ".local/bin");
    Deno.mkdirSync(home);
    const env = {
      ...Object.fromEntries(certificates),
      HOME: home,
      PATH: `${bin}:${SYSTEM_PATH}`,
      // Only root may write into the folder of global packages.
      npm_config_prefix: join(home, ".local"),
    };
    const line = command.replace(/\bagent-mesh$/, () => packageIn(dir));
    const elapsedMs = stopwatch(systemClock);
    outputOf("sh", ["-c", line], { cwd: ROOT, env, clearEnv: true });
    report(command, elapsedMs());
    return { command, bin };
  });
  const times = join(dir, "times");
  Deno.writeTextFileSync(times, "");
  const end = () => {
    print(Deno.readTextFileSync(times).trimEnd());
    Deno.removeSync(dir, { recursive: true });
  };
  const env = { MESH_WAYS: JSON.stringify(ways), MESH_TIMES: times };
  return { env, [Symbol.dispose]: end };
}

/** The file of the npm package: the name is not published yet. */
function packageIn(dir: string): string {
  makePackage();
  const pack = ["pack", "--silent", "--pack-destination", dir];
  return join(dir, outputOf("npm", pack, { cwd: `${ROOT}dist/npm` }));
}

withLab(
  import.meta.url,
  "each way of the README leads from an empty home to the first answer, without a Deno",
  async () => {
    const ways = Ways.parse(JSON.parse(Deno.env.get("MESH_WAYS") ?? ""));
    assert.deepEqual(ways.map(({ command }) => command), commandsOf("install"));
    for (const { bin } of ways) {
      await using lab = new Lab({ rules: [ANSWERS], bare: true, projects: [FOLDER] });
      const { DENO_DIR: _, MESH_STATE: _state, ...others } = lab.env;
      const PATH = `${bin}:${dirname(binOf(claudeCode))}:${SYSTEM_PATH}`;
      const env = { ...others, PATH, TMUX: `${lab.tmux_socket},1,0`, MESH_DAEMON__PORT: "0" };
      const run = (line: string) => runLine(line, join(lab.dir, FOLDER), env);
      const found = await run("command -v mesh; command -v deno || echo no Deno");
      assert.equal(found, `${bin}/mesh\nno Deno`);
      const [start = "", ask = ""] = commandsOf("agent");
      try {
        await run(`${start} --yes`); // It asks once, and a person says yes.
        assert.match(await run(ask), /Port 8080/);
      } finally {
        await run("mesh down");
      }
    }
  },
  agentAndNpm,
  installInEachWay,
);
