/** `mesh lease`, `mesh leases` and `mesh who`: what they print, and their exit codes. */

import assert from "node:assert/strict";
import { serveDaemon } from "../../support/cli/listening_daemon.ts";
import { world } from "../../support/world.ts";

/** A person's shell, which is the parent of these tests, at a daemon with two free ports. */
function holdingsFixture() {
  const w = world({
    settings: { "human.name": "sam", "leases.ports": "24000-24001" },
    at_terminal: true,
    ports: {
      isFree: (port) => port === 24_001,
      listenersAt: (port) => ({
        own: port === 5432 ? [{ pid: 90, command: "postgres -D \x1b[2J" }] : [],
        others: port === 80 ? 2 : 0,
      }),
    },
  });
  w.processes.start(Deno.ppid);
  w.processes.start(90);
  const daemon = serveDaemon(w);
  return {
    w,
    mesh: (...args: string[]) => daemon.mesh(args, {}, { interactive: true }),
    async [Symbol.asyncDispose]() {
      await daemon.stop();
      await w[Symbol.asyncDispose]();
    },
  };
}

Deno.test("mesh lease prints the port alone on standard output, and who holds it beside that", async () => {
  await using at = await holdingsFixture();
  const { code, out, err } = await at.mesh("lease", "port", "web");
  assert.deepEqual([code, out], [0, "24001\n"]);
  assert.equal(err, `port web: held by process ${Deno.ppid} until it ends\n`);
  const { value, lease_id } = JSON.parse((await at.mesh("lease", "port", "web", "--json")).out);
  assert.deepEqual([value, typeof lease_id], ["24001", "string"]);
  assert.match((await at.mesh("leases")).out, /^port web +24001 +process \d+ +\d+/m);
  const full = await at.mesh("lease", "port", "api");
  assert.deepEqual([full.code, full.out], [1, ""]);
  assert.match(full.err, /No port from 24000 to 24001 is free/);
  assert.equal((await at.mesh("lease", "port", "web", "--release")).out, "port web: ended\n");
  assert.equal((await at.mesh("leases")).out, "Nothing is leased\n");
});

Deno.test("mesh lease --wait waits for the end of the other process, up to --timeout", async () => {
  await using at = await holdingsFixture();
  assert.equal((await at.mesh("lease", "gpu", "0", "--pid", "90")).code, 0);
  const refused = await at.mesh("lease", "gpu", "0", "--wait", "--timeout", "0");
  assert.equal(refused.code, 1);
  assert.match(refused.err, /gpu 0 is held by process 90/);
  at.w.processes.end(90);
  assert.equal((await at.mesh("lease", "gpu", "0", "--wait")).code, 0);
});

Deno.test("releasing a lease that nobody holds is no error, and says so", async () => {
  await using at = await holdingsFixture();
  const free = await at.mesh("lease", "gpu", "0", "--release");
  assert.deepEqual([free.code, free.out], [0, "gpu 0: nobody holds it\n"]);
  assert.equal((await at.mesh("lease", "gpu", "0", "--release", "--json")).out, "null\n");
});

Deno.test("a person ends the lease of another process only by its --pid", async () => {
  await using at = await holdingsFixture();
  await at.mesh("lease", "db", "--pid", "90");
  const refused = await at.mesh("lease", "db", "--release");
  assert.deepEqual([refused.code, refused.out], [1, ""]);
  assert.match(
    refused.err,
    /db is held by process 90; to end it: mesh lease db --release --pid 90/,
  );
  assert.equal((await at.mesh("lease", "db", "--release", "--pid", "91")).code, 1);
  assert.match((await at.mesh("leases")).out, /^db /m);
  assert.equal((await at.mesh("lease", "db", "--release", "--pid", "90")).out, "db: ended\n");
  assert.equal((await at.mesh("leases")).out, "Nothing is leased\n");
});

Deno.test("mesh who port names the lease and the listeners, and exits with 1 for nobody", async () => {
  await using at = await holdingsFixture();
  await at.mesh("lease", "port", "web");
  const leased = await at.mesh("who", "port", "24001");
  assert.equal(leased.out, `24001 is leased to process ${Deno.ppid} as port web\n`);
  const used = await at.mesh("who", "port", "5432");
  assert.equal(used.out, "5432 is used by process 90: postgres -D\n");
  assert.equal(
    (await at.mesh("who", "port", "80")).out,
    "80 is used by programs that mesh cannot see, such as those of other users\n",
  );
  const free = await at.mesh("who", "port", "81");
  assert.deepEqual([free.code, free.out], [1, "Nobody uses 81\n"]);
  for (const words of [["port", "0"], ["port", "x"], ["a.ts", "b.ts"]]) {
    assert.equal((await at.mesh("who", ...words)).code, 2, words.join(" "));
  }
});
