/** `deno task pack-client`: makes the npm package of the client in `dist/client`. */

import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { VERSION } from "kit/core/version.ts";
import manifest from "../clients/typescript/package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const SOURCES = `${ROOT}clients/typescript`;
const PACKAGE = `${ROOT}dist/client`;
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

/** Node.js runs no TypeScript from a package, so that it gets JavaScript and declarations. */
async function transpile(): Promise<void> {
  const files = Array.from(Deno.readDirSync(SOURCES), ({ name }) => name)
    .filter((name) => name.endsWith(".ts"));
  const args = ["transpile", "--quiet", "--declaration", "--outdir", `${PACKAGE}/dist`, ...files];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: SOURCES })
    .output();
  if (!success) throw new Error(`deno transpile: ${new TextDecoder().decode(stderr)}`);
  for (const { name } of Deno.readDirSync(`${PACKAGE}/dist`)) {
    const file = `${PACKAGE}/dist/${name}`;
    const text = Deno.readTextFileSync(file);
    Deno.writeTextFileSync(file, text.replaceAll(/(from "\.\/\w+)\.ts"/g, '$1.js"'));
  }
}

async function makePackage(): Promise<void> {
  rmSync(PACKAGE, { recursive: true, force: true });
  await transpile();
  const versioned = { ...manifest, version: VERSION };
  Deno.writeTextFileSync(`${PACKAGE}/package.json`, `${JSON.stringify(versioned, null, 2)}\n`);
  Deno.copyFileSync(`${SOURCES}/README.md`, `${PACKAGE}/README.md`);
  Deno.copyFileSync(`${ROOT}LICENSE`, `${PACKAGE}/LICENSE`);
}

await makePackage();
print(`Made the package in ${PACKAGE}. Next: cd dist/client && npm pack, or npm publish`);
