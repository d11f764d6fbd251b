/** The hook's script ends in time, with exit code 0 and without a process, whatever disturbs it. */

import assert from "node:assert/strict";
import { definitionOf } from "../../../daemon/features/agents/registry.ts";
import {
  decoder,
  encoder,
  Home,
  run,
  Server,
  SIMPLE,
  startScript,
} from "../../support/agents/hook_scripts.ts";
import { until } from "../../support/waiting.ts";

Deno.test("a daemon that does not answer, or does not read, costs 1.5 s and a line in the log", async () => {
  using home = new Home();
  await using server = new Server();
  server.answer = undefined;
  home.daemon(server.url);
  const result = await run("script", home, SIMPLE);
  assert.deepEqual(result, { code: 0, out: "", err: "" });
  assert.deepEqual(home.takeLog(), ["claude-code Stop: The daemon did not answer in time"]);
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 }); // Its connections wait.
  home.daemon(`http://127.0.0.1:${silent.addr.port}`);
  const payload = JSON.stringify({ session_id: "s", prompt: "x".repeat(990_000) });
  assert.equal((await run("script", home, { ...SIMPLE, payload })).code, 0);
  assert.deepEqual(home.takeLog(), ["claude-code Stop: The daemon did not answer in time"]);
});

Deno.test("a payload that does not end costs 1.5 s and a line in the log", async () => {
  using home = new Home();
  const child = startScript(home);
  const writer = child.stdin.getWriter();
  await writer.write(encoder.encode('{"session_id":'));
  assert.equal((await child.output()).code, 0);
  await writer.close().catch(() => undefined);
  assert.deepEqual(home.takeLog(), ["claude-code Stop: The payload did not end in time"]);
});

Deno.test("a decision is awaited for the time that the daemon names", async () => {
  using home = new Home();
  await using server = new Server();
  server.answer = undefined;
  home.daemon(server.url, { approval_seconds: 1 });
  const waited: number[] = [];
  for (const event of ["Stop", "PermissionRequest"]) {
    const began = performance.now();
    // TMOUT limits each `read` of a shell to a second.
    await run("script", home, { ...SIMPLE, event, env: { TMOUT: "1" } });
    waited.push(performance.now() - began);
  }
  const [other = 0, decision = 0] = waited;
  assert.ok(other >= 1_400 && decision >= 2_900, waited.join(" "));
  assert.equal(definitionOf("claude-code")?.hooks?.decision_events[0], "PermissionRequest");
});

Deno.test("the script leaves no process behind that holds the agent's pipes", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  const { out } = await run("script", home, SIMPLE); // Ends only when its output is closed.
  assert.notEqual(out, "");
  await until("no process reads the script", () => {
    const { stdout } = new Deno.Command("ps", { args: ["-eo", "args"] }).outputSync();
    return Promise.resolve(!new TextDecoder().decode(stdout).includes(home.dir));
  });
});

Deno.test("a payload whose bytes never stop coming ends the script", async () => {
  using home = new Home();
  const script = `cat /dev/zero | bash -p ${home.dir}/claude-code.hook Stop`;
  const command = new Deno.Command("bash", {
    args: ["-c", script],
    env: { MESH_STATE: home.dir },
    stdout: "piped",
    stderr: "null",
  });
  assert.equal((await command.output()).stdout.length, 0);
});

Deno.test("an agent that does not read the answer gets the exit code 0", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  for (const output of [">&-", ">/dev/full"]) {
    const script = `echo {} | bash -p ${home.dir}/claude-code.hook Stop ${output}`;
    const env = { MESH_STATE: home.dir };
    const { code } = await new Deno.Command("bash", { args: ["-c", script], env }).output();
    assert.equal(code, 0, output);
  }
  assert.equal(server.requests.length, 2);
});

Deno.test("mesh takes the place of the script, so that nothing stays if the agent ends it", async () => {
  using home = new Home(["bash", "-c", "cat; echo $$ $@", "mesh"]);
  home.daemon("http://127.0.0.1:1"); // Its process runs, and nothing listens.
  const child = startScript(home);
  const writer = child.stdin.getWriter();
  await writer.write(encoder.encode("{}"));
  await writer.close();
  const { code, stdout } = await child.output();
  assert.equal(decoder.decode(stdout), `{}${child.pid} hook claude-code Stop\n`);
  assert.equal(code, 0);
});

Deno.test("a mesh that is gone is no error of the hook", async () => {
  using home = new Home(["/missing/mesh"]);
  home.daemon("http://127.0.0.1:1");
  assert.deepEqual(await run("script", home, SIMPLE), { code: 0, out: "", err: "" });
});
