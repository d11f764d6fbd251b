/** `mesh upload`, `--attach` and the display of attachments, against a daemon on a real port. */

import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { type World, world, type WorldOptions } from "../../support/world.ts";
import { cliFixture } from "../../support/cli/listening_daemon.ts";
import { addPeer, ask, connectPeer, get, notify } from "../../support/daemon/peer_clients.ts";

/** A listening daemon, and a directory with files to send. */
function fixture(settings: WorldOptions["settings"] = {}) {
  const at = cliFixture(
    world({ settings: { ...settings, "daemon.allowed_hosts": "[127.0.0.1]" } }),
  );
  return {
    ...at,
    /** Writes a file and returns its path. */
    file(name: string, content: string | Uint8Array): string {
      const path = pathOf(at.home, name);
      if (typeof content === "string") Deno.writeTextFileSync(path, content);
      else Deno.writeFileSync(path, content);
      return path;
    },
  };
}

/** Polls until a value arrives over the real socket. */
async function waitForArrival<T>(w: World, probe: () => T | undefined): Promise<T> {
  for (let turns = 0; turns < 200; turns++) {
    const found = probe();
    if (found !== undefined) return found;
    await w.clock.settle();
  }
  throw new Error("The value never arrived");
}

Deno.test("mesh upload prints the id, or the record with --json", async () => {
  await using at = fixture();
  const path = at.file('a "quoted" Grüße.PNG', "picture");
  const { code, out } = await at.mesh("upload", path);
  assert.equal(code, 0);
  assert.match(out, /^att-[0-9a-f]{32}\n$/);
  const { out: json } = await at.mesh("upload", path, "--json");
  const { filename, content_type, size, path: kept } = JSON.parse(json);
  assert.deepEqual([filename, content_type, size], ["a _quoted_ Grüße.PNG", "image/png", 7]);
  assert.match(kept, /\.png$/);
  assert.equal(Deno.readTextFileSync(kept), "picture");
});

Deno.test("a file that cannot be sent is refused in one line, and nothing is sent", async () => {
  await using at = fixture({ "daemon.attachments.file_bytes_max": "100000" });
  await addPeer(at.w, "web");
  const fine = at.file("fine.txt", "x"), large = at.file("large.bin", new Uint8Array(900_000));
  const folder = pathOf(fine, "..");
  for (const path of ["/none/such.txt", folder]) {
    const { code, err } = await at.mesh(
      "notify",
      "web",
      "Look",
      "--attach",
      fine,
      "--attach",
      path,
    );
    assert.equal(code, 1);
    assert.ok(err.includes(`"${path}"`), err);
    assert.equal(err.trimEnd().split("\n").length, 1);
  }
  const { code, err } = await at.mesh("upload", large);
  assert.deepEqual([code, err.split("\n")[0]], [1, "mesh: The file is larger than 100000 bytes"]);
  const many = Array.from({ length: 21 }, () => ["--attach", fine]).flat();
  assert.equal((await at.mesh("notify", "web", "Look", ...many)).code, 2);
  assert.equal((await get(at.w, "/deliveries")).deliveries.length, 0);
});

Deno.test("ask, ack and notify send files, and show lists them", async () => {
  await using at = fixture();
  await addPeer(at.w, "api");
  const web = await connectPeer(at.w, "web");
  const text = at.file("one.txt", "1"), markdown = at.file("two.md", "22");
  const asked = [
    "ask",
    "web",
    "Look",
    "--attach",
    text,
    "--from",
    "api",
    "--attach",
    markdown,
    "--json",
  ];
  const { correlation_id } = JSON.parse((await at.mesh(...asked)).out);
  const named = web.of("ask")[0]?.attachments?.map(({ filename }) => filename);
  assert.deepEqual(named, ["one.txt", "two.md"]);
  assert.equal(
    (await at.mesh("ack", correlation_id, "--attach", markdown, "--from", "web")).code,
    0,
  );
  const { reply_attachments } = await get(at.w, `/asks/${correlation_id}`);
  const { out } = await at.mesh("show", correlation_id);
  const lines = out.split("\n");
  assert.match(lines.at(-6) ?? "", /^attached one\.txt \(text\/plain, 1 bytes\) \/.*\.txt$/);
  assert.match(lines.at(-5) ?? "", /^attached two\.md \(text\/markdown, 2 bytes\) \/.*\.md$/);
  assert.equal(
    lines.at(-2),
    `attached two.md (text/markdown, 2 bytes) ${reply_attachments[0].path}`,
  );
  assert.equal((await at.mesh("notify", "web", "Look", "--attach", text)).code, 0);
  assert.equal(web.of("notify")[0]?.attachments?.[0]?.filename, "one.txt");
});

Deno.test("ask --wait shows the files of the reply", async () => {
  await using at = fixture();
  const web = await connectPeer(at.w, "web");
  const path = at.file("one.txt", "1");
  const waiting = at.mesh("ask", "web", "Which?", "--wait");
  const { correlation_id } = await waitForArrival(at.w, () => web.of("ask")[0]);
  await at.mesh("ack", correlation_id, "This", "--attach", path, "--from", "web");
  assert.match((await waiting).out, /^answered by web:\nThis\nattached one\.txt \(/);
});

Deno.test("inbox reply sends files, and inbox show lists an item's files", async () => {
  await using at = fixture({ "human.name": "sam" });
  await connectPeer(at.w, "web");
  const path = at.file("one.txt", "1");
  const { out } = await at.mesh("upload", path);
  const attachments = [out.trim()];
  const id = await ask(at.w, "web", "sam", "Which?", { attachments });
  const { items: [item] } = await get(at.w, "/inbox");
  assert.match((await at.mesh("inbox", "show", item.item_id)).out, /\nattached one\.txt \(/);
  const replied = await at.mesh("inbox", "reply", item.item_id, "This", "--attach", path);
  assert.match(replied.out, /^acked/);
  assert.equal((await get(at.w, `/asks/${id}`)).reply_attachments[0].filename, "one.txt");
  await notify(at.w, "web", "sam", "Done", { attachments });
  const json = JSON.parse((await at.mesh("inbox", "list", "--json")).out);
  assert.equal(json.items[0].attachments[0].id, attachments[0]);
});

Deno.test("over a real socket, HEAD returns the length, and a too large upload is refused early", async () => {
  await using at = fixture({ "daemon.attachments.file_bytes_max": "1000000" });
  const { out } = await at.mesh("upload", at.file("a.bin", new Uint8Array(100_000)));
  const head = await fetch(`${at.url}/attachments/${out.trim()}`, { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), "100000");
  await head.body?.cancel();
  const { code, err } = await at.mesh("upload", at.file("b.bin", new Uint8Array(20_000_000)));
  assert.equal(code, 1);
  assert.match(err, /larger than 1000000 bytes/);
});

Deno.test("--attach accepts ids of uploaded files as well as paths", async () => {
  await using at = fixture();
  await addPeer(at.w, "web");
  await addPeer(at.w, "api");
  const first = at.file("one.txt", "1"), second = at.file("two.txt", "2");
  const id = (await at.mesh("upload", first)).out.trim();
  const args = ["notify", "web", "Look", "--from", "api", "--attach", id, "--attach", second];
  assert.equal((await at.mesh(...args)).code, 0);
  const { deliveries } = await get(at.w, "/deliveries?peer_id=web");
  const named = deliveries[0].attachments.map((file: { filename: string }) => file.filename);
  assert.deepEqual(named, ["one.txt", "two.txt"]);
  const unknown = await at.mesh("notify", "web", "Look", "--attach", `att-${"0".repeat(32)}`);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /Unknown attachment/);
});
