/** A real daemon, and agents and programs that act in the name of another peer. */

import assert from "node:assert/strict";
import { CallersFixture, has } from "../../support/e2e/callers_fixture.ts";
import { run } from "../../support/e2e/programs.ts";
import { until } from "../../support/waiting.ts";

const PRELUDE = `
exec 2>/dev/null
PATH=$HOME:$PATH
register() { curl -s -d '{"name":"'$1'","path":"/","backend":"generic","agent_pid":'$2'}' "$URL/peers"; }
code() { curl -s -o /dev/null -w '%{http_code}\\n' "$@"; }
notify() { code -d '{"from_peer":"'$1'","to_peer":"victim","text":"'"$2"'"}' "$URL/notify"; }
`;

/** The agent \`api\`, which starts an agent of its own in its shell. */
const API = `
register api $$
notify api 'api itself' > "$HOME/itself"
bash -c "$PRELUDE"'
  notify api "before it registers" > "$HOME/child-before"
  register child $$
  notify api "as its parent" > "$HOME/child-as-parent"
  notify child "as itself" > "$HOME/child-as-itself"
  sleep 60 & wait'
`;

/** Another agent. It tries all that names the agent \`api\`. */
const ATTACKER = `
register attacker $$
notify api 'from its shell' > "$HOME/another"
(setsid bash -c "$PRELUDE"'notify api "from a session of its own"' > "$HOME/another-session")
code "$URL/deliveries/pending?peer_id=api" > "$HOME/drain"
code -d '{}' "$URL/peers/api/offline" > "$HOME/offline"
mesh notify victim 'by the command line' --from api > /dev/null; echo $? > "$HOME/command"
notify victim 'as a client' > "$HOME/client"
sleep 60 & wait
`;

Deno.test(
  "agents act in their own name only, whatever program of theirs calls [c11.speak.another] [c11.speak.child]",
  {
    ignore: Deno.build.os !== "linux" || !has("curl") || !has("setsid"),
  },
  async () => {
    await using fixture = new CallersFixture();
    await fixture.ready();
    const { dir, url } = fixture;
    const start = (name: string, script: string) => {
      const prelude = `${PRELUDE}PRELUDE='${
        PRELUDE.replaceAll("'", "'\\''")
      }'; export URL PRELUDE\n`;
      Deno.writeTextFileSync(`${dir}/${name}.sh`, `URL=${url}\n${prelude}${script}`);
      fixture.start(["bash", `${dir}/${name}.sh`]);
    };
    const result = (name: string) =>
      until(name, () => run("cat", [`${dir}/${name}`]).trim() || undefined);
    start("api", API);
    assert.equal(await result("itself"), "200");
    assert.equal(await result("child-before"), "200");
    assert.equal(await result("child-as-parent"), "403");
    assert.equal(await result("child-as-itself"), "200");
    start("attacker", ATTACKER);
    assert.equal(await result("another"), "403");
    assert.equal(await result("another-session"), "403", "with another session leader");
    assert.equal(await result("drain"), "403");
    assert.equal(await result("offline"), "403");
    assert.equal(await result("command"), "1");
    assert.equal(await result("client"), "403", "of a peer without a process");
    const body = JSON.stringify({ from_peer: "api", to_peer: "victim", text: "by a stranger" });
    const sent = await (await fetch(`${url}/notify`, { method: "POST", body })).json();
    assert.equal(sent.ok, true, JSON.stringify(sent));
    assert.equal(await fixture.voice("by a stranger"), "unverified");
    assert.equal(await fixture.voice("api itself"), "peer");
    const drained = await fetch(`${url}/deliveries/pending?peer_id=api`);
    assert.equal((await drained.json()).error, "not_your_identity");
  },
);
