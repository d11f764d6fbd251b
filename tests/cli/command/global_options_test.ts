/** `--machine`: a command of the CLI talks to the daemon of another machine. */

import assert from "node:assert/strict";
import { BusError } from "../../../daemon/machines/bus.ts";
import { readGlobalOptions } from "../../../cli/command/line.ts";
import { serveDaemon } from "../../support/cli/listening_daemon.ts";
import { COMMANDS } from "../../support/commands.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import { twoMachines } from "../../support/machines/two_machines.ts";

/** A laptop on a real port, and `mesh` on it; both machines have a human and a peer. */
async function twoMachinesWithCli() {
  const settings = { "human.name": "sam" };
  const two = await twoMachines({ settings }, { settings });
  await addPeer(two.laptop, "web");
  await addPeer(two.buildbox, "api");
  const { mesh, stop } = serveDaemon(two.laptop);
  return {
    two,
    mesh,
    async [Symbol.asyncDispose]() {
      await stop();
      await two[Symbol.asyncDispose]();
    },
  };
}

Deno.test("--machine, in any position, and MESH_MACHINE make a command talk to another machine", async () => {
  await using p = await twoMachinesWithCli();
  assert.match((await p.mesh(["peers"])).out, /web/);
  const calls: [string[], Record<string, string>?][] = [
    [["--machine", "buildbox", "peers"]],
    [["peers", "--machine=buildbox"]],
    [["peers"], { MESH_MACHINE: "buildbox" }],
    [["peers", "--machine", "buildbox"], { MESH_MACHINE: "nobox" }],
  ];
  for (const [args, env] of calls) {
    const { code, out, err } = await p.mesh(args, env);
    assert.equal(code, 0, err);
    assert.match(out, /api/);
    assert.doesNotMatch(out, /web/);
  }
});

Deno.test("a command on another machine completes shortened ids there, and sends, reads and uploads there", async () => {
  await using p = await twoMachinesWithCli();
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, "of laptop");
  const there = (...args: string[]) => p.mesh(["--machine", "buildbox", ...args]);
  try {
    const { code, out, err } = await there("notify", "api", "Hello", "--attach", file, "--json");
    assert.equal(code, 0, err);
    const { delivery_id, from_peer_name } = JSON.parse(out);
    assert.equal(from_peer_name, "cli");
    const short = delivery_id.slice(0, -4);
    assert.equal((await there("trace", delivery_id, "--json")).code, 0);
    assert.notEqual((await there("trace", short)).code, 2);
    const shown = JSON.parse((await there("status", "--json")).out);
    assert.equal(shown.daemon_id, p.two.buildbox.daemon_id);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("a command that needs this machine, or a stream, refuses --machine before it does anything", async () => {
  await using p = await twoMachinesWithCli();
  const refused = COMMANDS.filter(({ needs }) => needs !== undefined);
  assert.ok(refused.length > 25);
  for (const command of ["down", "setup", "hook", "config list", "attach api", "doctor"]) {
    const { code, err } = await p.mesh(command.split(" "), { MESH_MACHINE: "buildbox" });
    assert.equal(code, 2);
    assert.match(err, /^mesh: mesh [a-z ]+ works on this machine only\nRun it on buildbox itself/);
  }
  for (const command of ["watch", "inbox watch"]) {
    const { code, err } = await p.mesh(["--machine", "buildbox", ...command.split(" ")]);
    assert.equal(code, 2);
    assert.match(err, /shows events as they come, which another machine cannot send/);
  }
  const { code, err } = await p.mesh(["--machine", "buildbox"]);
  assert.deepEqual([code, err.split("\n")[0]], [2, "mesh: --machine needs a command"]);
  assert.equal((await p.mesh(["peers", "--machine"])).code, 2);
  assert.equal(p.two.bus.sent.length, 0);
});

Deno.test("a relative path is refused for another machine", async () => {
  await using p = await twoMachinesWithCli();
  const spawn = ["--machine", "buildbox", "spawn", "api", "--backend", "codex"];
  const { code, err } = await p.mesh(spawn);
  assert.equal(code, 2);
  assert.match(err, /"api" is relative; give an absolute path on buildbox/);
  spawn[3] = "/srv/api";
  assert.match((await p.mesh(spawn)).err, /Agents cannot be started/);
});

Deno.test("the error for an unknown or silent machine names it and the next step", async () => {
  await using p = await twoMachinesWithCli();
  const unknown = await p.mesh(["--machine", "nobox", "peers"]);
  assert.deepEqual([unknown.code, unknown.err.split("\n")[0]], [1, "mesh: Unknown machine: nobox"]);
  p.two.bus.carry = () => Promise.reject(new BusError("no_answer", "timed out"));
  for (const command of ["peers", "status"]) {
    const { code, err } = await p.mesh([command, "--machine", "buildbox"]);
    assert.equal(code, 1);
    assert.match(err, /^mesh: buildbox cannot be reached: it does not answer\nhint: /);
  }
});

Deno.test("--machine behind a program to run is an option of that program", () => {
  const read = (...given: string[]) => readGlobalOptions(COMMANDS, given, {});
  const program = ["run", "train", "--machine", "gpu"];
  assert.deepEqual(read(...program), { args: program, verbose: false, machine: undefined });
  assert.equal(read("--machine", "buildbox", "run", "train").machine, "buildbox");
  assert.deepEqual(read("ask", "api", "--", "--machine", "x").args.slice(2), [
    "--",
    "--machine",
    "x",
  ]);
  assert.equal(readGlobalOptions(COMMANDS, [], { MESH_MACHINE: "" }).machine, undefined);
});
