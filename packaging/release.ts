/**
 * Completes the folder of a release beside its executables: install.sh, the Homebrew formula, the
 * relay's compose file, the manual page, a list of all packages (SBOM), and SHA256SUMS.
 *
 *     deno run -A packaging/release.ts FOLDER REPOSITORY_ADDRESS TAG
 */

import { fileURLToPath } from "node:url";
import { VERSION } from "kit/core/version.ts";
import { sha256 } from "kit/host/node_library.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const read = (path: string) => Deno.readTextFileSync(ROOT + path);
const digestOf = (path: string) => sha256(Deno.readFileSync(path), "hex");

/** Place and name of a release. */
export interface Release {
  /** The address of the repository's page. */
  readonly homepage: string;
  readonly tag: string;
}

/** Writes the files into the folder of the executables. */
export function completeRelease(folder: string, release: Release): void {
  const write = (name: string, text: string) => Deno.writeTextFileSync(`${folder}/${name}`, text);
  write("agent-mesh.rb", formula(folder, release));
  write("install.sh", installScript(release));
  write("sbom.json", `${JSON.stringify(bom(), null, 2)}\n`);
  const compose = read("docs/relay/compose.yaml").replace("build: ../..", "image: mesh-relay");
  write("compose.yaml", compose);
  write("Caddyfile", read("docs/relay/Caddyfile"));
  write("mesh.1", read("docs/generated/mesh.1"));
  write("SHA256SUMS", sums(folder));
}

function installScript({ homepage }: Release): string {
  return read("packaging/install.sh")
    .replaceAll("@RELEASES@", `${homepage}/releases/latest/download`)
    .replaceAll("@REPOSITORY@", new URL(homepage).pathname.slice(1));
}

function formula(folder: string, { homepage, tag }: Release): string {
  return read("packaging/agent-mesh.rb")
    .replaceAll("@HOMEPAGE@", homepage)
    .replaceAll("@VERSION@", VERSION)
    .replaceAll("@RELEASE@", `${homepage}/releases/download/${tag}`)
    .replaceAll(/@SHA256 (\S+)@/g, (_, name: string) => digestOf(`${folder}/${name}`));
}

/** One line for each file, as `sha256sum` writes it. */
function sums(folder: string): string {
  const names = Array.from(Deno.readDirSync(folder), ({ name }) => name)
    .filter((name) => name !== "SHA256SUMS").sort();
  return names.map((name) => `${digestOf(`${folder}/${name}`)}  ${name}\n`).join("");
}

interface Lock {
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

/** The packages of the lock file with their hashes, as a CycloneDX document. */
function bom() {
  const lock: Lock = JSON.parse(read("deno.lock"));
  const components = Object.entries(lock.npm).map(([id, { integrity }]) => {
    // A key may end with the versions of peers: `name@1.0.0_peer@2.0.0`.
    const [, name = "", version = ""] = /^(@?[^@]+)@([^_]+)/.exec(id) ?? [];
    return {
      type: "library",
      name,
      version,
      purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
      hashes: [{ alg: "SHA-512", content: hexOf(integrity) }],
    };
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "application", name: "agent-mesh", version: VERSION } },
    components,
  };
}

/** The hash of `sha512-BASE64` in hexadecimal. */
function hexOf(integrity: string): string {
  return Uint8Array.fromBase64(integrity.slice("sha512-".length)).toHex();
}

if (import.meta.main) {
  const [folder = "", homepage = "", tag = ""] = Deno.args;
  completeRelease(folder, { homepage, tag });
}
