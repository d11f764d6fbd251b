import assert from "node:assert/strict";
import { answeringDaemon, PEER, refusal } from "../../../support/cli/answering_daemon.ts";

const AT = "2026-11-26T13:07:45.190Z";
const ENTRY = {
  position: 7,
  at: AT,
  kind: "prompt",
  tool: null,
  text: "Read it",
  chars: 7,
  masked: 0,
  call: null,
  outcome: null,
};
const PAGE = {
  peer_id: PEER.peer_id,
  name: "api",
  backend: "claude-code",
  session_id: "s-1",
  entries: [
    ENTRY,
    {
      ...ENTRY,
      kind: "tool_call",
      tool: "Bash",
      text: "one\ntwo\u001b[2J",
      chars: 90,
      position: 8,
    },
  ],
  before: 7,
  cut: false,
};
const ROUTE = "GET /peers/api/transcript";

Deno.test("transcript shows time, kind and text, and where earlier entries are [4.transcript.cli]", async () => {
  await using p = answeringDaemon({ [ROUTE]: () => PAGE });
  const { out, code } = await p.mesh(["transcript", "api"]);
  assert.equal(code, 0);
  assert.match(
    out.replaceAll(/^.*\d\d:\d\d(?= {2})/gm, "TIME"),
    /^earlier: mesh transcript api --before 7\nTIME {2}prompt\n {2}Read it\nTIME {2}called Bash\n {2}one\n {2}two\n {2}… 79 more characters\n$/,
  );
});

Deno.test("transcript says that earlier entries cannot be read", async () => {
  const page = { ...PAGE, entries: [], before: null };
  await using whole = answeringDaemon({ [ROUTE]: () => page });
  assert.equal((await whole.mesh(["transcript", "api"])).out, "No entries.\n");
  await using cut = answeringDaemon({ [ROUTE]: () => ({ ...page, cut: true }) });
  const { out } = await cut.mesh(["transcript", "api", "--before", "90"]);
  assert.match(out, /^Earlier entries are too far .* to be read\.\nNo entries in this part\.\n$/);
});

Deno.test("transcript passes its flags to the daemon, and prints its answer with --json", async () => {
  await using p = answeringDaemon({ [ROUTE]: () => PAGE });
  const flags = ["--last", "5", "--grep", "port", "--before", "90", "--full", "--json"];
  const { out } = await p.mesh(["transcript", "api", ...flags]);
  assert.deepEqual(JSON.parse(out), PAGE);
  const route = p.received.find((request) => request.route.startsWith(ROUTE))?.route ?? "";
  for (const part of ["last=5", "grep=port", "before=90", "full=true"]) {
    assert(route.includes(part));
  }
});

Deno.test("the daemon searches followed entries, from the last entry of any text", async () => {
  const head = { ...ENTRY, position: 40, text: "other" };
  let heads = 0;
  await using p = answeringDaemon({
    [ROUTE]: ({ route }) => {
      const query = new URL(route.slice("GET ".length), "http://daemon").searchParams;
      if (query.has("after") && query.has("grep")) {
        return refusal(403, { error: "transcripts_off" });
      }
      if (query.has("grep")) return PAGE;
      return { ...PAGE, entries: [heads++ === 0 ? head : { ...head, position: 41 }] };
    },
  });
  const { out } = await p.mesh(["transcript", "api", "--follow", "--grep", "port", "--full"]);
  assert.match(out, /Read it/);
  const queries = p.received.filter(({ route }) => route.startsWith(ROUTE))
    .map(({ route }) => route.split("?")[1]?.split("&").sort().join(" "));
  assert.deepEqual(queries, [
    "full=true last=1",
    "before=41 full=true grep=port",
    "after=40 full=true last=1",
    "after=40 before=42 full=true grep=port last=200",
  ]);
});

Deno.test("usage shows tokens and how full the context is, or that nothing is recorded [4.transcript.cli]", async () => {
  const usage = {
    input_tokens: 41_230,
    output_tokens: 512,
    cached_tokens: null,
    context_tokens: 129_200,
    context_limit: 258_400,
    model: "m-1",
  };
  const peer = { peer_id: PEER.peer_id, name: "api", backend: "codex", session_id: "s" };
  const reason = "its agent has recorded no tokens for this session";
  await using p = answeringDaemon({
    "GET /usage": () => ({
      usage: [
        { ...peer, usage, reason: null },
        { ...peer, name: "web", usage: null, reason },
      ],
    }),
    "GET /peers/api/usage": () => ({ ...peer, usage, reason: null, transcript_refusal: null }),
  });
  const { out } = await p.mesh(["usage"]);
  assert.match(out, /api +41,230 +not recorded +512 +129,200 of 258,400 \(50 %\) +m-1\n/);
  assert.match(out, /web +not recorded .*its agent has recorded no tokens/);
  const ofPeer = await p.mesh(["usage", "api", "--json"]);
  assert.deepEqual(JSON.parse(ofPeer.out), { usage: [{ ...peer, usage, reason: null }] });
});

Deno.test("a refusal of the daemon is printed with its hint", async () => {
  const body = { error: "transcripts_off", detail: "It is off", hint: "switch it on" };
  await using p = answeringDaemon({ [ROUTE]: () => refusal(403, body) });
  const { code, err } = await p.mesh(["transcript", "api"]);
  assert.notEqual(code, 0);
  assert.match(err, /It is off[^]*switch it on/);
});
