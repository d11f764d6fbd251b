import assert from "node:assert/strict";
import { join } from "node:path";
import { until } from "../../support/waiting.ts";
import { end } from "../../support/programs/child.ts";
import { meshArguments } from "../../support/programs/program.ts";

function setup() {
  const cwd = Deno.makeTempDirSync();
  return { cwd, [Symbol.dispose]: () => Deno.removeSync(cwd, { recursive: true }) };
}

/** A daemon on a state directory; killed when it is disposed, and with the test at the latest. */
async function start(cwd: string) {
  const state = join(cwd, "state"), notice = join(state, "daemon.json");
  const process = new Deno.Command(Deno.execPath(), {
    args: meshArguments(["daemon"]),
    cwd,
    env: { MESH_STATE: state, MESH_CONFIG: join(cwd, "none.yaml"), MESH_DAEMON__PORT: "0" },
    stdout: "null",
    stderr: "null",
  }).spawn();
  const url = await until("the daemon", () => {
    const daemonInfo = namesIn(state).includes("daemon.json")
      ? Deno.readTextFileSync(notice)
      : "{}";
    const { pid, url } = JSON.parse(daemonInfo);
    return pid === process.pid ? String(url) : undefined;
  });
  return {
    url,
    names: () => namesIn(join(state, "attachments")),
    async [Symbol.asyncDispose]() {
      await end(process, "SIGKILL");
    },
  };
}

function namesIn(directory: string): string[] {
  try {
    return [...Deno.readDirSync(directory)].map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

Deno.test("kill -9 in the middle of an upload: complete files are kept, the partial one is gone", async () => {
  using at = setup();
  const { cwd } = at;
  const content = crypto.getRandomValues(new Uint8Array(60_000));
  await using first = await start(cwd);
  const form = new FormData();
  form.append("file", new File([content], "a.bin"));
  const response = await fetch(`${first.url}/attachments`, { method: "POST", body: form });
  const { id } = await response.json();
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="half"\r\n\r\nhalf';
  const { promise: never } = Promise.withResolvers<void>();
  async function* halfBody() {
    yield new TextEncoder().encode(head);
    await never;
  }
  const brokenUpload = fetch(`${first.url}/attachments`, {
    method: "POST",
    headers: { "content-type": "multipart/form-data; boundary=b" },
    body: ReadableStream.from(halfBody()),
  }).then(() => "answered", () => "broken");
  await until("the half", () => first.names().find((name) => name.endsWith(".part")));
  await first[Symbol.asyncDispose]();
  assert.equal(await brokenUpload, "broken");

  await using second = await start(cwd);
  assert.deepEqual(second.names(), [`${id}.bin`]);
  const answer = await fetch(`${second.url}/attachments/${id}`);
  assert.deepEqual(await answer.bytes(), content);
  await second[Symbol.asyncDispose]();
});
