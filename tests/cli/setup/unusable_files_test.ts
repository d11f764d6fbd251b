/** `mesh setup` on files that it cannot read or write: each refusal says what to do. */

import assert from "node:assert/strict";
import { SetupHome } from "../../support/cli/setup_home.ts";

const SETTINGS = ".claude/settings.json";

/** A home in which all five agents count as installed. */
function homeOfAll(): SetupHome {
  const home = new SetupHome();
  for (const path of [".claude", ".codex", ".gemini", ".copilot", ".config/opencode"]) {
    Deno.mkdirSync(home.at(path), { recursive: true });
  }
  return home;
}

interface Unusable {
  readonly name: string;
  readonly refused: RegExp;
  /** Makes the settings file unusable. */
  make(home: SetupHome): void;
}

// deno-fmt-ignore
const UNUSABLE: readonly Unusable[] = [
  {
    name: "a link into a read-only store", refused: /a link to ".*store\/settings\.json": .*mode is 0444.*home-manager/,
    make(home) {
      const target = home.write("store/settings.json", "{}", 0o444);
      Deno.symlinkSync(target, home.at("profile"));
      Deno.symlinkSync(home.at("profile"), home.at(SETTINGS));
      Deno.chmodSync(home.at("store"), 0o555);
    },
  },
  { name: "a directory", refused: /it is a directory; move/, make: (home) => Deno.mkdirSync(home.at(SETTINGS)) },
  { name: "a link to nothing", refused: /is a link to "\/nowhere\/x", which does not exist; create/, make: (home) => Deno.symlinkSync("/nowhere/x", home.at(SETTINGS)) },
  { name: "links in a circle", refused: /links lead in a circle; remove/, make: (home) => Deno.symlinkSync(home.at(SETTINGS), home.at(SETTINGS)) },
  { name: "a named pipe", refused: /it is a pipe, a socket or a device, not a file/, make: (home) => void new Deno.Command("mkfifo", { args: [home.at(SETTINGS)] }).outputSync() },
  { name: "a device", refused: /it is a pipe, a socket or a device, not a file/, make: (home) => Deno.symlinkSync("/dev/full", home.at(SETTINGS)) },
  { name: "a folder that nobody may write", refused: /nobody may write its directory/, make: (home) => Deno.chmodSync(home.at(".claude"), 0o555) },
  { name: "a file that nobody may write", refused: /mode is 0400/, make: (home) => void home.write(SETTINGS, "{}", 0o400) },
  { name: "a file in place of the folder", refused: /a part of its path is a file|it is no directory|where a directory is needed/, make(home) { Deno.removeSync(home.at(".claude")); home.write(".claude", "x"); } },
];

for (const { name, refused, make } of UNUSABLE) {
  Deno.test(`setup refuses ${name} with a way out, and sets up all other agents`, async () => {
    using home = homeOfAll();
    make(home);
    const { code, answer } = await home.setupJson();
    assert.equal(code, 1);
    const [claude, ...others] = answer.agents;
    assert.match(claude.error, refused);
    assert.ok(claude.error.includes(home.at(".claude")), claude.error);
    const outcomes = Object.fromEntries(
      claude.files.map(({ path, outcome }: { path: string; outcome: string }) => [path, outcome]),
    );
    assert.equal(outcomes[home.at(SETTINGS)], "refused");
    assert.equal(others.length, 4);
    for (const { files } of others) {
      for (const { outcome } of files) assert.equal(outcome, "changed");
    }
    assert.deepEqual(Object.keys(home.files).filter((path) => path === ".claude.json"), []);
    const found = await home.doctor("claude-code");
    assert.match(found.get("AGENT_FILE_REFUSED")?.[2] ?? "", refused);
    const again = await home.setup();
    assert.equal(again.code, 1);
    assert.match(again.text, /Not done: claude-code; the other agents are/);
  });
}

Deno.test("a refused file's lines are shown, so that they can be put where it comes from", async () => {
  using home = new SetupHome();
  home.write(SETTINGS, "{}\n", 0o444);
  const { text } = await home.setup("claude-code", "--dry-run", "--diff");
  assert.match(text, /left out: Cannot write .*\n[^]*\+ .*hook claude-code SessionStart/);
  const { answer } = await home.setupJson("claude-code", "--dry-run");
  assert.match(answer.agents[0].files[0].difference, /hook claude-code SessionStart/);
});

Deno.test("a configuration that cannot be written is refused, and the agents are set up", async () => {
  using home = homeOfAll();
  delete home.env["MESH_DAEMON__AUTH_TOKEN"];
  home.write(".config/mesh/config.yaml", "human: {name: sam}\n", 0o444);
  const { code, answer } = await home.setupJson();
  assert.equal(code, 1);
  assert.match(answer.errors[0], /config\.yaml": its mode is 0444.*; make it writable/);
  assert.ok(answer.agents.every(({ error }: { error?: string }) => error === undefined));
  assert.equal(home.read(".config/mesh/config.yaml"), "human: {name: sam}\n");
});

Deno.test("bytes that are not UTF-8 stay as they are, also in the backup of another file", async () => {
  using home = new SetupHome();
  const bytes = new Uint8Array([123, 34, 97, 34, 58, 34, 0xe9, 0xff, 34, 125]);
  home.write(SETTINGS, bytes);
  const { code, text } = await home.setup("claude-code");
  assert.equal(code, 1);
  assert.match(text, /settings\.json": it is not UTF-8 text; convert it/);
  assert.deepEqual(Deno.readFileSync(home.at(SETTINGS)), bytes);
  assert.deepEqual(Object.keys(home.files), [SETTINGS]);
});

Deno.test("a chain of links stays, and its target keeps its mode", async () => {
  using home = new SetupHome();
  const target = home.write("dotfiles/claude.json", '{"a": 1}\n', 0o640);
  Deno.mkdirSync(home.at(".claude"));
  Deno.symlinkSync("../second", home.at(SETTINGS));
  Deno.symlinkSync("dotfiles/claude.json", home.at("second"));
  await home.setup("claude-code");
  assert.ok(
    Deno.lstatSync(home.at(SETTINGS)).isSymlink && Deno.lstatSync(home.at("second")).isSymlink,
  );
  assert.match(Deno.readTextFileSync(target), /hook claude-code/);
  assert.equal((Deno.statSync(target).mode ?? 0) & 0o777, 0o640);
  await home.setup("claude-code", "--uninstall");
  assert.deepEqual(Object.keys(home.files), [SETTINGS, "dotfiles/claude.json", "second"]);
  assert.equal(Deno.readTextFileSync(target), '{"a": 1}\n');
});
