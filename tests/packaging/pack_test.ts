/** The npm package: installed into an empty prefix, and used from there as the README does. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { VERSION } from "kit/core/version.ts";
import { PARTS_FLAGS } from "../../cli/client/program.ts";
import { InstalledPackage, isMissing, outputOf } from "../support/packaging/installed_package.ts";

const PACKAGING = new URL("../../packaging/", import.meta.url);

Deno.test("the launcher gives the parts the options that the executable has", () => {
  const launcher = Deno.readTextFileSync(new URL("mesh", PACKAGING)).replaceAll(/\\\n +/g, "");
  assert.ok(launcher.includes(`run -A --quiet ${PARTS_FLAGS.join(" ")} "$here/parts/main.js"`));
});

/** The package, and the home of a person who uses it. */
class InstalledHome extends InstalledPackage {
  constructor() {
    super();
    Deno.mkdirSync(`${this.dir}/home/.claude`, { recursive: true });
  }

  /** Runs the program without anything of this repository in its environment. */
  mesh(...args: string[]): string {
    const env = {
      HOME: `${this.dir}/home`,
      PATH: `${this.dir}/prefix/bin:/usr/bin:/bin`,
      MESH_DAEMON__PORT: "0",
    };
    return outputOf(this.program, args, { env, clearEnv: true, cwd: `${this.dir}/home` });
  }
}

Deno.test({
  name: "the npm package works from an empty prefix: version, setup, up, ask, inbox, down",
  ignore: isMissing("npm"),
  fn() {
    using installed = new InstalledHome();
    const { dir } = installed;
    const mesh = (...args: string[]) => installed.mesh(...args);
    assert.equal(mesh("--version"), VERSION);
    assert.match(Deno.readTextFileSync(`${dir}/prefix/share/man/man1/mesh.1`), /^\.TH MESH 1/);
    const pages = `${dir}/prefix/lib/node_modules/agent-mesh`;
    const readme = Deno.readTextFileSync(`${pages}/README.md`);
    for (const [, link = ""] of readme.matchAll(/\]\(([^)#:]+)\)/g)) {
      assert.ok(Deno.statSync(`${pages}/${link}`).isFile, link);
    }
    // The steps that a release takes with each of its files.
    const tried = outputOf("bash", [
      fileURLToPath(new URL("try.sh", PACKAGING)),
      installed.program,
    ]);
    assert.match(tried, /^ask ask-\w+ {2}web → api\n[^]*Done in [\d.]+ s[^]*All steps passed\.$/m);
    assert.doesNotMatch(tried.split("Done in")[0] ?? "", /peer-[0-9a-f]/, "Peers have names");
    const setup = mesh("setup", "--yes", "--name", "sam");
    assert.match(setup, /~\/\.claude\/settings\.json/);
    assert.doesNotMatch(setup, /warning/);
    const launcher = `${dir}/prefix/lib/node_modules/agent-mesh/mesh`;
    const settings = Deno.readTextFileSync(`${dir}/home/.claude/settings.json`);
    assert.ok(settings.includes(`; ${launcher} hook claude-code Stop"`), settings);
    try {
      assert.match(mesh("up"), /^Started at/);
      assert.match(mesh("peers"), /^peer-\w+ +sam /m);
      assert.match(mesh("ask", "sam", "Which port?"), /^ask-\w+ +accepted to sam$/);
      assert.match(mesh("inbox"), /Which port\?/);
    } finally {
      mesh("down");
    }
    const { installation, update } = JSON.parse(mesh("update", "--json"));
    const options = `-g --prefix ${dir}/prefix`;
    assert.deepEqual([installation, update], ["npm", `npm install ${options} agent-mesh@latest`]);
    const uninstalled = JSON.parse(mesh("uninstall", "--yes", "--purge", "--json"));
    assert.deepEqual([uninstalled.agents, uninstalled.kept], [["claude-code"], []]);
    assert.equal(uninstalled.then, `npm uninstall ${options} agent-mesh`);
  },
});
