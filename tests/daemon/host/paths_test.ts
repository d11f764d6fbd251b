/** The paths of configuration and state, for any environment. */

import assert from "node:assert/strict";
import { configPath, InvalidPath, statePath, xdgFolder } from "../../../daemon/host/paths.ts";

const HOME = "/home/sam";

Deno.test("a relative XDG folder is ignored, as its specification says", () => {
  for (const path of ["state", "./state", "~/state", "", "../x"]) {
    const env = { HOME, XDG_STATE_HOME: path, XDG_CONFIG_HOME: path };
    assert.equal(statePath(env), "/home/sam/.local/state/mesh");
    assert.equal(configPath(env), "/home/sam/.config/mesh/config.yaml");
    assert.equal(xdgFolder(env, "XDG_STATE_HOME"), undefined);
  }
  assert.equal(statePath({ XDG_STATE_HOME: "/s" }), "/s/mesh");
  assert.equal(configPath({ XDG_CONFIG_HOME: "/c" }), "/c/mesh/config.yaml");
});

Deno.test("a relative MESH_STATE or MESH_CONFIG is refused by name, with what to do", () => {
  for (const path of ["state", "./x", "~/x", "../x"]) {
    const isNamed = (name: string) => (error: unknown) =>
      error instanceof InvalidPath &&
      error.message === `${name} is "${path}", which is a relative path` &&
      error.hint.includes(`set ${name} to an absolute path`);
    assert.throws(() => statePath({ HOME, MESH_STATE: path }), isNamed("MESH_STATE"));
    assert.throws(() => configPath({ HOME, MESH_CONFIG: path }), isNamed("MESH_CONFIG"));
  }
});

Deno.test("without a usable HOME, only paths that need it are refused", () => {
  for (const home of [undefined, "", "home", "~"]) {
    const env: Record<string, string> = home === undefined ? {} : { HOME: home };
    assert.throws(() => statePath(env), /^InvalidPath: HOME is/);
    assert.throws(() => configPath(env), /^InvalidPath: HOME is/);
    assert.equal(statePath({ ...env, MESH_STATE: "/s" }), "/s");
    assert.equal(configPath({ ...env, XDG_CONFIG_HOME: "/c" }), "/c/mesh/config.yaml");
  }
});
