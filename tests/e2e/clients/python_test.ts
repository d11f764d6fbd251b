/** The Python client, installed by pip into a temporary folder. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { cpSync } from "node:fs";
import { testClient } from "../../support/clients/suite.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SCRIPT = `${ROOT}tests/support/clients/peer_script.py`;
const DIR = Deno.makeTempDirSync({ prefix: "mesh-python-" });
globalThis.addEventListener("unload", () => Deno.removeSync(DIR, { recursive: true }));

const MYPY = "mypy==2.4.1";

/** Installs packages into a folder of their own. Returns what went wrong. */
function pip(folder: string, ...args: readonly string[]): string | undefined {
  const quiet = ["--quiet", "--no-cache-dir", "--disable-pip-version-check"];
  const install = ["-m", "pip", "install", ...quiet, "--target", `${DIR}/${folder}`, ...args];
  try {
    const { success, stderr } = new Deno.Command("python3", {
      args: install,
      env: { PYTHONPATH: `${DIR}/needed`, PIP_ROOT_USER_ACTION: "ignore" },
    }).outputSync();
    return success ? undefined : new TextDecoder().decode(stderr);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "there is no python3";
    throw error;
  }
}

/** The packages that the client and its installation need. Without them, nothing can be tested. */
const missing = pip("needed", "websockets>=15", "flit_core>=3.11,<4");
if (missing !== undefined) {
  const [reason = ""] = missing.trim().split("\n").slice(-1);
  Deno.test({ name: `Python (skipped: ${reason})`, ignore: true, fn: () => undefined });
} else {
  // pip writes into the folder that it installs from.
  cpSync(`${ROOT}clients/python`, `${DIR}/source`, { recursive: true });
  const failed = pip("client", "--no-index", "--no-build-isolation", "--no-deps", `${DIR}/source`);
  if (failed !== undefined) throw new Error(`pip does not install the client: ${failed}`);
  const PYTHONPATH = `${DIR}/client:${DIR}/needed`;
  const noMypy = pip("mypy", MYPY);
  Deno.test({
    name: `mypy --strict finds nothing in the Python client${noMypy ? " (skipped: no mypy)" : ""}`,
    ignore: noMypy !== undefined,
    fn: () => {
      const { success, stdout } = new Deno.Command("python3", {
        args: ["-m", "mypy", "--strict", "--cache-dir", `${DIR}/cache`, `${ROOT}clients/python`],
        env: { PYTHONPATH: `${DIR}/mypy:${PYTHONPATH}` },
      }).outputSync();
      assert.ok(success, new TextDecoder().decode(stdout));
    },
  });
  const env = { PYTHONPATH };
  testClient({
    title: "Python",
    command: ["python3", SCRIPT],
    env,
    example: {
      readme: `${ROOT}clients/python/README.md`,
      file: "example.py",
      command: ["python3"],
      module: ["agent_mesh", "agent_mesh"],
    },
  });
}
