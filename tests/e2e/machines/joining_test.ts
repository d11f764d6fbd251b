/** Serving a bus, inviting, joining, allowing and refusing, with a real nats-server. */

import assert from "node:assert/strict";
import { readConfig } from "../../../daemon/app/config.ts";
import { readMembership } from "../../../daemon/app/membership/membership.ts";
import type { Bus, BusListener } from "../../../daemon/machines/bus.ts";
import { openNatsBus } from "../../../daemon/machines/nats/nats_bus.ts";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { answeringDaemon, HEALTH } from "../../support/cli/answering_daemon.ts";
import { natsTest } from "../../support/nats/nats_tests.ts";
import { until } from "../../support/waiting.ts";

/** A machine with a state directory of its own; its daemon only says who it is. */
class TestMachine implements AsyncDisposable {
  readonly id: string;
  readonly #daemon: ReturnType<typeof answeringDaemon>;
  #bus: Bus | undefined;
  readonly batches: string[] = [];

  constructor(id: string) {
    this.id = id;
    this.#daemon = answeringDaemon({ "GET /health": () => ({ ...HEALTH, daemon_id: id }) });
  }

  /** Runs `mesh machines …`; its programs are found where this test finds them. */
  async machines(...args: string[]): Promise<string> {
    const PATH = Deno.env.get("PATH") ?? "";
    const { code, out, err } = await this.#daemon.mesh(["machines", ...args], {}, { PATH });
    assert.deepEqual([code, err], [0, ""], `mesh machines ${args.join(" ")}`);
    return out;
  }

  get url(): string | undefined {
    return this.#config()["mesh.bus.url"];
  }

  /** The state directory. */
  get dir(): string {
    return this.#daemon.dir;
  }

  /** Connects as the daemon would, by its settings and files. */
  async connect(): Promise<void> {
    const membership = await readMembership(this.#env, this.#config(), "host") ??
      assert.fail("It has not joined");
    const { url, name, credentials, ca_path } = membership;
    const ctx = {
      clock: systemClock,
      ids: randomIds,
      log: jsonLog(systemClock, "error", () => {}),
    };
    const listener: BusListener = {
      batch: (from, batch) => {
        this.batches.push(`${from}: ${new TextDecoder().decode(batch)}`);
        return Promise.resolve();
      },
      call: (_from, request) => Promise.resolve(request),
      announced: () => undefined,
      changed: () => undefined,
    };
    const options = { url, name, credentials, daemonId: this.id, ...(ca_path && { ca_path }) };
    this.#bus = openNatsBus(ctx, options, listener);
  }

  get bus(): Bus {
    return this.#bus ?? assert.fail("It is not connected");
  }

  get #env() {
    return { ...this.#daemon.env, HOME: this.#daemon.dir };
  }

  #config() {
    return readConfig(this.#env, (path) => Deno.readTextFileSync(path));
  }

  async disconnect(): Promise<void> {
    await this.#bus?.close();
    this.#bus = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
    await this.machines("serve", "--stop");
    await this.#daemon[Symbol.asyncDispose]();
  }
}

const SERVE = ["serve", "--background", "--host", "127.0.0.1", "--no-restart"];

/** A machine that serves a bus on a free port. */
async function servingMachine(): Promise<TestMachine> {
  const machine = new TestMachine("dm-00000000000a");
  await machine.machines(...SERVE, "--port", "0", "--name", "laptop");
  return machine;
}

/** The command line that a text of the CLI proposes, as arguments of `mesh machines`. */
function proposedArguments(text: string, command: string): string[] {
  const line = new RegExp(`^ *mesh machines (${command} .*)$`, "m").exec(text)?.[1];
  return line?.split(" ") ?? assert.fail(`No line with ${command} in: ${text}`);
}

async function joinOf(server: TestMachine, machine: TestMachine, name: string): Promise<string> {
  const invitation = proposedArguments(await server.machines("invite", name), "join");
  return await machine.machines(...invitation, "--no-restart");
}

const waitForConnection = (machine: TestMachine) =>
  until(`${machine.id} to connect`, () => machine.bus.status().status === "connected");

natsTest(
  "one machine serves, another is invited, joins and is allowed: then they exchange batches",
  async () => {
    await using laptop = await servingMachine();
    await using buildbox = new TestMachine("dm-00000000000b");
    const joined = await joinOf(laptop, buildbox, "buildbox");

    await laptop.connect();
    await waitForConnection(laptop);
    await buildbox.connect();
    const down = await until("the refusal", () => buildbox.bus.status().reason);
    assert.match(down, /does not know this machine's credentials; its operator must allow/);

    const allowed = await laptop.machines(...proposedArguments(joined, "allow"));
    assert.match(allowed, /^Allowed buildbox \(dm-00000000000b\)\nThe server knows it now/);
    await waitForConnection(buildbox);
    await buildbox.bus.publish(laptop.id, "1", new TextEncoder().encode("hello"));
    await until("the batch", () => laptop.batches.includes("dm-00000000000b: hello"));
  },
);

natsTest(
  "a machine that is refused is disconnected, and is let in again once it is allowed",
  async () => {
    await using laptop = await servingMachine();
    await using buildbox = new TestMachine("dm-00000000000b");
    const allow = proposedArguments(await joinOf(laptop, buildbox, "buildbox"), "allow");
    await laptop.machines(...allow);
    await buildbox.connect();
    await waitForConnection(buildbox);
    assert.match(await laptop.machines("refuse", "buildbox"), /^Refused .*\nIt is disconnected\./);
    await until("the end of the connection", () => buildbox.bus.status().status === "down");
    await laptop.machines(...allow);
    await waitForConnection(buildbox);
  },
);

natsTest("the files of a server are private, and hold no key of another machine", async () => {
  await using laptop = await servingMachine();
  await using buildbox = new TestMachine("dm-00000000000b");
  await laptop.machines(...proposedArguments(await joinOf(laptop, buildbox, "buildbox"), "allow"));
  await laptop.connect();
  await waitForConnection(laptop);
  await laptop.bus.publish(buildbox.id, "1", new TextEncoder().encode("hello"));
  const [served, joined] = [filesBelow(laptop.dir), filesBelow(buildbox.dir)];
  for (const { path, mode, is_directory } of [...served, ...joined]) {
    const is_public = /\/server\/(?:server|authority)\.pem$/.test(path); // Certificates.
    if (path.includes("/bus") && !is_public) assert.equal(mode, is_directory ? 0o700 : 0o600, path);
  }
  const secrets = joined.filter(({ path }) => /\/(user\.nk|machine\.keys)$/.test(path));
  assert.equal(secrets.length, 2);
  for (const { path } of served.filter(({ is_directory }) => !is_directory)) {
    const text = new TextDecoder().decode(Deno.readFileSync(path));
    const holding = secrets.filter((secret) => text.includes(Deno.readTextFileSync(secret.path)));
    assert.deepEqual(holding, [], path);
  }
});

natsTest("a stopped server starts again at its port, with its machines", async () => {
  await using laptop = await servingMachine();
  await using buildbox = new TestMachine("dm-00000000000b");
  await laptop.machines(...proposedArguments(await joinOf(laptop, buildbox, "buildbox"), "allow"));
  const url = laptop.url;
  const certificate = () => Deno.readTextFileSync(`${laptop.dir}/bus/server/server.pem`);
  const before = certificate();
  assert.match(await laptop.machines("serve", "--stop"), /^Stopped: process \d+ has exited/);
  await laptop.machines(...SERVE);
  assert.equal(laptop.url, url);
  assert.notEqual(certificate(), before);
  await buildbox.connect();
  await waitForConnection(buildbox);
});

natsTest(
  "a machine that joined with another authority's certificate does not trust the server",
  async () => {
    await using laptop = await servingMachine();
    await using other = await servingMachine();
    await using buildbox = new TestMachine("dm-00000000000b");
    const [, strange = ""] = proposedArguments(await other.machines("invite", "buildbox"), "join");
    const [, own = ""] = proposedArguments(await laptop.machines("invite", "buildbox"), "join");
    const ca = Deno.makeTempFileSync();
    Deno.writeTextFileSync(ca, authorityIn(strange));
    await buildbox.machines("join", own, "--ca", ca, "--no-restart");
    Deno.removeSync(ca);
    await buildbox.connect();
    const reason = await until("a reason", () => buildbox.bus.status().reason);
    assert.match(reason, /certificate is not trusted/);
  },
);

/** The certificate in an invitation. */
function authorityIn(invitation: string): string {
  const code = invitation.slice("mesh_join_".length);
  const { ca } = JSON.parse(
    new TextDecoder().decode(Uint8Array.fromBase64(code, { alphabet: "base64url" })),
  );
  return ca;
}

function filesBelow(dir: string): { path: string; mode: number; is_directory: boolean }[] {
  return [...Deno.readDirSync(dir)].flatMap(({ name, isDirectory }) => {
    const path = `${dir}/${name}`;
    const mode = (Deno.statSync(path).mode ?? 0) & 0o777;
    const found = { path, mode, is_directory: isDirectory };
    return isDirectory ? [found, ...filesBelow(path)] : [found];
  });
}
