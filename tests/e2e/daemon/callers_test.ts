/** A real daemon, and callers that pose as the human or run as another user. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { CallersFixture, has, nextTick } from "../../support/e2e/callers_fixture.ts";
import { run } from "../../support/e2e/programs.ts";
import { until } from "../../support/waiting.ts";

const isLinux = Deno.build.os === "linux";
const isRoot = Deno.uid() === 0;
const NOBODY_UID = 65_534;

/** Attempts of an agent with a shell, each with a text of its own. */
const ATTEMPTS = `
exec 2>/dev/null
curl -s -d '{"name":"agent","path":"/","backend":"generic","agent_pid":'$$'}' "$URL/peers"
post() { curl -s "$@" "$URL/notify"; }
say() { printf '{"from_peer":"sam","to_peer":"victim","text":"%s"}' "$1"; }
post -d "$(say 'plain')"
post -H 'Sec-Fetch-Site: same-origin' -d "$(say 'browser headers')"
post -H "x-mesh-terminal: $PPID" -d "$(say 'the pid of another')"
script -qec "mesh notify victim 'a terminal of its own' --from sam" /dev/null
(setsid script -qec "mesh notify victim 'a terminal left behind' --from sam" /dev/null &)
tmux -L agent new-session -d "mesh notify victim 'a tmux of its own' --from sam; sleep 60"
mesh open --json > "$HOME/opened"
sleep 60
`;

Deno.test("an agent with a shell cannot speak as the human", {
  ignore: !isLinux || !has("tmux") || !has("script") || !has("curl"),
}, async () => {
  await using fixture = new CallersFixture();
  await fixture.ready();
  fixture.tmux("-L", "person", "new-session", "-d", "-s", "work", "sh");
  await nextTick(); // A tmux server that starts in the same tick as an agent may be the agent's.
  Deno.writeTextFileSync(
    `${fixture.dir}/attempts.sh`,
    `URL=${fixture.url}\nPATH=$HOME:$PATH${ATTEMPTS}`,
  );
  fixture.start(["bash", `${fixture.dir}/attempts.sh`]);
  for (
    const trick of [
      "plain",
      "browser headers",
      "the pid of another",
      "a terminal of its own",
      "a terminal left behind",
      "a tmux of its own",
    ]
  ) {
    assert.equal(await fixture.voice(trick), "unverified", trick);
  }
  const opened = await until("the address of a page", () => {
    const text = run("cat", [`${fixture.dir}/opened`]);
    return text.trim().endsWith("}") && text;
  });
  assert.equal(JSON.parse(opened).human, false, "an agent gets no ticket");
  const typed = `${fixture.dir}/mesh notify victim 'a person in a pane' --from sam`;
  fixture.tmux("-L", "person", "send-keys", "-t", "work", typed, "Enter");
  assert.equal(await fixture.voice("a person in a pane"), "human");
});

/** The same in a terminal that a person opened: only the agent itself is in the way. */
const ATTEMPTS_IN_TERMINAL = `
exec 2>/dev/null
register() { curl -s -d '{"name":"agent","path":"/","backend":"generic","agent_pid":'$1'}' "$URL/peers"; }
alone() { env -i HOME="$HOME" PATH="$PATH" URL="$URL" MESH_STATE="$MESH_STATE" \
  MESH_CONFIG="$MESH_CONFIG" DENO_DIR="$DENO_DIR" script -qec "$1" /dev/null; }
register $$
alone "mesh notify victim 'while it is registered' --from sam"
curl -s -d '{}' "$URL/peers/agent/offline"
alone "mesh notify victim 'while it is offline' --from sam"
register $$
sleep 60 & register $!
alone "mesh notify victim 'after it named another process' --from sam"
curl -s -X DELETE "$URL/peers/agent"
alone "mesh notify victim 'after it was closed' --from sam"
register $$
for depth in 60 61 62 63; do alone "bash $HOME/deep.sh $depth"; done
`;
const DEEP = `if [ "$1" = "0" ]; then mesh notify victim "from $2 below" --from sam
else bash $HOME/deep.sh $(($1 - 1)) "\${2:-$1}"; fi; true`;

Deno.test("an agent in a person's terminal cannot become the person by leaving the mesh", {
  ignore: !isLinux || !has("tmux") || !has("script") || !has("curl"),
}, async () => {
  await using fixture = new CallersFixture();
  await fixture.ready();
  fixture.tmux("-L", "person", "new-session", "-d", "-s", "work", "sh");
  Deno.writeTextFileSync(`${fixture.dir}/deep.sh`, DEEP);
  const script = `URL=${fixture.url}\nPATH=$HOME:$PATH${ATTEMPTS_IN_TERMINAL}`;
  Deno.writeTextFileSync(`${fixture.dir}/attempts.sh`, script);
  const type = (line: string) =>
    fixture.tmux("-L", "person", "send-keys", "-t", "work", line, "Enter");
  type(`${fixture.dir}/mesh notify victim before --from sam`);
  assert.equal(await fixture.voice("before"), "human");
  type(`bash ${fixture.dir}/attempts.sh`);
  for (
    const trick of [
      "while it is registered",
      "while it is offline",
      "after it named another process",
      "after it was closed",
      ...[60, 61, 62, 63].map((depth) => `from ${depth} below`),
    ]
  ) {
    assert.equal(await fixture.voice(trick), "unverified", trick);
  }
});

const STOPPED = `
curl -s -d '{"name":"agent","path":"/","backend":"generic","agent_pid":'$$'}' "$URL/peers"
tmux -L agent new-session -d "while ! [ -e $HOME/go ]; do sleep 0.05; done
mesh notify victim 'from a tmux that is stopped' --from sam; sleep 60"
tmux -L agent display-message -p '#{pid}' > "$HOME/server"
sleep 60
`;

Deno.test("a tmux server that is stopped does not stop the daemon", {
  ignore: !isLinux || !has("tmux") || !has("curl"),
}, async () => {
  await using fixture = new CallersFixture();
  await fixture.ready();
  const script = `URL=${fixture.url}\nPATH=$HOME:$PATH\nexport PATH${STOPPED}`;
  Deno.writeTextFileSync(`${fixture.dir}/stopped.sh`, script);
  fixture.start(["bash", `${fixture.dir}/stopped.sh`]);
  const server = await until("the server", () => {
    return Number(run("cat", [`${fixture.dir}/server`])) || undefined;
  });
  Deno.kill(server, "SIGSTOP");
  try {
    Deno.writeTextFileSync(`${fixture.dir}/go`, "");
    assert.equal(await fixture.voice("from a tmux that is stopped"), "unverified");
  } finally {
    Deno.kill(server, "SIGCONT");
  }
});

Deno.test("a terminal in which a registered peer runs is not a person's", {
  ignore: !isLinux || !has("tmux"),
}, async () => {
  await using fixture = new CallersFixture();
  await fixture.ready();
  const mesh = `${fixture.dir}/mesh`;
  fixture.tmux("-L", "person", "new-session", "-d", "-s", "work", "sh");
  const list = ["-L", "person", "list-panes", "-a", "-F", "#{pane_id} #{socket_path}"];
  const listed = run("env", [`TMUX_TMPDIR=${fixture.dir}`, "tmux", ...list]).trim();
  const [pane_id = "", tmux_socket = ""] = listed.split(" ");
  const type = (text: string) =>
    fixture.tmux(
      "-L",
      "person",
      "send-keys",
      "-t",
      pane_id,
      `${mesh} notify victim ${text} --from sam`,
      "Enter",
    );
  type("before");
  assert.equal(await fixture.voice("before"), "human");
  const peer = { name: "worker", path: "/", backend: "generic", pane_id, tmux_socket };
  const init = { method: "POST", body: JSON.stringify(peer) };
  assert.equal((await (await fetch(`${fixture.url}/peers`, init)).json()).ok, true);
  type("after");
  assert.equal(await fixture.voice("after"), "unverified");
});

Deno.test("a terminal whose environment names an agent is not a person's", {
  ignore: !isLinux || !has("tmux"),
}, async () => {
  await using fixture = new CallersFixture();
  await fixture.ready();
  fixture.tmux("-L", "person", "new-session", "-d", "-s", "work", "sh");
  const type = (line: string) =>
    fixture.tmux("-L", "person", "send-keys", "-t", "work", line, "Enter");
  const notify = (text: string) => `${fixture.dir}/mesh notify victim '${text}' --from sam`;
  type(`CLAUDECODE=1 ${notify("below Claude Code")}`);
  assert.equal(await fixture.voice("below Claude Code"), "unverified");
  type(`OPENCODE=1 sh -c "env -u OPENCODE ${notify("below opencode")}; true"`);
  assert.equal(await fixture.voice("below opencode"), "unverified");
  type(notify("by the person"));
  assert.equal(await fixture.voice("by the person"), "human");
});

/** An agent that starts a tmux server with a shell, which reads typed input. */
const SERVING = `
curl -s -d '{"name":"agent","path":"/","backend":"generic","agent_pid":'$$'}' "$URL/peers"
tmux -L agent -f /dev/null new-session -d -s work sh
touch "$HOME/served"
sleep 60
`;

Deno.test("a tmux server that an agent started counts only while a person is attached to it", {
  ignore: !isLinux || !has("tmux") || !has("curl"),
}, async () => {
  await using fixture = new CallersFixture();
  await fixture.ready();
  fixture.tmux("-L", "person", "new-session", "-d", "-s", "work", "sh");
  await nextTick(); // A tmux server that starts in the same tick as an agent may be the agent's.
  const script = `URL=${fixture.url}\nPATH=$HOME:$PATH${SERVING}`;
  Deno.writeTextFileSync(`${fixture.dir}/serving.sh`, script);
  fixture.start(["bash", `${fixture.dir}/serving.sh`]);
  await until("the server", () => run("ls", [`${fixture.dir}/served`]) !== "");
  const clients = () =>
    run("env", [`TMUX_TMPDIR=${fixture.dir}`, "tmux", "-L", "agent", "list-clients"]);
  const notify = (text: string) =>
    fixture.tmux(
      ...["-L", "agent", "send-keys", "-t", "work"],
      `${fixture.dir}/mesh notify victim '${text}' --from sam`,
      "Enter",
    );
  notify("with nobody there");
  assert.equal(await fixture.voice("with nobody there"), "unverified");
  const attach = "TMUX= tmux -L agent attach";
  fixture.tmux("-L", "person", "send-keys", "-t", "work", attach, "Enter");
  await until("the person's client", () => clients() !== "");
  notify("with a person there");
  assert.equal(await fixture.voice("with a person there"), "human");
  fixture.tmux("-L", "agent", "detach-client", "-s", "work");
  await until("the client to leave", () => clients() === "");
  notify("after the person left");
  assert.equal(await fixture.voice("after the person left"), "unverified");
});

Deno.test("a program of another user is refused, whatever headers it sends", {
  ignore: !isLinux || !isRoot || !has("setpriv") || !has("curl"),
}, async () => {
  await using fixture = new CallersFixture();
  await fixture.ready();
  const as = ["setpriv", `--reuid=${NOBODY_UID}`, `--regid=${NOBODY_UID}`, "--clear-groups"];
  const status = (...args: string[]) =>
    run("env", [...as, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", ...args]);
  const page = ["-H", "Sec-Fetch-Site: same-origin", "-H", `Origin: ${fixture.url}`];
  const upgrade = [
    ...["-H", "Connection: Upgrade", "-H", "Upgrade: websocket"],
    ...["-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="],
  ];
  assert.equal(status(`${fixture.url}/health`), "200");
  for (const headers of [[], page]) {
    for (
      const path of ["/peers", "/messages", "/dashboard", "/docs", "/openapi.json", "/metrics"]
    ) {
      assert.equal(status(...headers, fixture.url + path), "401", path);
    }
    const note = JSON.stringify({ from_peer: "sam", to_peer: "victim", text: "another user" });
    assert.equal(status(...headers, "-d", note, `${fixture.url}/notify`), "401");
    assert.equal(status(...headers, ...upgrade, `${fixture.url}/ws`), "401");
  }
  assert.equal(
    run("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", `${fixture.url}/peers`]),
    "200",
  );
});

Deno.test(
  "another user may have few sockets open without the token, and gets them back once they close",
  {
    ignore: !isLinux || !isRoot || !has("setpriv"),
  },
  async () => {
    await using fixture = new CallersFixture({ token: "a token of 16 letters" });
    await fixture.ready();
    const { hostname, port } = new URL(fixture.url);
    const upgrade =
      `GET /ws HTTP/1.1\\r\\nHost: ${hostname}:${port}\\r\\nUpgrade: websocket\\r\\n` +
      "Connection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\n" +
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n";
    const script = `for i in $(seq 10); do exec {fd}<>/dev/tcp/${hostname}/${port}; ` +
      `printf '${upgrade}' >&$fd; read -r line <&$fd; echo $line; done`;
    const as = ["setpriv", `--reuid=${NOBODY_UID}`, `--regid=${NOBODY_UID}`, "--clear-groups"];
    const answers = () =>
      run("env", [...as, "bash", "-c", script]).trim().split("\n").map((line) =>
        line.split(" ")[1]
      );
    const few = [...Array(8).fill("101"), "401", "401"];
    assert.deepEqual(answers(), few);
    await until("the end of the sockets", () => answers()[7] === "101");
  },
);

Deno.test("a request that another user's program sends and abandons is refused", {
  ignore: !isLinux || !isRoot || !has("setpriv"),
}, async () => {
  await using fixture = new CallersFixture();
  await fixture.ready();
  const { hostname, port } = new URL(fixture.url);
  const body = JSON.stringify({ from_peer: "sam", to_peer: "victim", text: "left behind" });
  const head = `POST /notify HTTP/1.1\\r\\nHost: ${hostname}:${port}\\r\\n` +
    `Content-Length: ${body.length}\\r\\n\\r\\n`;
  // The kernel reports the socket of a process that has closed it as root's.
  const script = `for i in $(seq 50); do exec 3<>/dev/tcp/${hostname}/${port}; ` +
    `printf '${head}${body}' >&3; exec 3>&-; done`;
  const as = ["setpriv", `--reuid=${NOBODY_UID}`, `--regid=${NOBODY_UID}`, "--clear-groups"];
  await fixture.start([...as, "bash", "-c", script]).status;
  const own = JSON.stringify({ from_peer: "cli", to_peer: "victim", text: "ours" });
  await fetch(`${fixture.url}/notify`, { method: "POST", body: own });
  assert.equal(await fixture.voice("ours"), "peer");
  using db = new DatabaseSync(`${fixture.dir}/state/mesh.db`, { readOnly: true });
  assert.equal(db.prepare("select 1 from messages where text = 'left behind'").get(), undefined);
});
