/** The image: no engine builds it here, but every line that can run is run. */

import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import { until } from "../../support/waiting.ts";

const REPO_ROOT = join(import.meta.dirname ?? ".", "..", "..", "..");

interface Line {
  readonly stage: number;
  readonly instruction: string;
  readonly rest: string;
}

function lines(): Line[] {
  let stage = -1;
  return Deno.readTextFileSync(join(REPO_ROOT, "Dockerfile")).split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const [instruction = "", ...rest] = line.split(" ");
      if (instruction === "FROM") stage++;
      return { stage, instruction, rest: rest.join(" ") };
    });
}

const of = (instruction: string, stage: number) =>
  lines().filter((line) => line.instruction === instruction && line.stage === stage).map((
    { rest },
  ) => rest);
const [last] = lines().map(({ stage }) => stage).slice(-1);

/** The source and the target of each COPY. */
function copies(stage: number) {
  return of("COPY", stage).map((rest) => {
    const words = rest.split(" ").filter((instruction) => !instruction.startsWith("--"));
    return { from: words.slice(0, -1), to: words.at(-1) ?? "" };
  });
}

/** The build stage, run in a folder of its own; its `out` is what the image copies. */
function build(dir: string): void {
  for (const { from, to } of copies(0)) {
    for (const source of from) {
      const target = to.endsWith("/") ? join(dir, to, basename(source)) : join(dir, to);
      Deno.mkdirSync(dirname(target), { recursive: true });
      cpSync(join(REPO_ROOT, source), target, { recursive: true });
    }
  }
  for (const rest of of("RUN", 0)) {
    const command = new Deno.Command("sh", { args: ["-ec", rest], cwd: dir, stderr: "piped" });
    const { success, stderr } = command.outputSync();
    assert.ok(success, `RUN ${rest}\n${new TextDecoder().decode(stderr)}`);
  }
}

/** The path in the folder that stands for a path of the image. */
function inFolder(dir: string, text: string): string {
  const moved = [
    ["/usr/local/bin/deno", "out/bin/deno"],
    ["/opt/mesh/mesh.js", "out/mesh.js"],
    ["/data", "out/data"],
  ] as const;
  return moved.reduce((output, [from, to]) => output.replaceAll(from, join(dir, to)), text);
}

Deno.test("each file that the image copies exists, and together they are the program", () => {
  for (const { from } of copies(0)) {
    for (const source of from) Deno.statSync(join(REPO_ROOT, source));
  }
  const ignored = Deno.readTextFileSync(join(REPO_ROOT, ".dockerignore")).split("\n");
  const taken = copies(0).flatMap(({ from }) => from);
  assert.deepEqual(
    ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1)).sort(),
    taken.toSorted(),
  );
});

Deno.test("the image runs as an unprivileged user, keeps its data on a volume, and has a health check [c9.image]", () => {
  const stage = last ?? 0;
  assert.deepEqual(of("USER", stage), ["10001:10001"]);
  assert.deepEqual(of("VOLUME", stage), ["/data"]);
  assert.equal(of("RUN", stage).length, 0);
  assert.equal(of("HEALTHCHECK", stage).length, 1);
  assert.ok(!Deno.readTextFileSync(join(REPO_ROOT, "Dockerfile")).includes("mesh_sk_"));
});

Deno.test("the build stage makes a relay that starts with the permissions of the image and has the dashboard", async () => {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-image-" });
  try {
    build(dir);
    const [entry = "[]"] = of("ENTRYPOINT", last ?? 0);
    const [, ...args] = JSON.parse(inFolder(dir, entry)) as string[];
    const deno = join(dir, "out/bin/deno");
    const env = { RELAY_PORT: "0", DENO_DIR: join(dir, "out/deno"), PATH: "/nowhere" };
    const options = { args, cwd: join(dir, "out/data"), env, clearEnv: true };
    const child = new Deno.Command(deno, { ...options, stderr: "piped" }).spawn();
    let output = "";
    const reading = child.stderr.pipeThrough(new TextDecoderStream())
      .pipeTo(new WritableStream({ write: (text) => void (output += text) }));
    try {
      const url = await until("the relay", () => /"url":"([^"]+)"/.exec(output)?.[1]);
      const { port } = new URL(url);
      const [health = ""] = of("HEALTHCHECK", last ?? 0);
      const [, ...look] = JSON.parse(health.slice(health.indexOf("CMD ") + 4)) as string[];
      const looked = { args: look, env: { ...env, RELAY_PORT: port }, clearEnv: true };
      assert.equal((await new Deno.Command(deno, looked).output()).code, 0);
      for (const file of ["manifest.webmanifest", "worker.js"]) {
        const page = `http://127.0.0.1:${port}/m/dm-000000000001/dashboard`;
        const answer = await fetch(`${page}/${file}`);
        assert.equal(answer.status, 200, file);
        await answer.body?.cancel();
      }
    } finally {
      child.kill("SIGTERM");
      assert.equal((await child.status).code, 0);
      await reading;
    }
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});

Deno.test("the example of a composition is complete, and only the proxy reaches its relay", () => {
  const compose = parse(Deno.readTextFileSync(join(REPO_ROOT, "docs/relay/compose.yaml")));
  const { relay, proxy } = compose.services;
  assert.equal(relay.ports, undefined);
  assert.equal(relay.read_only, true);
  assert.ok(relay.volumes.some((volume: string) => volume.endsWith(":/data")));
  assert.deepEqual(proxy.ports, ["80:80", "443:443"]);
  const [{ subnet }] = compose.networks.default.ipam.config;
  assert.equal(relay.environment.RELAY_OAUTH_PROXY_MODE, "trusted");
  assert.equal(relay.environment.RELAY_TRUSTED_PROXIES, subnet);
  const caddy = Deno.readTextFileSync(join(REPO_ROOT, "docs/relay/Caddyfile"));
  assert.match(caddy, /reverse_proxy relay:8378/);
  assert.match(caddy, /respond \/metrics 404/);
});
