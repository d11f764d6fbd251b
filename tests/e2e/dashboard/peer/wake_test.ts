/** A sleeping agent on the page, and the button that wakes it. */

import { join } from "node:path";
import { offlinePeer, registerPeer } from "protocol/peers/contract.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";

const SESSION = "0b5e3a52-6a0e-4b67-9d6f-6a3c6b1d2e4f";
const config_dir = Deno.makeTempDirSync({ prefix: "mesh-claude-" });

browserTest(
  "a sleeping agent is shown as asleep, and a refusal of its wake is shown",
  async (lab) => {
    try {
      const folder = join(config_dir, "projects", "api");
      Deno.mkdirSync(folder, { recursive: true });
      const said = { type: "user", cwd: config_dir, sessionId: SESSION };
      const line = JSON.stringify({ ...said, message: { role: "user", content: "Hello" } });
      Deno.writeTextFileSync(join(folder, `${SESSION}.jsonl`), `${line}\n`);
      const { peer_id } = await lab.call(registerPeer, {
        body: {
          name: "api",
          path: config_dir,
          backend: "claude-code",
          runtime_session_id: SESSION,
        },
      });
      await lab.call(offlinePeer, { params: { id: peer_id }, query: {}, body: {} });
      const page = await lab.open(`#/peers/${peer_id}`);
      const head = page.locator(".peer-head");
      await head.getByText("asleep", { exact: true }).waitFor();
      await head.getByText("a person wakes it with: mesh wake api").waitFor();
      await head.getByRole("button", { name: "Wake api" }).click();
      await page.locator(".notice", { hasText: "api was not woken" }).waitFor();
      lab.forgive(/status of (?:409|403|422|502|503)/);
      await page.goto(page.url().replace(/#.*/, "#/mesh"));
      await page.getByText(/^Offline 1$/).click();
      await page.locator(".peers").getByRole("button", { name: "Wake api" }).waitFor();
    } finally {
      Deno.removeSync(config_dir, { recursive: true });
    }
  },
  {
    CLAUDE_CONFIG_DIR: config_dir,
    MESH_SPAWN__COMMANDS: JSON.stringify({ "claude-code": ["/nowhere/claude"] }),
    MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([config_dir]),
  },
);
