/** A daemon in memory on a real port, and a `mesh` that finds it, for tests of the CLI. */

import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import type { Device } from "../../../cli/output/terminal.ts";
import type { World } from "../world.ts";
import { capturedTerminal } from "./captured_output.ts";

/** Serves the daemon. `stop` closes the port and removes the home, but does not end the world. */
export function serveDaemon(w: World) {
  const home = Deno.makeTempDirSync();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const env = {
    MESH_CONFIG: join(home, "config.yaml"),
    MESH_STATE: home,
    MESH_DAEMON__PORT: String(server.addr.port),
  };
  return {
    home,
    env,
    url: `http://127.0.0.1:${server.addr.port}`,
    /** Runs a command; returns its exit code and output. */
    async mesh(
      args: readonly string[],
      more: Record<string, string> = {},
      device: Partial<Device> = {},
    ) {
      const { terminal, lines } = capturedTerminal(device);
      const code = await runCli([...args], { ...env, ...more }, terminal, w.clock);
      return { code, ...lines };
    },
    async stop() {
      await server.shutdown();
      Deno.removeSync(home, { recursive: true });
    },
  };
}

/** A world that ends together with its port, and `mesh` to run commands. */
export function cliFixture(w: World) {
  const { mesh, stop, ...place } = serveDaemon(w);
  return {
    w,
    ...place,
    mesh: (...args: string[]) => mesh(args),
    async [Symbol.asyncDispose]() {
      await stop();
      await w[Symbol.asyncDispose]();
    },
  };
}
