/** A relay whose OAuth database was replaced by an earlier copy. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { jsonLog } from "kit/core/log.ts";
import { lockDatabase } from "../../../relay/app/database.ts";
import { countingIds } from "../../support/ids.ts";
import { App, CALLBACK, ISSUER, oauthWorld } from "../../support/relay/oauth_world.ts";
import { SwiftClock } from "../../support/swift_clock.ts";

/** Runs of a relay on the files of a folder. */
class RelayRuns implements Disposable {
  readonly clock = new SwiftClock();
  readonly ids = countingIds();
  readonly root = Deno.makeTempDirSync({ prefix: "mesh-oauth-" });
  readonly path = join(this.root, "oauth.db");
  readonly mark = `${this.path}.mark`;

  /** Starts a relay. `hasRevoked`: true if it found that its database went back. */
  start(path = this.path) {
    const { clock, ids } = this;
    const logged: string[] = [];
    const log = jsonLog(clock, "warn", (line) => logged.push(line));
    const held = lockDatabase(path, ISSUER, { clock, ids, log });
    const world = oauthWorld({ db: held.db, clock, ids });
    const refresh = async (client_id: string, token: string) =>
      (await new App(world, client_id, CALLBACK).refresh(token)).status;
    const hasRevoked = logged.some((line) => line.includes("every grant was revoked"));
    return { ...held, world, refresh, logged, hasRevoked };
  }

  /** A copy as an operator makes it while the relay runs. */
  copy(): string {
    const copy = join(this.root, "copy.db");
    using db = new DatabaseSync(this.path);
    db.prepare("vacuum into ?").run(copy);
    return copy;
  }

  /** The disk as a kill leaves it at this moment: returns the path of the database there. */
  kill(): string {
    const root = Deno.makeTempDirSync({ dir: this.root });
    for (const file of ["oauth.db", "oauth.db-wal", "oauth.db.mark"]) {
      Deno.copyFileSync(join(this.root, file), join(root, file));
    }
    return join(root, "oauth.db");
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.root, { recursive: true });
  }
}

Deno.test("a refresh token that was spent after the copy is not valid again once the copy is in place", async () => {
  using runs = new RelayRuns();
  const first = runs.start();
  const app = await App.register(first.world);
  const { refresh_token } = await app.connect();
  const copy = runs.copy();
  assert.equal(await first.refresh(app.client_id, refresh_token), 200);
  first[Symbol.dispose]();
  Deno.renameSync(copy, runs.path);
  using second = runs.start();
  assert.ok(second.hasRevoked);
  assert.equal(await second.refresh(app.client_id, refresh_token), 400);
  const again = await new App(second.world, app.client_id, CALLBACK).connect();
  assert.equal(await second.refresh(app.client_id, again.refresh_token), 200);
});

Deno.test("a grant that was revoked after the copy stays revoked, although the relay was killed", async () => {
  using runs = new RelayRuns();
  using first = runs.start();
  const app = await App.register(first.world);
  const { refresh_token } = await app.connect();
  const copy = runs.copy();
  await app.revoke(refresh_token);
  first.mark.renew(); // As the tick does.
  const path = runs.kill();
  Deno.removeSync(`${path}-wal`);
  Deno.renameSync(copy, path);
  using second = runs.start(path);
  assert.ok(second.hasRevoked);
  assert.equal(await second.refresh(app.client_id, refresh_token), 400);
});

Deno.test("a relay that is stopped, killed or started again keeps its grants", async () => {
  using runs = new RelayRuns();
  const first = runs.start();
  const app = await App.register(first.world);
  let { refresh_token } = await app.connect();
  first[Symbol.dispose]();
  using second = runs.start();
  assert.ok(!second.hasRevoked);
  const tokens = await (await new App(second.world, app.client_id, CALLBACK).refresh(refresh_token))
    .json();
  refresh_token = tokens.refresh_token;
  {
    using killed = runs.start(runs.kill());
    assert.ok(!killed.hasRevoked, "within the second before the mark is renewed");
  }
  const before = Deno.readTextFileSync(runs.mark);
  second.mark.renew();
  assert.notEqual(Deno.readTextFileSync(runs.mark), before);
  const path = runs.kill();
  Deno.writeTextFileSync(`${path}.mark`, before);
  using third = runs.start(path);
  assert.ok(!third.hasRevoked, "between the database and the file");
  assert.equal(await third.refresh(app.client_id, refresh_token), 200);
});

Deno.test("a database without its mark, or an old one beside a mark, has no valid grants", async () => {
  using runs = new RelayRuns();
  const first = runs.start();
  const app = await App.register(first.world);
  const { refresh_token } = await app.connect();
  first[Symbol.dispose]();
  Deno.removeSync(runs.mark);
  const second = runs.start();
  assert.ok(second.hasRevoked);
  assert.equal(await second.refresh(app.client_id, refresh_token), 400);
  second[Symbol.dispose]();
  {
    using db = new DatabaseSync(runs.path);
    db.exec("delete from oauth_mark");
  }
  using third = runs.start();
  assert.ok(third.hasRevoked, "a copy that an older version made");
});

Deno.test("a mark that cannot be written is written later, and revokes nothing", async () => {
  using runs = new RelayRuns();
  const first = runs.start();
  const app = await App.register(first.world);
  Deno.removeSync(runs.mark);
  Deno.mkdirSync(join(runs.mark, "in the way"), { recursive: true });
  let { refresh_token } = await app.connect();
  for (let tick = 0; tick < 3; tick++) {
    first.mark.renew();
    refresh_token = (await (await app.refresh(refresh_token)).json()).refresh_token;
  }
  assert.equal(first.logged.length, 1, "it is logged once");
  Deno.removeSync(runs.mark, { recursive: true });
  first[Symbol.dispose]();
  using second = runs.start();
  assert.ok(!second.hasRevoked);
  assert.equal(await second.refresh(app.client_id, refresh_token), 200);
});

Deno.test("an unchanged database renews no mark", () => {
  using runs = new RelayRuns();
  using first = runs.start();
  first.mark.renew();
  const mark = Deno.readTextFileSync(runs.mark);
  for (let tick = 0; tick < 3; tick++) first.mark.renew();
  assert.equal(Deno.readTextFileSync(runs.mark), mark);
  assert.equal((Deno.statSync(runs.mark).mode ?? 0) & 0o777, 0o600);
});
