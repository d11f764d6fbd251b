/** A real daemon, and those who try to speak as the human, or as another user's program. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isAlive } from "../../daemon/processes.ts";
import { MAIN, run } from "./programs.ts";
import { until } from "./waiting.ts";

const isLinux = Deno.build.os === "linux";
const isRoot = Deno.uid() === 0;
const has = (program: string) => run("sh", ["-c", `command -v ${program}`]) !== "";
const NOBODY = 65_534;

/** A daemon with a human called sam, a peer called victim, and a tmux server for a person. */
class House implements AsyncDisposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-callers-" });
  readonly env: Record<string, string>;
  readonly #daemon: Deno.ChildProcess;
  readonly #children: Deno.ChildProcess[] = [];
  url = "";

  constructor() {
    Deno.writeTextFileSync(`${this.dir}/config.yaml`, "human: {name: sam}\ndaemon: {port: 0}\n", {
      mode: 0o600,
    });
    this.env = {
      PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
      HOME: this.dir,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME") ?? "", ".cache/deno"),
      MESH_STATE: `${this.dir}/state`,
      MESH_CONFIG: `${this.dir}/config.yaml`,
      TMUX_TMPDIR: this.dir,
      NO_COLOR: "1",
    };
    const mesh = `exec ${Deno.execPath()} run -A --cached-only --quiet ${MAIN} "$@"\n`;
    Deno.writeTextFileSync(`${this.dir}/mesh`, `#!/bin/sh\n${mesh}`, { mode: 0o755 });
    this.#daemon = this.start([`${this.dir}/mesh`, "daemon"]);
  }

  /** Starts a program in this house's environment, and nothing of ours besides. */
  start([program = "", ...args]: readonly string[]): Deno.ChildProcess {
    const child = new Deno.Command(program, {
      args,
      env: this.env,
      clearEnv: true,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#children.push(child);
    return child;
  }

  async ready(): Promise<void> {
    this.url = await until("the daemon", () => {
      try {
        return String(JSON.parse(Deno.readTextFileSync(`${this.dir}/state/daemon.json`)).url);
      } catch {
        return undefined;
      }
    });
    const body = JSON.stringify({ name: "victim", path: "/", backend: "sdk" });
    const answer = await fetch(`${this.url}/peers`, { method: "POST", body });
    assert.equal((await answer.json()).display_name, "victim");
  }

  tmux(...args: string[]): void {
    const { success, stderr } = new Deno.Command("tmux", {
      args: ["-u", "-f", "/dev/null", ...args],
      env: this.env,
      clearEnv: true,
    }).outputSync();
    assert.ok(success, new TextDecoder().decode(stderr));
  }

  /** Whose word a message of this text counts as, once it is there. */
  voice(text: string): Promise<string> {
    return until(`the message "${text}"`, () => {
      using db = new DatabaseSync(`${this.dir}/state/mesh.db`, { readOnly: true });
      const found = db.prepare("select voice from messages where text = ?").get(text);
      return found === undefined ? undefined : String(found["voice"]);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of ["person", "agent"]) {
      run("env", [`TMUX_TMPDIR=${this.dir}`, "tmux", "-L", name, "kill-server"]);
    }
    this.#daemon.kill("SIGTERM");
    for (const child of this.#children) {
      if (child !== this.#daemon && isAlive(child.pid)) child.kill("SIGKILL");
      await child.status;
    }
    await Deno.remove(this.dir, { recursive: true });
  }
}

/** What an agent with a shell tries, each with a text of its own. */
const TRICKS = `
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

Deno.test("whatever an agent with a shell tries, it does not speak as the human", {
  ignore: !isLinux || !has("tmux") || !has("script") || !has("curl"),
}, async () => {
  await using house = new House();
  await house.ready();
  house.tmux("-L", "person", "new-session", "-d", "-s", "work", "sh");
  Deno.writeTextFileSync(`${house.dir}/tricks.sh`, `URL=${house.url}\nPATH=$HOME:$PATH${TRICKS}`);
  house.start(["bash", `${house.dir}/tricks.sh`]);
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
    assert.equal(await house.voice(trick), "unverified", trick);
  }
  const opened = await until("the address of a page", () => {
    const text = run("cat", [`${house.dir}/opened`]);
    return text.trim().endsWith("}") && text;
  });
  assert.equal(JSON.parse(opened).human, false, "an agent gets no ticket");
  const typed = `${house.dir}/mesh notify victim 'a person in a pane' --from sam`;
  house.tmux("-L", "person", "send-keys", "-t", "work", typed, "Enter");
  assert.equal(await house.voice("a person in a pane"), "human");
});

Deno.test("a terminal that a registered peer runs in is not a person's", {
  ignore: !isLinux || !has("tmux"),
}, async () => {
  await using house = new House();
  await house.ready();
  const mesh = `${house.dir}/mesh`;
  house.tmux("-L", "person", "new-session", "-d", "-s", "work", "sh");
  const list = ["-L", "person", "list-panes", "-a", "-F", "#{pane_id} #{socket_path}"];
  const listed = run("env", [`TMUX_TMPDIR=${house.dir}`, "tmux", ...list]).trim();
  const [pane_id = "", tmux_socket = ""] = listed.split(" ");
  const type = (text: string) =>
    house.tmux(
      "-L",
      "person",
      "send-keys",
      "-t",
      pane_id,
      `${mesh} notify victim ${text} --from sam`,
      "Enter",
    );
  type("before");
  assert.equal(await house.voice("before"), "human");
  const peer = { name: "worker", path: "/", backend: "generic", pane_id, tmux_socket };
  const init = { method: "POST", body: JSON.stringify(peer) };
  assert.equal((await (await fetch(`${house.url}/peers`, init)).json()).ok, true);
  type("after");
  assert.equal(await house.voice("after"), "unverified");
});

Deno.test("a program of another user gets nothing, whatever headers it sends", {
  ignore: !isLinux || !isRoot || !has("setpriv") || !has("curl"),
}, async () => {
  await using house = new House();
  await house.ready();
  const as = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const status = (...args: string[]) =>
    run("env", [...as, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", ...args]);
  const page = ["-H", "Sec-Fetch-Site: same-origin", "-H", `Origin: ${house.url}`];
  const upgrade = [
    ...["-H", "Connection: Upgrade", "-H", "Upgrade: websocket"],
    ...["-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="],
  ];
  assert.equal(status(`${house.url}/health`), "200");
  for (const headers of [[], page]) {
    for (
      const path of ["/peers", "/messages", "/dashboard", "/docs", "/openapi.json", "/metrics"]
    ) {
      assert.equal(status(...headers, house.url + path), "401", path);
    }
    const note = JSON.stringify({ from_peer: "sam", to_peer: "victim", text: "another user" });
    assert.equal(status(...headers, "-d", note, `${house.url}/notify`), "401");
    assert.equal(status(...headers, ...upgrade, `${house.url}/ws`), "401");
  }
  assert.equal(
    run("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", `${house.url}/peers`]),
    "200",
  );
});

Deno.test("a request that another user's program sends and leaves behind is refused", {
  ignore: !isLinux || !isRoot || !has("setpriv"),
}, async () => {
  await using house = new House();
  await house.ready();
  const { hostname, port } = new URL(house.url);
  const body = JSON.stringify({ from_peer: "sam", to_peer: "victim", text: "left behind" });
  const head = `POST /notify HTTP/1.1\\r\\nHost: ${hostname}:${port}\\r\\n` +
    `Content-Length: ${body.length}\\r\\n\\r\\n`;
  // The kernel takes the socket of a process that has closed it for root's.
  const script = `for i in $(seq 50); do exec 3<>/dev/tcp/${hostname}/${port}; ` +
    `printf '${head}${body}' >&3; exec 3>&-; done`;
  const as = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  await house.start([...as, "bash", "-c", script]).status;
  const own = JSON.stringify({ from_peer: "cli", to_peer: "victim", text: "ours" });
  await fetch(`${house.url}/notify`, { method: "POST", body: own });
  assert.equal(await house.voice("ours"), "peer");
  using db = new DatabaseSync(`${house.dir}/state/mesh.db`, { readOnly: true });
  assert.equal(db.prepare("select 1 from messages where text = 'left behind'").get(), undefined);
});
