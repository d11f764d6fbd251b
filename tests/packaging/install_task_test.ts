/** `deno task install`: a mesh from these sources that needs neither them nor Deno afterwards. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { VERSION } from "kit/core/version.ts";
import { buildParts, outputOf } from "../support/packaging/installed_package.ts";
import { INSTALLED_FILE } from "../../cli/client/installed.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

buildParts();

/** The home of a person who has the sources, and no Deno on the PATH. */
class Home implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-install-" }));
  readonly bin = `${this.path}/.local/bin`;
  readonly mesh = `${this.bin}/mesh`;
  readonly #env: Record<string, string>;

  constructor(env: Record<string, string> = {}) {
    const { DENO_DIR = `${Deno.env.get("HOME")}/.cache/deno` } = Deno.env.toObject();
    this.#env = {
      HOME: this.path,
      PATH: "/usr/bin:/bin",
      SHELL: "/bin/bash",
      DENO_DIR,
      MESH_DAEMON__PORT: "0",
      ...env,
    };
  }

  install(...args: string[]): { code: number; out: string } {
    const { code, stdout, stderr } = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--cached-only", "packaging/install.ts", ...args],
      cwd: ROOT,
      env: this.#env,
      clearEnv: true,
      stdin: "null",
    }).outputSync();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, out: decode(stdout) + decode(stderr) };
  }

  /** The output of a program in a folder where no sources are. */
  run(...[program = "", ...args]: string[]): string {
    return outputOf(program, args, { cwd: "/", env: this.#env, clearEnv: true });
  }

  write(path: string, text: string): void {
    const file = `${this.path}/${path}`;
    Deno.mkdirSync(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    Deno.writeTextFileSync(file, text, { mode: 0o755 });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("the installed mesh starts in any folder, without a Deno on the PATH", () => {
  using home = new Home();
  const { code, out } = home.install();
  assert.equal(code, 0, out);
  assert.ok(out.includes(`Installed ${home.mesh}: mesh ${VERSION}, with its own Deno`), out);
  assert.equal(home.run(home.mesh, "--version"), VERSION);
  const { installation, program, update } = JSON.parse(home.run(home.mesh, "update", "--json"));
  assert.deepEqual([installation, program], ["sources", home.mesh]);
  assert.match(update, /^cd \S+ && git pull && npx -y deno@[\d.]+ task install --to \S+\/bin$/);
  assert.ok(update.endsWith(` --to ${home.bin}`), update);
});

Deno.test("uninstall names the command that removes the installed mesh, which leaves nothing", () => {
  using home = new Home();
  home.install();
  const { then } = JSON.parse(home.run(home.mesh, "uninstall", "--yes", "--json"));
  home.run("sh", "-c", then);
  const left = home.run(
    "find",
    home.path,
    "-mindepth",
    "1",
    "-name",
    "*mesh*",
    "-not",
    "-path",
    "*/state/*",
  );
  assert.equal(left, "");
});

Deno.test("the lines for the PATH of three shells are named, and added only on demand", () => {
  using home = new Home();
  const { out } = home.install();
  assert.match(out, /bash {2}export PATH="\$HOME\/\.local\/bin:\$PATH" {3}in \S+\/\.bashrc/);
  assert.match(out, /zsh {3}export PATH=.+in \S+\/\.zshrc/);
  assert.match(out, /fish {2}fish_add_path "\$HOME\/\.local\/bin"/);
  assert.throws(() => Deno.statSync(`${home.path}/.bashrc`), Deno.errors.NotFound);
  home.write(".bashrc", "alias ll='ls -l'");
  home.install("--yes");
  home.install("--yes");
  const text = Deno.readTextFileSync(`${home.path}/.bashrc`);
  assert.equal(text, `alias ll='ls -l'\nexport PATH="$HOME/.local/bin:$PATH"\n`);
  assert.equal(home.run("bash", "-c", ". ~/.bashrc && command -v mesh"), home.mesh);
  // tmux, ssh and macOS start login shells, which read no .bashrc.
  assert.equal(home.run("bash", "-lc", "command -v mesh"), home.mesh);
});

Deno.test("a login file that reads .bashrc stays as it is", () => {
  using home = new Home();
  home.write(".bash_profile", ". ~/.bashrc\n");
  const { out } = home.install("--yes");
  assert.doesNotMatch(out, /profile/);
  assert.equal(Deno.readTextFileSync(`${home.path}/.bash_profile`), ". ~/.bashrc\n");
  assert.equal(home.run("bash", "-lc", "command -v mesh"), home.mesh);
});

Deno.test("a shell's file that cannot be written leaves mesh installed, and the line to the user", () => {
  using home = new Home();
  home.write(".bash_profile", ". ~/.bashrc\n");
  home.write(".bashrc", "alias ll='ls -l'\n");
  Deno.chmodSync(`${home.path}/.bashrc`, 0o444);
  const { code, out } = home.install("--yes");
  assert.equal(code, 0, out);
  assert.match(out, /Not added: Cannot write ".*bashrc": its mode is 0444.*add the line yourself/);
  assert.doesNotMatch(out, /Not installed|Open a new terminal/);
  Deno.removeSync(`${home.path}/.bashrc`);
  Deno.symlinkSync("dotfiles/bashrc", `${home.path}/.bashrc`);
  assert.match(home.install("--yes").out, /Not added: .*bashrc.*add the line yourself/);
});

Deno.test("the line for zsh goes into the folder that .zshenv names", () => {
  using home = new Home();
  home.write("bin/zsh", '#!/bin/sh\n. ~/.zshenv\neval "$2"\n');
  home.write(".zshenv", "ZDOTDIR=$HOME/dotfiles\n");
  const PATH = `${home.path}/bin:/usr/bin:/bin`;
  using user = new Home({ PATH, HOME: home.path, SHELL: "/bin/zsh" });
  const { out } = user.install("--yes", "--to", home.bin);
  assert.ok(out.includes(`Added to ${home.path}/dotfiles/.zshrc`), out);
});

Deno.test("--yes without a shell that is known says that nothing was added", () => {
  using home = new Home({ SHELL: "/bin/dash" });
  assert.match(home.install("--yes").out, /Not added: SHELL names neither bash, zsh nor fish/);
});

Deno.test("the line that would hide another program says so before it is added", () => {
  using home = new Home();
  home.write("first/mesh", "#!/bin/sh\necho another program\n");
  using user = new Home({ PATH: `${home.path}/first:/usr/bin:/bin`, HOME: home.path });
  const { out } = user.install("--yes");
  assert.match(out, /Until then "mesh" runs \S+\/first\/mesh, which the line hides\nAdded to/);
});

Deno.test("the launcher goes into the first of the user's folders on the PATH", () => {
  using home = new Home();
  using other = new Home({ PATH: `${home.path}/bin:/usr/bin:/bin`, HOME: home.path });
  const { out } = other.install();
  assert.ok(out.includes(`Installed ${home.path}/bin/mesh`), out);
  assert.doesNotMatch(out, /not on your PATH/);
});

Deno.test("a program of another owner is never replaced", () => {
  using home = new Home();
  home.write(".local/bin/mesh", "#!/bin/sh\necho a mesh of somebody else\n");
  const { code, out } = home.install();
  assert.equal(code, 1);
  assert.ok(out.includes(`${home.mesh} is another program: choose another folder`), out);
  assert.match(Deno.readTextFileSync(home.mesh), /somebody else/);
});

Deno.test("a folder that cannot be made is named with a way out, and nothing is installed", () => {
  using home = new Home();
  home.write("file", "x");
  const { code, out } = home.install("--to", `${home.path}/file/bin`);
  assert.equal(code, 1);
  assert.match(out, /^Not installed: Cannot use ".*\/file\/bin.*": a part of its path is a file/);
  assert.match(out, /; move that file away, or choose another path\n$/);
});

Deno.test("a newer mesh is neither replaced nor hidden, unless --force says so", () => {
  using home = new Home();
  home.write("newer/package.json", '{ "name": "agent-mesh", "version": "9.0.0" }');
  home.write("newer/mesh", "#!/bin/sh\necho 9.0.0\n");
  const PATH = `${home.bin}:${home.path}/newer:/usr/bin:/bin`;
  using user = new Home({ PATH, HOME: home.path });
  const { code, out } = user.install();
  assert.equal(code, 1);
  assert.ok(out.includes(`${home.path}/newer/mesh is mesh 9.0.0, newer than ${VERSION}`), out);
  assert.equal(user.install("--force").code, 0);
  assert.equal(home.run(home.mesh, "--version"), VERSION);
});

Deno.test("an installation that another mesh on the PATH hides says so", () => {
  using home = new Home();
  home.write("first/mesh", "#!/bin/sh\necho another program\n");
  const PATH = `${home.path}/first:${home.bin}:/usr/bin:/bin`;
  using user = new Home({ PATH, HOME: home.path });
  const { out } = user.install();
  assert.ok(out.includes(`"mesh" still runs ${home.path}/first/mesh`), out);
});

Deno.test("a newer mesh that comes first on the PATH is not hidden, and not in the way", () => {
  using home = new Home();
  home.write("first/package.json", '{ "name": "agent-mesh", "version": "9.0.0" }');
  home.write("first/mesh", "#!/bin/sh\necho 9.0.0\n");
  const PATH = `${home.path}/first:${home.bin}:/usr/bin:/bin`;
  using user = new Home({ PATH, HOME: home.path });
  const { code, out } = user.install();
  assert.equal(code, 0, out);
  assert.ok(out.includes(`"mesh" still runs ${home.path}/first/mesh`), out);
});

Deno.test("a second installation keeps the program of the one before, which may still run", () => {
  using home = new Home();
  const program = () => Deno.realPathSync(home.mesh);
  home.install();
  const first = program();
  home.install("--force");
  const second = program();
  assert.notEqual(first, second);
  assert.equal(home.run(first, "--version"), VERSION);
  home.install("--force");
  assert.throws(() => Deno.statSync(first), Deno.errors.NotFound);
  assert.equal(home.run(second, "--version"), VERSION);
  assert.ok(Deno.statSync(program().replace(/mesh$/, INSTALLED_FILE)).isFile);
});

Deno.test("an installation keeps the program of a launcher in another folder", () => {
  using home = new Home();
  home.install();
  const other = `${home.path}/opt`;
  const { code, out } = home.install("--to", other, "--force");
  assert.equal(code, 0, out);
  assert.equal(home.run(home.mesh, "--version"), VERSION);
  assert.equal(home.run(`${other}/mesh`, "--version"), VERSION);
  assert.notEqual(Deno.realPathSync(home.mesh), Deno.realPathSync(`${other}/mesh`));
});
