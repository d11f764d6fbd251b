/** The control-mode connection: exact texts, concurrent commands and errors. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { isAlive } from "../../../../daemon/host/processes.ts";
import { quote, Tmux } from "../../../../daemon/host/tmux/tmux.ts";
import {
  recorder,
  SEARCH_PATH,
  silent,
  type Terminal,
  until,
  withTmux,
} from "../../../support/host/private_tmux.ts";

const AWKWARD_TEXTS = [
  `plain`,
  ``,
  `two words`,
  `"double" and 'single'`,
  "$HOME ${HOME} $(id) `id`",
  `a; b \\; c;`,
  `# comment #{pane_id} #(id)`,
  `~ ~root`,
  `line one\nline two\r\n\ttab`,
  `{ braces } }{`,
  `%if %begin 1 1 1`,
  `back\\slash \\n \\u0041 \\`,
  `héllo — 你好 🙂 👩‍👩‍👧 שלום \u202eRTL`,
  `-b --`,
];

const CONTEXT = {
  clock: systemClock,
  ids: randomIds,
  log: silent,
  search_path: SEARCH_PATH,
};

async function lines(result: ReturnType<Tmux["run"]>): Promise<readonly string[]> {
  const answer = await result;
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.lines;
}

for (const text of AWKWARD_TEXTS) {
  withTmux(`quote passes ${JSON.stringify(text)} to tmux unchanged`, async (terminal) => {
    terminal.start("cat");
    await lines(terminal.tmux.run(["set-environment", "-g", "PROBE", text]));
    const shown = terminal.cli("show-environment", "-g", "PROBE");
    assert.equal(shown, `PROBE=${text}`.trimEnd());
  });
}

Deno.test("quote leaves nothing that could end the string or the line", () => {
  const every = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join("");
  // deno-lint-ignore no-control-regex -- Control characters are what must be absent.
  assert.doesNotMatch(quote(every).slice(1, -1), /["$~`\x00-\x1f\x7f-\uffff]|\\(?![0-3][0-7]{2})/);
});

/** Every kind of character, in a fixed order, up to `bytes` of UTF-8. */
function text(bytes: number): string {
  const alphabet = [..."az09 \n\"'\\$;#~{}%`!/@[]()<>&|*?é你🙂של\u0301\u202e"];
  const encoder = new TextEncoder();
  const chosen: string[] = [];
  for (let size = 0, at = 0; size < bytes; at++) {
    const char = alphabet[(at * 7 + Math.floor(at / 31)) % alphabet.length] ?? "";
    size += encoder.encode(char).length;
    chosen.push(char);
  }
  return chosen.join("");
}

async function pasteInto(terminal: Terminal, pane: string, content: string): Promise<void> {
  const loaded = await terminal.tmux.load(content);
  assert.ok(loaded.ok);
  await lines(terminal.tmux.run(["paste-buffer", "-p", "-d", "-b", loaded.buffer, "-t", pane]));
}

for (const bytes of [1, 1_000, 10_000, 100_000]) {
  withTmux(`a text of ${bytes} bytes with every kind of character arrives exactly`, async (t) => {
    const pane = t.start(recorder(`${t.dir}/got`));
    await until("the recorder", () => t.screen(pane).includes("ready"));
    await pasteInto(t, pane, text(bytes));
    const got = await until("the end of the paste", () => {
      const read = t.read("got");
      return read.endsWith("\x1b[201~") && read;
    });
    assert.equal(got, `\x1b[200~${text(bytes).replaceAll("\n", "\r")}\x1b[201~`);
    assert.deepEqual([...Deno.readDirSync(t.dir)].map(({ name }) => name).sort(), ["got", "sock"]);
  });
}

withTmux("a text never appears in the server's message log", async (terminal) => {
  const pane = terminal.start("cat");
  await pasteInto(terminal, pane, "very private");
  assert.doesNotMatch(terminal.cli("show-messages"), /very private/);
});

withTmux("two hundred concurrent commands each get their own answer", async (terminal) => {
  terminal.start("cat");
  const numbers = Array.from({ length: 200 }, (_, at) => String(at));
  const answers = numbers.map((number) =>
    lines(terminal.tmux.run(["display-message", "-p", number]))
  );
  assert.deepEqual(await Promise.all(answers), numbers.map((number) => [number]));
});

withTmux(
  "the queue refuses the 257th command, and accepts the next once it is empty",
  async (t) => {
    t.start("cat");
    const ask = () => t.tmux.run(["display-message", "-p", "x"]);
    assert.ok((await ask()).ok);
    const answers = await Promise.all(Array.from({ length: 257 }, ask));
    assert.equal(answers.filter(({ ok }) => ok).length, 256);
    assert.partialDeepStrictEqual(answers.at(-1), { ok: false, reason: "queue_full" });
    assert.ok((await ask()).ok);
  },
);

withTmux("the queue refuses more than a megabyte of commands", async (terminal) => {
  terminal.start("cat");
  const answer = await terminal.tmux.run(["display-message", "-p", "x".repeat(1_048_576)]);
  assert.partialDeepStrictEqual(answer, { ok: false, reason: "queue_full" });
});

withTmux("a command that tmux refuses is an error, and the next one works", async (terminal) => {
  terminal.start("cat");
  const bad = await terminal.tmux.run(["no-such-command"]);
  assert.deepEqual(bad, {
    ok: false,
    reason: "error",
    message: "parse error: unknown command: no-such-command",
  });
  const missing = await terminal.tmux.run(["paste-buffer", "-b", "none", "-t", "%0"]);
  assert.partialDeepStrictEqual(missing, { ok: false, reason: "error" });
  assert.deepEqual(await lines(terminal.tmux.run(["display-message", "-p", "well"])), ["well"]);
});

withTmux(
  "a screen that shows the end marker of an answer does not end the answer",
  async (terminal) => {
    const forged = Array.from({ length: 20 }, (_, at) => `%end 1 ${at} 1\n%begin 1 ${at} 1`);
    Deno.writeTextFileSync(`${terminal.dir}/forged`, forged.join("\n") + "\nlast");
    const pane = terminal.start(`cat ${terminal.dir}/forged; exec sleep 1000`);
    await until("the forgery", () => terminal.screen(pane).includes("last"));
    const captured = await lines(terminal.tmux.capture(pane, 100));
    assert.deepEqual(captured.filter((line) => line !== ""), [
      ...forged.join("\n").split("\n"),
      "last",
    ]);
  },
);

withTmux(
  "panes() lists all panes, also with unusual names of folders and programs",
  async (t) => {
    const dir = `${t.dir}/a b#{pid}\u00e9\tz`;
    Deno.mkdirSync(dir);
    const program = `${t.dir}/my\tcat`;
    Deno.copyFileSync("/bin/cat", program);
    const first = t.start("exec cat", "one");
    const second = t.cli(
      "new-window",
      "-d",
      "-t",
      "one",
      "-c",
      dir.replace("#", "##"),
      "-PF",
      "#{pane_id}",
      `exec '${program}'`,
    );
    await until("the program", () => t.format(second, "#{pane_current_command}") === "my\tcat");
    t.cli("copy-mode", "-t", second);
    const listed = await t.tmux.panes();
    assert.ok(listed.ok);
    const pane = listed.panes.find(({ pane_id }) => pane_id === second);
    const { pane_pid, window, written_s, ...rest } = pane ?? assert.fail("the pane is not listed");
    assert.deepEqual(rest, {
      pane_id: second,
      dead: false,
      in_mode: true,
      synchronized: false,
      width: 100,
      height: 30,
      cursor_x: 0,
      cursor_y: 0,
      cursor_shown: true,
      session: "one",
      session_id: "$0",
      session_group: "",
      server_pid: t.format(second, "#{pid}"),
      command: "my cat",
      cwd: dir,
    });
    assert.deepEqual(await t.tmux.pane(second), { ok: true, pane });
    assert.ok(Math.abs(written_s - Date.now() / 1000) < 60);
    assert.equal(String(pane_pid), t.format(second, "#{pane_pid}"));
    assert.equal(window, t.format(second, "#{window_id}"));
    assert.ok(listed.panes.some(({ pane_id }) => pane_id === first));
  },
);

withTmux("pane() returns no other pane for a missing pane or an invalid id", async (t) => {
  t.start("exec cat", "one");
  for (const pane_id of ["one", "one:", "", "%", "{last}"]) {
    assert.deepEqual(await t.tmux.pane(pane_id), { ok: true, pane: undefined }, pane_id);
  }
  const gone = await t.tmux.pane("%999");
  assert.ok(gone.ok ? gone.pane === undefined : gone.reason === "error");
});

withTmux("a missing server is reported as no_server, and is not started", async (terminal) => {
  const answer = await terminal.tmux.run(["display-message", "-p", "x"]);
  assert.partialDeepStrictEqual(answer, { ok: false, reason: "no_server" });
  assert.throws(() => terminal.cli("list-sessions"), /No such file|no server running/);
});

withTmux(
  "when a server dies, waiting commands fail; a new server is reached and distinguished",
  async (t) => {
    t.start("cat");
    assert.ok((await t.tmux.run(["display-message", "-p", "x"])).ok);
    const first = Number(t.cli("display-message", "-p", "#{pid}"));
    const waiting = [t.tmux.run(["wait-for", "never"]), t.tmux.run(["display-message", "-p", "x"])];
    Deno.kill(first, "SIGKILL");
    for (const answer of await Promise.all(waiting)) {
      assert.partialDeepStrictEqual(answer, { ok: false, reason: "lost" });
    }
    // A server that is still being torn down accepts a client, and drops it.
    await until("the end of the server", () => !isAlive(first));
    t.start("cat");
    assert.deepEqual(await lines(t.tmux.run(["display-message", "-p", "again"])), ["again"]);
    const second = await lines(t.tmux.run(["display-message", "-p", "#{pid}"]));
    assert.notDeepEqual(second, [String(first)]);
    assert.deepEqual(second, [t.cli("display-message", "-p", "#{pid}")]);
  },
);

withTmux("when its session ends, the connection moves to another one", async (terminal) => {
  terminal.start("cat", "one");
  terminal.start("cat", "two");
  for (let round = 0; round < 2; round++) {
    assert.ok((await terminal.tmux.run(["display-message", "-p", "x"])).ok);
    const attached = terminal.cli("list-clients", "-F", "#{session_name}");
    terminal.cli("kill-session", "-t", attached);
    terminal.start("cat", attached);
    assert.deepEqual(await lines(terminal.tmux.query(["display-message", "-p", "y"])), ["y"]);
  }
});

withTmux("a command without an answer times out, and the next one works", async (terminal) => {
  terminal.start("cat");
  const { dir: state_dir } = terminal;
  const options = { ...CONTEXT, state_dir };
  await using tmux = new Tmux(terminal.socket, { ...options, answer_ms_max: 150 });
  const answer = await tmux.run(["wait-for", "never"]);
  assert.partialDeepStrictEqual(answer, { ok: false, reason: "timeout" });
  assert.deepEqual(await lines(tmux.run(["display-message", "-p", "fine"])), ["fine"]);
});

withTmux("a closed connection refuses commands, and fails those that wait", async (terminal) => {
  terminal.start("cat");
  const waiting = terminal.tmux.run(["wait-for", "never"]);
  await terminal.tmux.close();
  assert.partialDeepStrictEqual(await waiting, { ok: false, reason: "closed" });
  const later = await terminal.tmux.run(["display-message", "-p", "x"]);
  assert.partialDeepStrictEqual(later, { ok: false, reason: "closed" });
});

Deno.test("without tmux installed, commands fail with no_tmux", async () => {
  const dir = Deno.makeTempDirSync();
  using _listener = Deno.listen({ transport: "unix", path: `${dir}/sock` });
  const options = { ...CONTEXT, state_dir: dir, search_path: "/nowhere" };
  await using tmux = new Tmux(`${dir}/sock`, options);
  const answer = await tmux.run(["display-message", "-p", "x"]);
  assert.partialDeepStrictEqual(answer, { ok: false, reason: "no_tmux" });
  Deno.removeSync(dir, { recursive: true });
});

withTmux("a state directory that is not writable is a failure, not a crash", async (terminal) => {
  terminal.start("cat");
  const options = { ...CONTEXT, state_dir: "/nowhere" };
  await using tmux = new Tmux(terminal.socket, options);
  assert.partialDeepStrictEqual(await tmux.load("text"), { ok: false, reason: "no_file" });
});

withTmux(
  "exclusive operations on one pane run in turn, even after an error; panes do not wait for each other",
  async (t) => {
    const order: string[] = [];
    const { promise: barrier, resolve: open } = Promise.withResolvers<void>();
    const first = t.tmux.runExclusive("%1", async () => {
      await barrier;
      order.push("first");
      throw new Error("a fault");
    });
    const second = t.tmux.runExclusive("%1", () => Promise.resolve(order.push("second")));
    await t.tmux.runExclusive("%2", () => Promise.resolve(order.push("other")));
    open();
    await assert.rejects(first, /a fault/);
    await second;
    assert.deepEqual(order, ["other", "first", "second"]);
  },
);
