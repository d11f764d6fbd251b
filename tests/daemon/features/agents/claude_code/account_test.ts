/** The account of a Claude Code session: its settings folder and the login, without any secret. */

import assert from "node:assert/strict";
import { join } from "node:path";
import {
  accountPlaces,
  claudeAccount,
} from "../../../../../daemon/features/agents/claude_code/account.ts";
import { SHARED } from "../../../../support/agents/codex_server.ts";

const SESSION = "5b6f6d0e-1111-4222-8333-444455556666";

Deno.test("a session's account is its folder with the login, and changes with the login", () => {
  const home = Deno.makeTempDirSync();
  try {
    const [own, other] = [join(home, ".claude"), join(home, "work")];
    Deno.mkdirSync(join(other, "projects/-work"), { recursive: true });
    Deno.writeTextFileSync(join(other, `projects/-work/${SESSION}.jsonl`), "{}\n");
    const write = (uuid: string, mtime: number) => {
      const file = join(other, ".claude.json");
      const login = { accountUuid: uuid, emailAddress: `${uuid}@example.com` };
      Deno.writeTextFileSync(file, JSON.stringify({ oauthAccount: login, secret: "no" }));
      Deno.utimeSync(file, mtime, mtime);
    };
    const accountOf = claudeAccount(accountPlaces([own, other], own));
    const peer = { ...SHARED, runtime_session_id: SESSION };
    assert.deepEqual(accountOf(peer), { home: other, id: undefined });
    write("one", 1_000);
    assert.deepEqual(accountOf(peer), { home: other, id: "one@example.com" });
    write("two", 2_000);
    assert.deepEqual(accountOf(peer), { home: other, id: "two@example.com" });
    assert.equal(accountOf({ ...peer, runtime_session_id: null })?.home, own);
  } finally {
    Deno.removeSync(home, { recursive: true });
  }
});
