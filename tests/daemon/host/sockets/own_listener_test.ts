/** The owner of a listener; `mesh` sends the token to no other user's program. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCli } from "../../../../cli.ts";
import { FakeClock } from "../../../support/clock.ts";
import { listenerAt } from "../../../../daemon/host/sockets/own_listener.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";

const isLinux = Deno.build.os === "linux";
const isRoot = Deno.uid() === 0;
const NOBODY_UID = 65_534;

/** Listens as another user, on a port of its own, and records what it receives. */
const THIEF = `use Socket; $| = 1; socket(my $s, PF_INET, SOCK_STREAM, 0);
bind($s, sockaddr_in(0, inet_aton("127.0.0.1"))) and listen($s, 5) or die;
my ($port) = sockaddr_in(getsockname($s)); print "$port\\n";
while (accept(my $c, $s)) { sysread($c, my $said, 4096); print $said;
  syswrite($c, "HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}"); close $c; }`;

const addressOf = (port: number, host = "127.0.0.1") => new URL(`http://${host}:${port}`);

Deno.test("our own listener is recognized, at its address and at a wildcard address", {
  ignore: !isLinux,
}, () => {
  for (const [hostname, host] of [["127.0.0.1", "localhost"], ["0.0.0.0", "127.0.0.1"]] as const) {
    using listener = Deno.listen({ hostname, port: 0 });
    const { port } = listener.addr;
    assert.equal(listenerAt(addressOf(port, host)), "ours");
  }
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  assert.equal(listenerAt(addressOf(listener.addr.port, "127.0.0.2")), "nobody");
});

Deno.test("without a daemon, another user's program at its address receives nothing", {
  ignore: !isLinux || !isRoot,
}, async () => {
  const args = [
    `--reuid=${NOBODY_UID}`,
    `--regid=${NOBODY_UID}`,
    "--clear-groups",
    "perl",
    "-e",
    THIEF,
  ];
  const thief = new Deno.Command("setpriv", { args, stdout: "piped", stdin: "null" }).spawn();
  const stdout = thief.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const port = Number((await stdout.read()).value);
  const home = Deno.makeTempDirSync();
  try {
    assert.equal(listenerAt(addressOf(port)), "not_ours");
    const { terminal, lines } = capturedTerminal();
    const env = {
      MESH_STATE: home,
      MESH_CONFIG: join(home, "config.yaml"),
      MESH_DAEMON__PORT: String(port),
      MESH_DAEMON__AUTH_TOKEN: "a token of 16 letters",
    };
    for (const args of [["peers"], ["status"], ["notify", "ada", "Hi"]]) {
      assert.equal(await runCli(args, env, terminal, new FakeClock()), 3, args.join(" "));
    }
    const refusal = `The program that answers at http://127.0.0.1:${port} is not a mesh daemon`;
    assert.equal(lines.err.split(refusal).length - 1, 3, lines.err);
  } finally {
    thief.kill("SIGKILL");
    await thief.status;
    Deno.removeSync(home, { recursive: true });
  }
  assert.equal((await stdout.read()).value, undefined, "it received nothing");
});
