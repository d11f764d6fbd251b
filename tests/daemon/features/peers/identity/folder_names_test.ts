/** Default names of peers in folders that are named in any language. */

import assert from "node:assert/strict";
import { claudeCodeHooks } from "../../../../../daemon/features/agents/hooks/claude_format.ts";
import { world } from "../../../../support/world.ts";
import { connectPeer, get, post } from "../../../../support/daemon/peer_clients.ts";

const NAMES = {
  "北京项目": "BeiJingXiangMu",
  "データベース": "detabesu",
  "проект": "proekt",
  "Ελληνικά": "Ellinika",
  "פרויקט": "frvykt",
  "プロジェクト api": "purojiekuto-api",
  "мой-сервис": "moy-servis",
  "café": "cafe",
  "api": "api",
};

Deno.test("a folder named in another script gives a readable name [c11.names.folders]", async () => {
  await using w = world();
  for (const [folder, name] of Object.entries(NAMES)) {
    const { display_name } = await post(w, "/peers", { path: `/w/${folder}`, backend: "codex" });
    assert.equal(display_name, `${name}-codex`, folder);
  }
});

Deno.test("two folders never get the name of a folder without a name, or the same one [c11.names.folders]", async () => {
  await using w = world();
  const folders = [
    "北京",
    "上海",
    "\u{16a0}",
    "\u{10380}",
    "\u0951",
    "\u0952",
    "…",
    "()",
    "🚀",
    "Ω",
    "ж",
  ];
  const names = new Set<string>();
  for (const folder of folders) {
    const { display_name } = await post(w, "/peers", { path: `/w/${folder}`, backend: "codex" });
    assert.match(display_name, /^[A-Za-z0-9._-]+-codex$/);
    assert.doesNotMatch(display_name, /^(root|-)/, folder);
    names.add(display_name);
  }
  assert.equal(names.size, folders.length);
  const { display_name } = await post(w, "/peers", { path: "/", backend: "codex" });
  assert.equal(display_name, "root-codex");
});

Deno.test("an agent that reports by its hooks gets the readable name, too [c11.names.folders]", async () => {
  await using w = world({ hooks: { "claude-code": claudeCodeHooks } });
  const event = { hook_event_name: "SessionStart", session_id: "s-1", source: "startup" };
  await post(w, "/hooks/claude-code", { ...event, cwd: "/w/данные" });
  assert.equal((await get(w, "/peers")).peers[0].name, "dannye-claude-code");
  const client = await connectPeer(w, "named", { path: "/w/данные" });
  assert.equal(client.of("connected")[0]?.display_name, "named");
});
