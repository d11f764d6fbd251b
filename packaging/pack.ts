/** `deno task pack`: makes the npm package in `dist/npm`, of the parts and a launcher. */

import { cpSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { VERSION } from "kit/core/version.ts";
import toolchain from "../.ci/deno/package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PARTS = `${ROOT}dist/parts`;
const PACKAGE = `${ROOT}dist/npm`;
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

/** The platforms of npm's Deno on which the daemon runs. npm installs the one that fits. */
const PLATFORMS = ["linux-x64-glibc", "linux-arm64-glibc", "darwin-x64", "darwin-arm64"];

/** The pages beside `docs/` to which its pages link. */
const PAGES = ["README.md", "ARCHITECTURE.md", "AGENTS.md", "SECURITY.md"];

function manifest() {
  const version = toolchain.dependencies["@deno/linux-x64-glibc"];
  return {
    name: "agent-mesh",
    version: VERSION,
    description: "Lets the coding agents on your machine, and you, ask each other questions.",
    license: "MIT",
    bin: { mesh: "mesh" },
    man: ["docs/generated/mesh.1"],
    files: ["mesh", "parts/", "docs/", ...PAGES],
    os: ["linux", "darwin"],
    optionalDependencies: Object.fromEntries(
      PLATFORMS.map((platform) => [`@deno/${platform}`, version]),
    ),
  };
}

function makePackage(): void {
  rmSync(PACKAGE, { recursive: true, force: true });
  Deno.mkdirSync(`${PACKAGE}/parts`, { recursive: true });
  for (const { name } of Deno.readDirSync(PARTS)) {
    if (name.endsWith(".js")) Deno.copyFileSync(`${PARTS}/${name}`, `${PACKAGE}/parts/${name}`);
  }
  Deno.copyFileSync(`${ROOT}packaging/mesh`, `${PACKAGE}/mesh`);
  for (const name of ["LICENSE", ...PAGES]) Deno.copyFileSync(ROOT + name, `${PACKAGE}/${name}`);
  cpSync(`${ROOT}docs`, `${PACKAGE}/docs`, { recursive: true });
  Deno.writeTextFileSync(`${PACKAGE}/package.json`, `${JSON.stringify(manifest(), null, 2)}\n`);
}

makePackage();
print(`Made the package in ${PACKAGE}. Next: cd dist/npm && npm pack, or npm publish`);
