/** `mesh setup --relay`: registering with a relay. */

import assert from "node:assert/strict";
import { runSetup } from "../../support/cli/run_setup.ts";
import { readConfig } from "../../../daemon/app/config.ts";

const SECRET = `mesh_sk_${"d".repeat(43)}`;
const RELAY = "https://relay.test";

/** A temporary home, and a relay whose answer a test sets. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-home-" });
  readonly config = `${this.dir}/config.yaml`;
  readonly env = { HOME: this.dir, PATH: "", MESH_CONFIG: this.config };
  readonly asked: Request[] = [];
  answer: () => Response = () => Response.json({ secret: SECRET });
  out = "";
  err = "";

  setup(...args: string[]): Promise<number> {
    const output = {
      out: (text: string) => void (this.out += `${text}\n`),
      err: (text: string) => void (this.err += `${text}\n`),
    };
    const send = (request: Request) => {
      this.asked.push(request);
      return Promise.resolve(this.answer());
    };
    return runSetup(args, this.env, output, { send });
  }

  read() {
    return readConfig(this.env, (path) => Deno.readTextFileSync(path));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test("setup --relay registers a secret and saves it with mode 0600 [c7.setup.relay]", async () => {
  using home = new Home();
  assert.equal(await home.setup("--relay", RELAY), 0);
  const [request] = home.asked;
  assert.deepEqual([request?.method, request?.url], ["POST", `${RELAY}/api/v1/register`]);
  const config = home.read();
  assert.deepEqual([config["relay.enabled"], config["relay.url"]], [true, RELAY]);
  assert.equal(config["relay.secret"]?.reveal(), SECRET);
  assert.equal(config["relay.allow_admin"], false);
  assert.equal((Deno.statSync(home.config).mode ?? 0) & 0o777, 0o600);
  assert.match(home.out, /joined https:\/\/relay\.test with a new secret/);
  assert.ok(!home.out.includes(SECRET));
});

Deno.test("joining the same relay again keeps its secret", async () => {
  using home = new Home();
  await home.setup("--relay", RELAY);
  assert.equal(await home.setup("--relay", `${RELAY}/`), 0);
  assert.equal(home.asked.length, 1);
  assert.match(home.out, /the existing secret/);
});

Deno.test("another relay gets its own secret, never the first one's", async () => {
  using home = new Home();
  await home.setup("--relay", RELAY);
  const other = `mesh_sk_${"f".repeat(43)}`;
  home.answer = () => Response.json({ secret: other });
  await home.setup("--relay", "https://other.test");
  assert.equal(home.read()["relay.secret"]?.reveal(), other);
  assert.ok(Deno.readTextFileSync(`${home.config}.mesh-backup`).includes(SECRET));
});

Deno.test("comments and other keys of the configuration are kept", async () => {
  using home = new Home();
  Deno.writeTextFileSync(home.config, "# mine\nhuman:\n  name: sam\n");
  await home.setup("--relay", RELAY);
  const text = Deno.readTextFileSync(home.config);
  assert.match(text, /^# mine\nhuman:\n {2}name: sam\n/);
});

Deno.test("a dry run sends and writes nothing", async () => {
  using home = new Home();
  assert.equal(await home.setup("--relay", RELAY, "--dry-run"), 0);
  assert.equal(home.asked.length, 0);
  assert.throws(() => Deno.statSync(home.config));
  assert.match(home.out, /would join https:\/\/relay\.test/);
});

Deno.test("--json prints the result without the secret", async () => {
  using home = new Home();
  await home.setup("--relay", RELAY, "--json");
  assert.deepEqual(JSON.parse(home.out), {
    relay: RELAY,
    written_to: home.config,
    dry_run: false,
    secret: "drawn",
  });
});

for (
  const [what, answer, message] of [
    ["refuses", () => Response.json({ detail: "Too many" }, { status: 429 }), /429: Too many/],
    ["is something else", () => new Response("<html>"), /returned no secret/],
    ["gives a secret of another form", () => Response.json({ secret: "x" }), /returned no secret/],
    ["cannot be reached", () => assert.fail("no route to host"), /no route to host/],
  ] as const
) {
  Deno.test(`a relay that ${what} leaves the configuration unchanged`, async () => {
    using home = new Home();
    home.answer = answer;
    assert.equal(await home.setup("--relay", RELAY), 1);
    assert.match(home.err, message);
    assert.throws(() => Deno.statSync(home.config));
  });
}

for (const url of ["http://relay.test", "relay.test", `${RELAY}/path`, `${RELAY}?secret=1`]) {
  Deno.test(`setup --relay ${url} is wrong usage, and the allowed form is printed`, async () => {
    using home = new Home();
    assert.equal(await home.setup("--relay", url), 2);
    assert.match(home.err, /is not allowed; use https:/);
    assert.equal(home.asked.length, 0);
  });
}

Deno.test("--relay cannot be used with --uninstall", async () => {
  using home = new Home();
  assert.equal(await home.setup("--relay", RELAY, "--uninstall"), 2);
});
