/** `deno task pack`: makes the npm package in `dist/npm`, of the parts and a launcher. */

import { cpSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { VERSION } from "kit/core/version.ts";
import { HELP } from "../cli/commands/generated/help.ts";
import { completeScript } from "../daemon/host/scripts/scripts.ts";
import command from "./command.bash" with { type: "text" };
import launcher from "./mesh" with { type: "text" };
import toolchain from "../.ci/deno/package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PARTS = `${ROOT}dist/parts`;
const PACKAGE = `${ROOT}dist/npm`;
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

/** The platforms of npm's Deno on which the daemon runs. npm installs the one that fits. */
const PLATFORMS = ["linux-x64-glibc", "linux-arm64-glibc", "darwin-x64", "darwin-arm64"];

/** The pages beside `docs/` to which its pages link. */
const PAGES = ["README.md", "ARCHITECTURE.md", "AGENTS.md", "SECURITY.md"];

/** The version of Deno that npm installs for the package. */
export const DENO_VERSION = toolchain.dependencies["@deno/linux-x64-glibc"];

function manifest() {
  return {
    name: "agent-mesh",
    version: VERSION,
    description: "Lets the coding agents on your machine, and you, ask each other questions.",
    license: "MIT",
    bin: { mesh: "mesh" },
    man: ["docs/generated/mesh.1"],
    files: ["mesh", "help.txt", "command.bash", "parts/", "docs/", ...PAGES],
    os: ["linux", "darwin"],
    optionalDependencies: Object.fromEntries(
      PLATFORMS.map((platform) => [`@deno/${platform}`, DENO_VERSION]),
    ),
  };
}

/** Writes what runs mesh into a new folder: parts, launcher, and `package.json`. */
export function writeProgram(folder: string): void {
  Deno.mkdirSync(`${folder}/parts`, { recursive: true });
  for (const { name } of Deno.readDirSync(PARTS)) {
    if (name.endsWith(".js")) Deno.copyFileSync(`${PARTS}/${name}`, `${folder}/parts/${name}`);
  }
  writeLauncher(folder);
  Deno.copyFileSync(`${ROOT}LICENSE`, `${folder}/LICENSE`);
  Deno.writeTextFileSync(`${folder}/package.json`, `${JSON.stringify(manifest(), null, 2)}\n`);
}

/** Writes the launcher, what it prints, and the script that asks the daemon to run a command. */
export function writeLauncher(folder: string): void {
  const text = launcher.replace("@version", VERSION);
  Deno.writeTextFileSync(`${folder}/mesh`, text, { mode: 0o755 });
  Deno.writeTextFileSync(`${folder}/help.txt`, HELP[""] ?? "");
  Deno.writeTextFileSync(`${folder}/command.bash`, completeScript(command));
}

function makePackage(): void {
  rmSync(PACKAGE, { recursive: true, force: true });
  writeProgram(PACKAGE);
  for (const name of PAGES) Deno.copyFileSync(ROOT + name, `${PACKAGE}/${name}`);
  cpSync(`${ROOT}docs`, `${PACKAGE}/docs`, { recursive: true });
}

if (import.meta.main) {
  makePackage();
  print(`Made the package in ${PACKAGE}. Next: cd dist/npm && npm pack, or npm publish`);
}
