/** Which answers are compressed: lists that the page loads, and none with a secret. */

import assert from "node:assert/strict";
import * as z from "zod";
import type { Contract } from "kit/http/contract.ts";
import { isContract } from "../../golden_files/endpoints.ts";
import { addPeer, ask } from "../../support/daemon/peer_clients.ts";
import { sources } from "../../tidy/sources.ts";
import { type World, world } from "../../support/world.ts";

const SECRET = `mesh_sk_${"c".repeat(43)}`;
const GZIP = { headers: { "accept-encoding": "gzip" } };

/** Names of fields that hold a secret, or a text that nobody has looked at for secrets. */
const SECRET_NAME =
  /token|secret|ticket|password|passphrase|cookie|credential|(?:^|_)(?:key|code|link|pin)$/;

/** The day, the peer, the model, the job or the ask of a sum. */
const NO_SECRETS: ReadonlySet<string> = new Set(["transcripts.usage_list key"]);

async function contracts(): Promise<readonly Contract[]> {
  const root = new URL("../../../", import.meta.url);
  const paths = sources().map(({ path }) => path).filter((path) => path.startsWith("protocol/"));
  const modules = await Promise.all(paths.map((path) => import(new URL(path, root).href)));
  return modules.flatMap((module: Record<string, unknown>) => Object.values(module))
    .filter(isContract);
}

/** The names of all fields that a response may have. */
function fieldsOf(schema: z.ZodType): string[] {
  const found: string[] = [];
  const text = JSON.stringify(z.toJSONSchema(schema, { unrepresentable: "any", io: "input" }));
  JSON.parse(text, (name, value) => {
    if (name === "properties") found.push(...Object.keys(value));
    return value;
  });
  return found;
}

Deno.test("no route whose answer may be compressed has a field for a secret", async () => {
  const allowed = (await contracts()).filter(({ compressed }) => compressed);
  assert.ok(allowed.length > 10);
  for (const { id, method, returns, responseType } of allowed) {
    assert.deepEqual([method, responseType], ["GET", undefined], id);
    // A model's tokens are no secret.
    const secret = fieldsOf(returns).filter((name) =>
      SECRET_NAME.test(name) && !name.endsWith("_tokens") && !NO_SECRETS.has(`${id} ${name}`)
    );
    assert.deepEqual(secret, [], `${id} may not be compressed`);
  }
});

Deno.test("answers of the relay, settings, screens, transcripts and streams are never compressed", async () => {
  const forbidden =
    /^\/(?:m|s|oauth|api|shares|config|dashboard)\b|\/(?:pane|transcript|turns|stream)$/;
  const allowed = (await contracts()).filter(({ compressed }) => compressed);
  assert.deepEqual(allowed.map(({ path }) => path).filter((path) => forbidden.test(path)), []);
});

Deno.test("the daemon's own secrets are in no answer that may be compressed", async () => {
  const secrets = { "daemon.auth_token": `canary${"a".repeat(40)}`, "relay.secret": SECRET };
  await using w = world({ settings: { ...secrets, "relay.url": "https://relay.test" } });
  const headers = { authorization: `Bearer ${secrets["daemon.auth_token"]}` };
  const lists = w.daemon.routes.map(({ contract }) => contract)
    .filter(({ compressed, path }) => compressed && !path.includes(":"));
  assert.ok(lists.length > 8);
  for (const { path } of lists) {
    const answer = await w.fetch(path, { headers });
    const text = await answer.text();
    for (const secret of Object.values(secrets)) assert.ok(!text.includes(secret), path);
  }
});

async function crowded(w: World): Promise<void> {
  for (const name of ["api", "web", "db", "docs"]) await addPeer(w, name);
  for (let count = 0; count < 5; count++) await ask(w, "api", "web", `Question ${count}?`);
}

Deno.test("lists are compressed for a caller that accepts gzip, and only for such a caller", async () => {
  await using w = world();
  await crowded(w);
  for (const path of ["/peers", "/asks", "/messages", "/openapi.json"]) {
    const answer = await w.fetch(path, GZIP), plain = await w.fetch(path);
    assert.equal(answer.headers.get("content-encoding"), "gzip", path);
    assert.equal(answer.headers.get("vary"), "accept-encoding", path);
    const whole = await plain.bytes(), sent = await answer.bytes();
    assert.ok(sent.length < whole.length / 2, `${path}: ${sent.length} of ${whole.length} bytes`);
    assert.equal(plain.headers.get("content-encoding"), null, path);
  }
});

Deno.test("HEAD of a compressed list has the headers of GET", async () => {
  await using w = world();
  await crowded(w);
  const head = await w.fetch("/asks", { ...GZIP, method: "HEAD" });
  const sent = await (await w.fetch("/asks", GZIP)).bytes();
  assert.equal(head.headers.get("content-encoding"), "gzip");
  assert.equal(head.headers.get("content-length"), String(sent.length));
});

Deno.test("an answer of less than a kilobyte, a post and an event stream stay as they are", async () => {
  await using w = world();
  const few = await w.fetch("/peers", GZIP);
  const post = await w.fetch("/peers", {
    method: "POST",
    headers: { "accept-encoding": "gzip" },
    body: JSON.stringify({
      display_name: "api",
      backend: "sdk",
      path: `/work/${"a".repeat(1500)}`,
    }),
  });
  const stream = await w.fetch("/events/stream", GZIP);
  for (const answer of [few, post, stream]) {
    assert.equal(answer.headers.get("content-encoding"), null);
    await answer.body?.cancel();
  }
});
