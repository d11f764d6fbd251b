/** Our program is recognized by its content, at any path and under any name. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MeshPrograms } from "../../../../../daemon/features/agents/settings_files/mesh_programs.ts";

const MAIN = fileURLToPath(new URL("../../../../../main.ts", import.meta.url));
const SIGNATURE = ".runCli(Deno.args,";
const MEGABYTE = 1_048_576;

/** A folder with programs. */
class Machine implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-programs-" });
  readonly programs = new MeshPrograms(
    { HOME: this.dir, PATH: `${this.dir}/bin:relative:` },
    ["/this/mesh"],
  );

  write(path: string, content: string | Uint8Array): string {
    const whole = join(this.dir, path);
    Deno.mkdirSync(dirname(whole), { recursive: true });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    Deno.writeFileSync(whole, bytes, { mode: 0o755 });
    return whole;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

/** An executable with a text at an offset. */
function executable(text: string, at: number): Uint8Array {
  const bytes = new Uint8Array(at + text.length + 5000);
  bytes.set([0x7f, 0x45, 0x4c, 0x46]);
  bytes.set(new TextEncoder().encode(text), at);
  return bytes;
}

Deno.test("the running command, and what our mark names, is ours", () => {
  using machine = new Machine();
  assert.ok(machine.programs.includes(["/this/mesh"]));
  assert.ok(!machine.programs.includes(["/any/program"]));
  machine.programs.add(["/any/program"]);
  assert.ok(machine.programs.includes(["/any/program"]));
  assert.ok(!machine.programs.includes(["/any/program", "more"]));
  assert.ok(!machine.programs.includes([]));
});

Deno.test("our sources, an executable of any name, and a package are ours", () => {
  using machine = new Machine();
  const { programs } = machine;
  assert.ok(programs.includes(["deno", "run", "-A", "--quiet", MAIN]));
  assert.ok(programs.includes(["/anywhere/deno", "run", "-A", `file://${MAIN}`]));
  const binary = machine.write("opt/agent", executable(SIGNATURE, 1000));
  assert.ok(programs.includes([binary]));
  assert.ok(programs.includes(["env", "X=1", "timeout", "5", binary]));
  // The signature spans two chunks.
  const split = machine.write("opt/split", executable(SIGNATURE, 4 * MEGABYTE - 7));
  assert.ok(programs.includes([split]));
  assert.ok(programs.includes(["$HOME/opt/split"]) && programs.includes(["~/opt/agent"]));
  const launcher = machine.write("lib/node_modules/agent-mesh/mesh", "#!/bin/sh\n");
  Deno.mkdirSync(join(machine.dir, "bin"));
  Deno.symlinkSync(launcher, join(machine.dir, "bin/mesh"));
  assert.ok(programs.includes(["mesh"]), "by the PATH and a link");
  machine.write("unpacked/package.json", '{"name": "agent-mesh"}');
  assert.ok(programs.includes([machine.write("unpacked/mesh", "#!/bin/sh\n")]));
  assert.ok(programs.includes([machine.write("opt/Cellar/agent-mesh/1/bin/mesh", "x")]));
});

Deno.test("a script that passes its arguments on to our program is ours, within a few steps", () => {
  using machine = new Machine();
  const { programs } = machine;
  const first = machine.write("a b/first", `#!/bin/sh\nexec deno run -A '${MAIN}' "$@"\n`);
  const second = machine.write("second", `#!/bin/bash\nset -e\nX=1 exec '${first}' "$@"\n`);
  assert.ok(programs.includes([first]) && programs.includes([second]));
  const loop = join(machine.dir, "loop");
  machine.write("loop", `#!/bin/sh\nexec ${loop} "$@"\n`);
  assert.ok(!programs.includes([loop]));
  const mentions = machine.write("mentions", `#!/bin/sh\n# exec ${first} "$@"\necho ${first}\n`);
  assert.ok(!programs.includes([mentions]));
});

Deno.test("a package runner is ours by the name of the package", () => {
  using machine = new Machine();
  const isMesh = (line: string) => machine.programs.includes(line.split(" "));
  for (
    const line of [
      ...["npx agent-mesh", "npx -y agent-mesh@1.2", "bunx agent-mesh", "npm exec agent-mesh"],
      ...["pnpm dlx agent-mesh", "yarn dlx agent-mesh", "deno run -A npm:agent-mesh@1"],
    ]
  ) assert.ok(isMesh(line), line);
  for (
    const line of [
      ...["npx mesh", "npx -y @acme/mesh", "npx @acme/agent-mesh", "npx agent-mesh-tools"],
      ...[
        "npm run agent-mesh",
        "deno run npm:mesh",
        "npx",
        "npm",
        "uvx agent-mesh",
        "docker run mesh",
      ],
    ]
  ) assert.ok(!isMesh(line), line);
});

Deno.test("another program named mesh is not ours, wherever it lies", () => {
  using machine = new Machine();
  const { programs } = machine;
  for (
    const [path, content] of [
      ["bin/mesh", "#!/bin/sh\necho service mesh\n"],
      ["opt/mesh", executable("service mesh agent-mesh", 10_000)],
      ["opt/main.ts", "export const mesh = 1;\n"],
      ["opt/agent-mesh/mesh", "#!/usr/bin/env python\nprint('agent-mesh')\n"],
    ] as const
  ) {
    const file = machine.write(path, content);
    assert.ok(!programs.includes([file]) && !programs.isFormer([file]), path);
  }
  assert.ok(!programs.includes(["mesh"]));
  const main = join(machine.dir, "opt/main.ts");
  const command = ["/usr/bin/deno", "run", "-A", "--quiet", main];
  assert.ok(!programs.includes(command) && !programs.isFormer(command));
  Deno.mkdirSync(join(machine.dir, "dir/mesh"), { recursive: true });
  assert.ok(!programs.includes([join(machine.dir, "dir/mesh")]));
});

Deno.test("a command that an older version wrote is ours once its program is gone", () => {
  using machine = new Machine();
  const isFormer = (line: string) => machine.programs.isFormer(line.split(" "));
  const flags = "--no-config --no-lock --unstable-no-legacy-abort --unstable-lazy-dynamic-imports";
  for (
    const line of [
      ...["/gone/mesh", "/gone/deno run -A --quiet /gone/main.ts"],
      `/gone/deno run -A --quiet ${flags} /gone/main.js`,
    ]
  ) assert.ok(isFormer(line), line);
  for (
    const line of [
      ...["mesh", "bin/mesh", "/gone/meshctl", "/gone/mesh serve", "/gone/mesh.py", "limem"],
      ...["deno run -A --quiet /gone/main.ts", "/gone/deno run -A /gone/main.ts"],
      ...["/gone/deno run -A --quiet other.ts", "/gone/deno run -A --quiet /gone/server.ts"],
      "/gone/deno run -A --quiet extra /gone/main.ts",
    ]
  ) assert.ok(!isFormer(line), line);
});
