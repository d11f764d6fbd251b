/** The service of the daemon: the text of its file, and the programs that are run. */

import assert from "node:assert/strict";
import { installService, removeService, serviceOf } from "../../../cli/setup/service.ts";
import { CommandError } from "../../../cli/client/failures.ts";
import { DaemonService, type ServiceHost } from "../../../cli/client/service_manager.ts";
import { runSetup } from "../../support/cli/run_setup.ts";

const COMMAND = ["/opt/my tools/100%/mesh", "run", 'a"$b'];

/** A home whose PATH has a `systemctl`, and a host that records the programs it is told to run. */
class Machine implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-service-" });
  readonly env = { HOME: this.dir, PATH: `${this.dir}/bin`, MESH_STATE: `${this.dir}/state` };
  readonly ran: string[] = [];
  failing = "";
  stdout = "";

  constructor() {
    Deno.mkdirSync(`${this.dir}/bin`);
    Deno.writeTextFileSync(`${this.dir}/bin/systemctl`, "");
  }

  host(os: ServiceHost["os"]): ServiceHost {
    return {
      os,
      uid: 501,
      run: (argv) => {
        const line = argv.join(" ");
        this.ran.push(line.replaceAll(this.dir, "~"));
        const failure = this.failing && line.includes(this.failing) ? "no bus" : undefined;
        return Promise.resolve({ stdout: this.stdout, failure });
      },
    };
  }

  service(os: ServiceHost["os"], command: readonly string[] = COMMAND) {
    const service = serviceOf(this.host(os), this.env, command);
    assert.ok(service);
    return service;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

const lines = (text: string) => text.split("\n").map((line) => line.trim());

Deno.test("the systemd unit quotes the command, and keeps agents alive when the daemon stops", () => {
  using machine = new Machine();
  const { path, text } = machine.service("linux");
  assert.equal(path, `${machine.dir}/.config/systemd/user/mesh.service`);
  for (
    const line of [
      'ExecStart="/opt/my tools/100%%/mesh" "run" "a\\"$$b" daemon',
      `Environment="PATH=${machine.dir}/bin"`,
      `Environment="MESH_STATE=${machine.dir}/state"`,
      `StandardOutput=append:${machine.dir}/state/daemon.log`,
      "KillMode=process",
      "Restart=on-failure",
      "UMask=0077",
      "WantedBy=default.target",
    ]
  ) assert.ok(lines(text).includes(line), line);
  assert.doesNotMatch(text, /@[A-Z]+@/);
});

Deno.test("the service reaches servers outside as the shell does, and nobody else reads its file", async () => {
  using machine = new Machine();
  const variables = { https_proxy: "http://me:se%20cret@p:1", SSL_CERT_FILE: "/etc/own ca.pem" };
  Object.assign(machine.env, variables, { FTP_PROXY: "http://other:1" });
  for (const os of ["linux", "darwin"] as const) {
    const service = machine.service(os);
    assert.match(
      service.text,
      os === "linux" ? /"https_proxy=http:\/\/me:se%%20cret@p:1"/ : /se%20/,
    );
    assert.match(service.text, /own ca\.pem/);
    assert.doesNotMatch(service.text, /other:1/);
    await installService(service, machine.host(os), machine.env);
    assert.equal((Deno.statSync(service.path).mode ?? 0) & 0o777, 0o600);
  }
});

Deno.test("systemd accepts the unit", () => {
  using machine = new Machine();
  const { text } = machine.service("linux", [Deno.execPath(), "run", "-A", "/src/main.ts"]);
  const unit = `${machine.dir}/mesh.service`;
  Deno.writeTextFileSync(unit, text);
  try {
    const verify = new Deno.Command("systemd-analyze", {
      args: ["verify", "--user", "--man=no", unit],
      env: { XDG_RUNTIME_DIR: machine.dir },
    });
    const { success, stderr } = verify.outputSync();
    const complaints = new TextDecoder().decode(stderr);
    assert.ok(success && !complaints.includes("mesh.service"), complaints);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
});

Deno.test("the launchd agent is XML with the command, the environment and the log", () => {
  using machine = new Machine();
  const { path, text } = machine.service("darwin", ["/opt/a & b/<mesh>"]);
  assert.equal(path, `${machine.dir}/Library/LaunchAgents/agent-mesh.daemon.plist`);
  assert.match(text, /<string>\/opt\/a &amp; b\/&lt;mesh&gt;<\/string>\s+<string>daemon<\/string>/);
  assert.match(text, /<key>PATH<\/key>\s+<string>.*\/bin<\/string>/);
  assert.match(text, /<key>StandardOutPath<\/key>\s+<string>.*\/state\/daemon\.log<\/string>/);
  assert.match(text, /<key>SuccessfulExit<\/key>\s+<false\/>/);
  assert.match(text, /<key>AbandonProcessGroup<\/key>\s+<true\/>/);
  assert.doesNotMatch(text, /@[A-Z]+@/);
});

Deno.test("there is no service on another system, or on Linux without systemd", () => {
  using machine = new Machine();
  assert.equal(serviceOf(machine.host("windows"), machine.env, COMMAND), undefined);
  assert.equal(serviceOf(machine.host("linux"), { ...machine.env, PATH: "" }, COMMAND), undefined);
});

Deno.test("the service is written and started, and removed again", async () => {
  using machine = new Machine();
  const service = machine.service("linux"), host = machine.host("linux");
  await installService(service, host, machine.env);
  assert.equal(Deno.readTextFileSync(service.path), service.text);
  assert.ok(Deno.statSync(`${machine.dir}/state`).isDirectory);
  assert.equal(await removeService(service, host), true);
  assert.throws(() => Deno.statSync(service.path), Deno.errors.NotFound);
  assert.deepEqual(machine.ran, [
    "systemctl --user daemon-reload",
    "systemctl --user enable --now mesh.service",
    "systemctl --user disable --now mesh.service",
    "systemctl --user daemon-reload",
  ]);
  assert.equal(await removeService(service, host), false);
});

Deno.test("launchd gets the file's path, and forgets the agent by its label", async () => {
  using machine = new Machine();
  const service = machine.service("darwin"), host = machine.host("darwin");
  await installService(service, host, machine.env);
  await removeService(service, host);
  assert.deepEqual(machine.ran, [
    "launchctl bootstrap gui/501 ~/Library/LaunchAgents/agent-mesh.daemon.plist",
    "launchctl bootout gui/501/agent-mesh.daemon",
  ]);
});

Deno.test("launchd starts a loaded agent, loads one that is not, and stops it without unloading it", async () => {
  using machine = new Machine();
  const host = machine.host("darwin"), service = machine.service("darwin");
  await installService(service, host, machine.env);
  machine.ran.length = 0;
  const found = DaemonService.find(machine.env, host);
  assert.ok(found);
  machine.stdout = `agent-mesh.daemon = {\n\tpid = ${Deno.pid}\n}`;
  assert.deepEqual([await found.runs(Deno.pid), await found.runs(1)], [true, false]);
  assert.equal(await found.start(), undefined);
  machine.failing = "kickstart";
  assert.equal(await found.start(), undefined);
  machine.failing = "launchctl";
  assert.match(await found.start() ?? "", /kickstart .* failed: no bus; .*bootstrap .* failed/);
  machine.ran.length = 0;
  await found.stop("running");
  await found.stop("waiting");
  assert.deepEqual(machine.ran, [
    "launchctl kill SIGTERM gui/501/agent-mesh.daemon",
    "launchctl bootout gui/501/agent-mesh.daemon",
  ]);
});

Deno.test("a service is ours if its file names our state directory and our configuration", async () => {
  for (const os of ["linux", "darwin"] as const) {
    for (const odd of ["plain", 'a "b" & <c>', "100%", "back\\slash $HOME"]) {
      using machine = new Machine();
      Object.assign(machine.env, { MESH_STATE: `${machine.dir}/${odd}` });
      const host = machine.host(os);
      assert.equal(DaemonService.find(machine.env, host), undefined);
      await installService(machine.service(os), host, machine.env);
      assert.ok(DaemonService.find(machine.env, host), `${os} ${odd}`);
      for (const name of ["MESH_STATE", "MESH_CONFIG"]) {
        const other = { ...machine.env, [name]: `${machine.dir}/else` };
        assert.equal(DaemonService.find(other, host), undefined, name);
      }
    }
  }
});

Deno.test("a service manager that fails is named with its reason", async () => {
  using machine = new Machine();
  const service = machine.service("linux"), host = machine.host("linux");
  machine.failing = "enable";
  await assert.rejects(installService(service, host, machine.env), (error) => {
    return error instanceof CommandError &&
      error.message === "systemctl --user enable --now mesh.service failed: no bus";
  });
});

Deno.test("the service is installed only after an option or an answer requests it", async () => {
  const started = async (args: readonly string[], answers?: readonly string[]) => {
    using machine = new Machine();
    const rest = [...answers ?? []];
    const output = {
      out: () => {},
      err: () => {},
      ...(answers && { ask: () => rest.shift() }),
    };
    const env = { ...machine.env, MESH_DAEMON__PORT: "1" }; // Nothing listens there.
    await runSetup(["--agent", "gemini", ...args], env, output, { host: machine.host("linux") });
    return machine.ran.includes("systemctl --user enable --now mesh.service");
  };
  const [changes, name] = ["y", "sam"];
  assert.deepEqual(
    [
      await started([], [changes, name, "y"]),
      await started([], [changes, name, "n"]),
      await started(["--yes"], []),
      await started([]),
      await started(["--service"]),
    ],
    [true, false, false, false, true],
  );
});

Deno.test("without a service manager that answers, no service is offered, and mesh up is named", async () => {
  const set = async (machine: Machine, env: Record<string, string>, args: readonly string[]) => {
    const lines: string[] = [], questions: string[] = [];
    const say = (text: string) => void lines.push(text);
    const ask = (question: string) => {
      questions.push(question);
      return "y";
    };
    const all = { ...machine.env, ...env, MESH_DAEMON__PORT: "1" };
    const host = { host: machine.host("linux") };
    const output = { out: say, err: say, ask };
    const code = await runSetup(["--agent", "gemini", ...args], all, output, host);
    return { code, text: lines.join("\n"), questions };
  };
  for (
    const [failing, env, why] of [
      ["show --property", {}, "systemd does not answer this user: no bus"],
      ["", { PATH: "" }, "this system has neither systemd nor launchd"],
    ] as const
  ) {
    const expected = `Nothing can start the daemon at login: ${why}. Start it with: mesh up`;
    using machine = new Machine();
    machine.failing = failing;
    const offered = await set(machine, env, []);
    assert.deepEqual([offered.code, offered.text.includes(expected)], [0, true], offered.text);
    assert.ok(!offered.questions.some((question) => question.includes("login")));
    const asked = await set(machine, env, ["--service"]);
    assert.deepEqual([asked.code, asked.text.includes(expected)], [1, true], asked.text);
    assert.ok(!machine.ran.some((line) => line.includes("enable")));
    assert.throws(() => Deno.statSync(`${machine.dir}/.config/systemd`), Deno.errors.NotFound);
  }
});
