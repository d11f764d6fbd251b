/** Every input of a release is pinned by a hash: actions, tools, base images, packages. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import * as z from "zod";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => Deno.readTextFileSync(ROOT + path);
const WORKFLOWS = [...Deno.readDirSync(`${ROOT}.github/workflows`)]
  .map(({ name }) => `.github/workflows/${name}`);

const Step = z.object({
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
});
const Workflow = z.object({
  permissions: z.object({}).strict(),
  jobs: z.record(
    z.string(),
    z.object({ permissions: z.record(z.string(), z.string()).optional(), steps: z.array(Step) }),
  ),
});

const steps = (path: string) =>
  Object.values(Workflow.parse(parse(read(path))).jobs).flatMap(({ steps }) => steps);

Deno.test("every action of a workflow is named by a commit, with its tag in a comment", () => {
  for (const path of WORKFLOWS) {
    for (const line of read(path).split("\n").filter((line) => /\buses:/.test(line))) {
      assert.match(line, /uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, path);
    }
  }
});

Deno.test("a job of a workflow has only the permissions it names, and keeps no token in its clone", () => {
  for (const path of WORKFLOWS) {
    const { jobs } = Workflow.parse(parse(read(path))); // By default there are none.
    const writing = Object.values(jobs).filter(({ permissions }) =>
      Object.values(permissions ?? {}).includes("write")
    );
    assert.ok(writing.length <= 1, path);
    for (const { uses = "", with: options } of steps(path)) {
      if (uses.startsWith("actions/checkout@")) {
        assert.equal(options?.["persist-credentials"], false);
      }
    }
  }
});

Deno.test("no step of a workflow runs an unlocked package or an expression", () => {
  for (const path of WORKFLOWS) {
    for (const { run = "" } of steps(path)) {
      assert.doesNotMatch(run, /\bnpx\b|\bnpm (install|i|exec)\b|\$\{\{/, path);
      assert.doesNotMatch(run, /curl[^|]*\|/, path);
    }
  }
});

Deno.test("the image installs from the lock file on x86_64, and its base images can be pinned", () => {
  const lines = read("Dockerfile").split("\n");
  for (const line of lines.filter((line) => /\bnpx\b|\bnpm (install|i)\b/.test(line))) {
    assert.match(line, /^RUN if \[ "\$\(uname -m\)" = x86_64 \]; then npm ci .*; else npm install/);
  }
  const bases = lines.filter((line) => line.startsWith("FROM "));
  assert.deepEqual(bases, ["FROM ${BUILD_IMAGE} AS build", "FROM ${RUN_IMAGE}"]);
  const release = read(".github/workflows/release.yml");
  assert.match(release, /docker build --build-arg BUILD_IMAGE --build-arg RUN_IMAGE /);
});

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({ version: z.string().optional(), integrity: z.string().optional() }),
  ),
});

Deno.test("the lock file of the tools has a hash of the Deno that continuous integration runs", () => {
  const { packages } = Lock.parse(JSON.parse(read(".ci/deno/package-lock.json")));
  const [, version] = /npx -y deno@(\S+) /.exec(read(".ci/run")) ?? [];
  const { "": _root, ...pinned } = packages;
  assert.ok(Object.keys(pinned).length > 0);
  for (const [name, found] of Object.entries(pinned)) {
    assert.equal(found.version, version, name);
    assert.match(found.integrity ?? "", /^sha512-[A-Za-z0-9+/]{86}==$/, name);
  }
});

Deno.test("the lock file of the packages is frozen for every command", () => {
  assert.equal(JSON.parse(read("deno.json")).lock.frozen, true);
});
