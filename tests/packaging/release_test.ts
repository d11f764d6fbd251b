/** The files of a release, and the script that installs from them. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { completeRelease } from "../../packaging/release.ts";

const HOMEPAGE = "https://example.org/sam/mesh";
const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
];
const PROGRAM = "#!/bin/sh\necho mesh\n";

/** A release in a folder, and a home that it is installed to. */
class Release implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-release-" });
  readonly folder = `${this.dir}/release`;
  readonly bin = `${this.dir}/bin`;
  readonly installed = `${this.dir}/home/.local/bin/mesh`;

  constructor() {
    Deno.mkdirSync(this.folder);
    Deno.mkdirSync(this.bin);
    for (const target of TARGETS) Deno.writeTextFileSync(`${this.folder}/mesh-${target}`, PROGRAM);
    completeRelease(this.folder, { homepage: HOMEPAGE, tag: "v1.2.3" });
  }

  read(name: string): string {
    return Deno.readTextFileSync(`${this.folder}/${name}`);
  }

  /** Puts a program before all others on the PATH. */
  addProgram(name: string, text: string): void {
    Deno.writeTextFileSync(`${this.bin}/${name}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }

  install(more: Readonly<Record<string, string>> = {}) {
    const { success, stdout, stderr } = new Deno.Command("sh", {
      args: [`${this.folder}/install.sh`],
      clearEnv: true,
      env: {
        HOME: `${this.dir}/home`,
        PATH: `${this.bin}:/usr/bin:/bin`,
        MESH_RELEASES: `file://${this.folder}`,
        ...more,
      },
    }).outputSync();
    const decoder = new TextDecoder();
    return { success, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  }

  get isInstalled(): boolean {
    try {
      return Deno.readTextFileSync(this.installed) === PROGRAM;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

const NAMES = TARGETS.map((target) => `mesh-${target}`);

Deno.test("install.sh installs the file of this machine when its hash is right", () => {
  using release = new Release();
  release.addProgram("gh", "exit 1"); // It is not signed in.
  const { success, out, err } = release.install();
  assert.ok(success, err);
  assert.ok(release.isInstalled);
  assert.equal((Deno.statSync(release.installed).mode ?? 0) & 0o777, 0o755);
  assert.match(out, /Checked the hash of mesh-\S+\. To check who built it: gh attestation verify/);
  assert.match(out, /Add it to your PATH: .*\nNext: mesh setup\n$/);
});

Deno.test("install.sh installs into the folder that MESH_INSTALL_DIR names", () => {
  using release = new Release();
  release.addProgram("gh", "exit 1");
  const { success, err } = release.install({ MESH_INSTALL_DIR: `${release.dir}/opt/bin` });
  assert.ok(success, err);
  assert.equal(Deno.readTextFileSync(`${release.dir}/opt/bin/mesh`), PROGRAM);
  assert.equal(release.isInstalled, false);
});

Deno.test("install.sh names a folder that cannot be written, and one for temporary files", () => {
  using release = new Release();
  release.addProgram("gh", "exit 1");
  Deno.writeTextFileSync(`${release.dir}/file`, "x");
  const target = release.install({ MESH_INSTALL_DIR: `${release.dir}/file/bin` });
  assert.match(
    target.err,
    /cannot write into .*\/file\/bin: make it writable, or name another folder/,
  );
  const trial = release.install({ TMPDIR: `${release.dir}/missing` });
  assert.match(trial.err, /cannot make a temporary folder; set TMPDIR to a folder of yours\n$/);
  assert.deepEqual([target.success, trial.success, release.isInstalled], [false, false, false]);
});

Deno.test("install.sh refuses a file with another hash, and one that SHA256SUMS does not name", () => {
  using release = new Release();
  for (const name of NAMES) Deno.writeTextFileSync(`${release.folder}/${name}`, "echo other");
  const wrong = release.install();
  assert.equal(wrong.success, false);
  assert.match(wrong.err, /has another hash than SHA256SUMS says; nothing was installed/);
  Deno.writeTextFileSync(`${release.folder}/SHA256SUMS`, "");
  assert.match(release.install().err, /SHA256SUMS does not name mesh-/);
  assert.equal(release.isInstalled, false);
});

Deno.test("install.sh refuses a file whose provenance is wrong, and says what it cannot download", () => {
  using release = new Release();
  release.addProgram("gh", '[ "$1" = auth ] || { echo "$@" >>"${0%/*}/../gh"; exit 1; }');
  const { success, err } = release.install();
  assert.deepEqual([success, release.isInstalled], [false, false]);
  assert.match(err, /the provenance of mesh-\S+ does not name sam\/mesh; nothing was installed/);
  assert.match(
    Deno.readTextFileSync(`${release.dir}/gh`),
    /^attestation verify .* --repo sam\/mesh/,
  );
  Deno.removeSync(`${release.folder}/SHA256SUMS`);
  assert.match(release.install().err, /cannot download file:.*SHA256SUMS/);
});

for (
  const [system, processor, message] of [
    ["FreeBSD", "x86_64", /there is no file for FreeBSD/],
    ["Linux", "riscv64", /there is no file for the processor riscv64/],
  ] as const
) {
  Deno.test(`install.sh names an unsupported machine: ${system} on ${processor}`, () => {
    using release = new Release();
    release.addProgram("uname", `[ "$1" = -s ] && echo ${system} || echo ${processor}`);
    const { success, err } = release.install();
    assert.equal(success, false);
    assert.match(err, message);
  });
}

Deno.test("SHA256SUMS names every file of the release", () => {
  using release = new Release();
  const names = Array.from(Deno.readDirSync(release.folder), ({ name }) => name).sort();
  const lines = release.read("SHA256SUMS").trimEnd().split("\n");
  assert.deepEqual(lines.map((line) => line.slice(66)), names.filter((n) => n !== "SHA256SUMS"));
  const hash = createHash("sha256").update(PROGRAM).digest("hex");
  assert.ok(lines.includes(`${hash}  ${NAMES[0]}`));
  assert.match(release.read("mesh.1"), /^\.TH MESH 1/);
});

Deno.test("the Homebrew formula has an address and a hash for each system", () => {
  using release = new Release();
  const text = release.read("agent-mesh.rb");
  for (const name of NAMES) {
    assert.ok(text.includes(`url "${HOMEPAGE}/releases/download/v1.2.3/${name}"`), name);
  }
  const hash = createHash("sha256").update(PROGRAM).digest("hex");
  assert.equal(text.split(`sha256 "${hash}"`).length, NAMES.length + 1);
  assert.doesNotMatch(text, /@[A-Z]/);
});

Deno.test("the list of packages has every package of the lock file, with its hash", () => {
  using release = new Release();
  const { components } = JSON.parse(release.read("sbom.json"));
  const zod = components.find(({ name }: { name: string }) => name === "zod");
  assert.match(zod.purl, /^pkg:npm\/zod@\d+\.\d+\.\d+$/);
  assert.match(zod.hashes[0].content, /^[0-9a-f]{128}$/);
  assert.ok(components.every(({ name, version }: Record<string, string>) => name && version));
});

Deno.test("the compose file of a release runs the image that it brings", () => {
  using release = new Release();
  assert.match(release.read("compose.yaml"), /^ {4}image: mesh-relay$/m);
  assert.doesNotMatch(release.read("compose.yaml"), /build:/);
});
