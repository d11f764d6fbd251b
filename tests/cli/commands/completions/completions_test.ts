/** Completions in the real shells, with a `mesh` that has two peers. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { SCRIPTS } from "../../../../cli/commands/generated/scripts.ts";
import { shellQuote } from "../../../../daemon/features/agents/settings_files/shell_words.ts";
import { until, withTmux } from "../../../support/host/private_tmux.ts";
import { answeringDaemon, deadPort, PEER } from "../../../support/cli/answering_daemon.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** Prints what the shell offers for a command line, one candidate a line. */
const OFFER: Readonly<Record<Shell, string>> = {
  bash:
    '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mesh; printf "%s\\n" "${COMPREPLY[@]}"',
  zsh: '. "$0" 2>/dev/null; emulate -L sh; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mesh; ' +
    'printf "%s\\n" "${COMPREPLY[@]}"',
  fish: 'source $argv[1]; complete -C (string join " " -- $argv[2..])',
};

/** A folder with the script and a `mesh` that knows two peers, a circle and an ask. */
function completionFixture(shell: Shell) {
  const dir = Deno.makeTempDirSync();
  const script = join(dir, "script");
  Deno.writeTextFileSync(script, SCRIPTS[shell] ?? "");
  const known = "peers) echo api; echo web ;; circles) echo main ;; asks) echo ask-1 ;;";
  const program = `#!/bin/sh\ncase $2 in ${known} esac\n`;
  Deno.writeTextFileSync(join(dir, "mesh"), program, { mode: 0o755 });
  return {
    /** The candidates for a command line, whose last word is being typed. */
    async candidatesFor(line: string): Promise<string[]> {
      const words = line.split(" ");
      const flags = { bash: ["--norc"], zsh: ["-f"], fish: ["--no-config"] }[shell];
      const { stdout } = await new Deno.Command(shell, {
        args: [...flags, "-c", OFFER[shell], script, ...words],
        env: { PATH: `${dir}:${Deno.env.get("PATH")}`, HOME: dir, XDG_RUNTIME_DIR: dir },
        stdin: "null",
      }).output();
      const lines = new TextDecoder().decode(stdout).split("\n");
      const candidates = lines.map((text) => text.split("\t")[0] ?? "").filter(Boolean);
      // zsh compares candidates with the word only after the function has ended.
      const typed = shell === "zsh" ? words.at(-1) ?? "" : "";
      return candidates.filter((candidate) => candidate.startsWith(typed));
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

function isInstalled(shell: Shell): boolean {
  try {
    return new Deno.Command(shell, { args: ["-c", "true"] }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

for (const shell of SHELLS) {
  const ignore = !isInstalled(shell);
  const missing = ignore ? ` (skipped: ${shell} is not installed)` : "";
  Deno.test({
    name: `${shell} completes commands, peers, options and their values${missing}`,
    ignore,
    async fn() {
      using fixture = completionFixture(shell);
      const { candidatesFor: offered } = fixture;
      assert.deepEqual((await offered("mesh pee")).sort(), ["peer", "peers"]);
      assert.deepEqual((await offered("mesh inbox re")).sort(), ["read", "reply"]);
      assert.deepEqual(await offered("mesh ask a"), ["api"]);
      assert.deepEqual(await offered("mesh ask --circle main w"), ["web"]);
      assert.deepEqual(await offered("mesh peer show a"), ["api"]);
      assert.deepEqual(await offered("mesh peers --stat"), ["--status"]);
      assert.deepEqual((await offered("mesh peers --status o")).sort(), ["offline", "online"]);
      assert.deepEqual(await offered("mesh config get daemon.po"), ["daemon.port"]);
      assert.deepEqual(await offered("mesh ls --status b"), ["busy"]);
      assert.deepEqual(await offered("mesh setup --ye"), ["--yes"]);
      assert.deepEqual(await offered("mesh run --co"), ["--count"]);
      assert.deepEqual(await offered("mesh --vers"), ["--version"]);
      assert.deepEqual(await offered("mesh peer show --circle m"), ["main"]);
      assert.deepEqual(await offered("mesh answer a"), ["ask-1"]);
      // Ids that no list has, the options of a question, and the public key of a machine.
      for (const line of ["when show a", "push test a", "answer ask-1 --option a"]) {
        assert.ok(!(await offered(`mesh ${line}`)).includes("ask-1"), line);
      }
      assert.deepEqual(await offered("mesh machines allow daemon"), []);
      const short = await offered("mesh run -");
      for (const option of ["-n", "--count", "-y", "--yes", "-h", "--help", "--in"]) {
        assert.ok(short.includes(option), `${option} in ${short}`);
      }
      for (const option of short) assert.match(option, /^-(\w|-[a-z-]+)$/);
    },
  });
}

/** The startup file of each shell, its name, and the line that starts the shell with it. */
const STARTUP: Readonly<Record<Shell, [file: string, text: string, command: string]>> = {
  bash: ["rc", "PS1='READY '; bind 'set show-all-if-ambiguous on'", "bash --rcfile $HOME/rc -i"],
  zsh: [".zshrc", "PS1='READY '", "env ZDOTDIR=$HOME zsh -i"],
  fish: [
    "rc",
    "function fish_prompt; echo -n 'READY '; end",
    "fish --no-config -C 'source $HOME/rc'",
  ],
};

for (const shell of SHELLS) {
  const name = `${shell} at a terminal completes what is typed, with the options' short forms`;
  if (!isInstalled(shell)) {
    const skipped = `${name} (skipped: ${shell} is not installed)`;
    Deno.test({ name: skipped, ignore: true, fn: () => {} });
    continue;
  }
  withTmux(
    name,
    async (terminal) => {
      const [file, text, command] = STARTUP[shell];
      Deno.writeTextFileSync(join(terminal.dir, "script"), SCRIPTS[shell] ?? "");
      Deno.writeTextFileSync(join(terminal.dir, file), `. $HOME/script\n${text}\n`);
      const mesh = '#!/bin/sh\n[ "$1" = complete ] && exec echo api\necho "got: $*"\n';
      Deno.writeTextFileSync(join(terminal.dir, "mesh"), mesh, { mode: 0o755 });
      const env =
        `env HOME=${terminal.dir} XDG_DATA_HOME=${terminal.dir} XDG_RUNTIME_DIR=${terminal.dir} ` +
        `PATH=${terminal.dir}:$PATH`;
      const pane = terminal.start(`${env} sh -c ${shellQuote(`exec ${command}`)}`);
      const shows = (text: string) => until(text, () => terminal.screen(pane).includes(text));
      await shows("READY");
      const type = (...keys: string[]) => terminal.cli("send-keys", "-t", pane, ...keys);
      type("mesh setup --ye", "Tab", "Enter");
      await shows("got: setup --yes");
      type("mesh run --cou", "Tab", "2 -", "Tab");
      await shows("--detach");
      const screen = terminal.screen(pane);
      for (const option of ["-y", "--yes", "-n"]) {
        assert.match(screen, RegExp(`(^|\\s)${option}\\b`, "m"));
      }
      assert.doesNotMatch(screen, /<count>/);
    },
  );
}

Deno.test("the values come from the daemon, and without one there are none and no error", async () => {
  const retired = { ...PEER, name: "old", status: "retired" };
  await using p = answeringDaemon({
    "GET /peers": () => ({ peers: [PEER, { ...PEER, name: "web" }, retired] }),
    "GET /inbox": () => ({ items: [{ item_id: "inb-1" }] }),
  });
  assert.equal((await p.mesh(["complete", "peers"])).out, "api\nweb\n");
  assert.equal((await p.mesh(["complete", "circles"])).out, "main\n");
  assert.equal((await p.mesh(["complete", "inbox"])).out, "inb-1\n");
  const dead = { MESH_DAEMON__PORT: deadPort() };
  for (const [kind, env] of [["peers", dead], ["nonsense", {}], ["jobs", {}]] as const) {
    assert.deepEqual(await p.mesh(["complete", kind], {}, env), { code: 0, out: "", err: "" });
  }
});
