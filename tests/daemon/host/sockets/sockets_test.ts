/** The process at the other end of a connection, according to the kernel of this machine. */

import assert from "node:assert/strict";
import {
  findInTable,
  parseAddress,
  SocketDiagnostics,
} from "../../../../daemon/host/sockets/netlink.ts";
import {
  holderIn,
  machineSockets,
  type TcpConnection,
} from "../../../../daemon/host/sockets/sockets.ts";
import { treeOf } from "../../../../daemon/host/processes.ts";
import { until } from "../../../support/host/private_tmux.ts";

const isLinux = Deno.build.os === "linux";
const isRoot = Deno.uid() === 0;
const NOBODY_UID = 65_534;

/** A listener on loopback, and the connections it has accepted. */
class Server implements AsyncDisposable {
  readonly #listener: Deno.TcpListener;
  readonly #hostname: string;
  readonly taken: Deno.TcpConn[] = [];

  constructor(hostname = "127.0.0.1") {
    this.#hostname = hostname;
    this.#listener = Deno.listen({ hostname, port: 0 });
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  async accept(): Promise<TcpConnection> {
    const connection = await this.#listener.accept();
    this.taken.push(connection);
    const remote = connection.remoteAddr;
    return { remote, local_port: this.port, local_host: this.#hostname };
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.taken) connection.close();
    this.#listener.close();
    return Promise.resolve();
  }
}

function shell(script: string, user?: number): Deno.ChildProcess {
  const as = user === undefined
    ? []
    : ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups"];
  const [program = "", ...args] = [...as, "bash", "-c", script];
  return new Deno.Command(program, { args, stdin: "piped", stdout: "null" }).spawn();
}

async function end(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await child.stdin.close();
  await child.status;
}

for (const hostname of ["127.0.0.1", "::1"]) {
  Deno.test(`a connection to ${hostname} belongs to its user and is held by its process`, {
    ignore: !isLinux,
  }, async () => {
    await using server = new Server(hostname);
    using _client = await Deno.connect({ hostname, port: server.port });
    const connection = await server.accept();
    const sockets = machineSockets();
    assert.equal(sockets.find(connection)?.uid, Deno.uid());
    assert.equal(sockets.holderWithin(Deno.pid, connection), Deno.pid);
    assert.equal(sockets.holderWithin(1, { ...connection, local_port: 1 }), undefined);
  });
}

Deno.test("a process holds the sockets of its descendants, and no other process does", {
  ignore: !isLinux,
}, async () => {
  await using server = new Server();
  const script = `(exec 3<>/dev/tcp/127.0.0.1/${server.port}; read -r _ <&3); true`;
  const owner = shell(script), other = shell("read -r _; true");
  const connection = await server.accept();
  const sockets = machineSockets();
  assert.notEqual(sockets.holderWithin(owner.pid, connection), undefined);
  assert.equal(sockets.holderWithin(other.pid, connection), undefined);
  assert.ok([...treeOf(owner.pid, 10)].length >= 2);
  for (const _ of ["searched", "known"]) {
    const holder = sockets.holderOf(connection) ?? 0;
    assert.ok([...treeOf(owner.pid, 10)].includes(holder));
  }
  await end(owner);
  await end(other);
});

Deno.test("a socket that a process has passed on is held by the one that has it now", {
  ignore: !isLinux,
}, async () => {
  await using server = new Server();
  const owner = shell(
    `exec 3<>/dev/tcp/127.0.0.1/${server.port}; read -r _; sleep 1000 & exec 3>&-; read -r _; kill $!`,
  );
  const connection = await server.accept();
  const sockets = machineSockets();
  assert.equal(sockets.holderOf(connection), owner.pid);
  const input = owner.stdin.getWriter();
  await input.write(new TextEncoder().encode("\n"));
  const heir = await until("the heir", () => {
    const pid = sockets.holderOf(connection);
    return pid !== undefined && pid !== owner.pid ? pid : undefined;
  });
  assert.deepEqual([...treeOf(owner.pid, 10)].slice(1), [heir]);
  await input.write(new TextEncoder().encode("\n"));
  input.releaseLock();
  await owner.stdin.close();
  await owner.status;
});

Deno.test("the holder of a connection is found, however many programs started after it", {
  ignore: !isLinux,
}, async () => {
  await using server = new Server();
  const connect = `exec 3<>/dev/tcp/127.0.0.1/${server.port}`;
  const owner = shell(`while read -r _; do ${connect}; done`);
  const sockets = machineSockets();
  const input = owner.stdin.getWriter();
  for (const _ of ["searched", "known from before"]) {
    const later = Array.from({ length: 20 }, () => shell("read -r _"));
    await input.write(new TextEncoder().encode("\n"));
    assert.equal(sockets.holderOf(await server.accept()), owner.pid);
    for (const child of later) await end(child);
  }
  input.releaseLock();
  await end(owner);
});

Deno.test("a process with many children is searched up to the caller's limit", {
  ignore: !isLinux,
}, async () => {
  await using server = new Server();
  const crowd = "exec 4<&0; for i in $(seq 520); do (read -r _ <&4) & done; ";
  const owner = shell(`${crowd} (exec 3<>/dev/tcp/127.0.0.1/${server.port}; read -r _ <&3); true`);
  const connection = await server.accept();
  const sockets = machineSockets();
  assert.equal(sockets.holderWithin(owner.pid, connection), undefined);
  assert.notEqual(sockets.holderWithin(owner.pid, connection, Infinity), undefined);
  await end(owner);
});

/** Connects to two local addresses from one port: for a wildcard listener it is the same client. */
const TWINS = `use Socket; my ($port) = @ARGV; my ($bound, @held) = 0;
for my $address ("127.0.0.1", "127.0.0.3") {
  socket(my $s, PF_INET, SOCK_STREAM, 0); setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1);
  bind($s, sockaddr_in($bound, inet_aton("127.0.0.1"))) or die;
  ($bound) = sockaddr_in(getsockname($s));
  connect($s, sockaddr_in($port, inet_aton($address))) or die;
  push @held, $s; <STDIN>;
}`;

Deno.test("with a wildcard listener, two connections from one port prove nothing", {
  ignore: !isLinux || !hasPerl(),
}, async () => {
  await using server = new Server("0.0.0.0");
  const args = ["-e", TWINS, String(server.port)];
  const client = new Deno.Command("perl", { args, stdin: "piped" }).spawn();
  const connection = await server.accept();
  const sockets = machineSockets();
  assert.equal(sockets.find(connection)?.uid, Deno.uid());
  assert.notEqual(sockets.holderWithin(client.pid, connection), undefined);
  const input = client.stdin.getWriter();
  await input.write(new TextEncoder().encode("\n"));
  const twin = await server.accept();
  assert.deepEqual(twin.remote, connection.remote);
  for (const socket of [connection, twin]) {
    assert.equal(sockets.find(socket), undefined);
    assert.equal(sockets.holderWithin(client.pid, socket), undefined);
  }
  client.kill("SIGKILL");
  await input.abort();
  await client.status;
});

function hasPerl(): boolean {
  try {
    return new Deno.Command("perl", { args: ["-MSocket", "-e", "1"] }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

Deno.test(
  "a connection of another user is reported as that user's",
  { ignore: !isLinux || !isRoot },
  async () => {
    await using server = new Server();
    const child = shell(`exec 3<>/dev/tcp/127.0.0.1/${server.port}; read -r _ <&3`, NOBODY_UID);
    const connection = await server.accept();
    assert.equal(machineSockets().find(connection)?.uid, NOBODY_UID);
    await end(child);
  },
);

Deno.test(
  "a connection that its process has closed belongs to nobody, though the kernel reports root",
  { ignore: !isLinux },
  async () => {
    await using server = new Server();
    const client = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    const connection = await server.accept();
    const { remote: { port }, local_port } = connection;
    const local = parseAddress("127.0.0.1");
    assert.ok(local);
    client.close();
    const ends = [{ ...local, port }, { ...local, port: local_port }] as const;
    for (const find of [findInTable, new SocketDiagnostics()]) {
      const look = typeof find === "function" ? find : find.find.bind(find);
      const orphan = await until("the close", () => {
        const end = look(...ends);
        return end?.inode === 0 && end;
      });
      assert.equal(orphan.uid, 0);
    }
    assert.equal(machineSockets().find(connection), undefined);
    assert.equal(machineSockets().holderWithin(Deno.pid, connection), undefined);
  },
);

Deno.test(
  "a listener is not taken for a connection that is gone",
  { ignore: !isLinux },
  async () => {
    await using server = new Server();
    const remote = { hostname: "127.0.0.1", port: server.port };
    const connection = { remote, local_port: 1, local_host: "127.0.0.1" };
    assert.equal(machineSockets().find(connection), undefined);
  },
);

Deno.test("the kernel's connection table agrees with netlink", { ignore: !isLinux }, async () => {
  for (const hostname of ["127.0.0.1", "::1"]) {
    await using server = new Server(hostname);
    using _client = await Deno.connect({ hostname, port: server.port });
    const { remote, local_port } = await server.accept();
    const address = parseAddress(hostname);
    assert.ok(address);
    const ends = [{ ...address, port: remote.port }, { ...address, port: local_port }] as const;
    assert.deepEqual(new SocketDiagnostics().find(...ends), findInTable(...ends), hostname);
  }
});

Deno.test("addresses are parsed into the kernel's form, and anything else is refused", () => {
  assert.deepEqual([...parseAddress("127.0.0.1")?.bytes ?? []], [127, 0, 0, 1]);
  assert.deepEqual(parseAddress("::ffff:10.0.0.1"), parseAddress("10.0.0.1"));
  assert.deepEqual([...parseAddress("::1")?.bytes ?? []], [...Array(15).fill(0), 1]);
  assert.deepEqual(parseAddress("[fe80::1%eth0]"), parseAddress("fe80:0:0:0:0:0:0:1"));
  for (const odd of ["", "localhost", "256.0.0.1", "1.2.3", "1::2::3", "::12345", "1:2:3"]) {
    assert.equal(parseAddress(odd), undefined, odd);
  }
});

Deno.test("in the output of lsof only the process of the client's end counts", () => {
  const output = "p71\nf3\nn127.0.0.1:50001->127.0.0.1:8377\n" +
    "p4242\nf9\nn127.0.0.1:50000->127.0.0.1:8377\n";
  assert.equal(holderIn(output, 50_000, 8377), 4242);
  assert.equal(holderIn(output, 50_001, 8377), 71);
  assert.equal(holderIn(output, 8377, 50_000), undefined);
  assert.equal(holderIn("p1\nn*:8377 (LISTEN)\n", 50_000, 8377), undefined);
});
