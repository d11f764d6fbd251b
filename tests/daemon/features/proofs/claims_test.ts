import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { parseClaim } from "protocol/proofs/claims.ts";
import { sha256Of } from "../../../../daemon/features/proofs/check_files.ts";
import { type ClaimHost, verifyClaim } from "../../../../daemon/features/proofs/claims.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";

/** The hosts to which requests went. */
const called = new Set<string>();

const host: ClaimHost = {
  clock: systemClock,
  git: realGit,
  send: (request) => {
    called.add(new URL(request.url).hostname);
    return fetch(request);
  },
  signal: new AbortController().signal,
};

async function outcomeOf(claim: string, folder: string): Promise<string> {
  return (await verifyClaim(claim, folder, host)).outcome;
}

Deno.test("claims have a closed form", () => {
  const HASH = "0".repeat(64);
  const refused = [
    "",
    "verified",
    "commit:HEAD",
    "commit:abc",
    "commit:--all",
    `file:/etc/passwd=sha256:${HASH}`,
    `file:../secret=sha256:${HASH}`,
    `file:a/../../b=sha256:${HASH}`,
    `file:a/./b=sha256:${HASH}`,
    "file:a=sha256:12",
    "http://example.com/",
    "http://127.0.0.1@example.com/",
    "http://sam:secret@127.0.0.1/",
    "http://0.0.0.0:8080/",
    "https://127.0.0.1/",
    "merges:-x",
    "merges:a..b",
    "merges:main@{1}",
    "merges:a b",
    "exec:rm",
  ];
  assert.deepEqual(refused.filter((claim) => parseClaim(claim) !== undefined), []);
  const taken = [
    "commit:0123abc",
    `file:src/a b.ts=sha256:${HASH}`,
    "http://127.0.0.1:3000/health",
    "http://[::1]/",
    "http://localhost:80/a?b=c",
    "merges:feature/login",
  ];
  assert.deepEqual(taken.filter((claim) => parseClaim(claim) === undefined), []);
});

Deno.test("a commit is claimed truly if HEAD has it and nothing is uncommitted", async () => {
  using repository = new TestRepository();
  repository.write("a.txt", "one\n");
  const commit = repository.commit();
  const { folder } = repository;
  assert.equal(await outcomeOf(`commit:${commit}`, folder), "verified");
  assert.equal(await outcomeOf(`commit:${commit.slice(0, 10)}`, folder), "verified");
  assert.equal(await outcomeOf(`commit:${"0".repeat(40)}`, folder), "refuted", "a forged id");
  repository.git("checkout", "-q", "--orphan", "other");
  repository.git("commit", "-qm", "unrelated");
  assert.equal(await outcomeOf(`commit:${commit}`, folder), "refuted", "not part of HEAD");
  const head = repository.git("rev-parse", "HEAD").trim();
  repository.write("b.txt", "left over\n");
  assert.equal(await outcomeOf(`commit:${head}`, folder), "refuted", "an uncommitted file");
});

Deno.test("a branch whose name is a commit's beginning proves nothing", async () => {
  using repository = new TestRepository();
  repository.write("a.txt", "one\n");
  repository.commit();
  repository.git("branch", "deadbeef");
  assert.equal(await outcomeOf("commit:deadbeef", repository.folder), "refuted");
});

Deno.test("a branch merges, conflicts, or does not exist", async () => {
  using repository = new TestRepository();
  const commit = (text: string) => {
    repository.write("a.txt", text);
    repository.commit(text.trim());
  };
  commit("one\n");
  repository.git("checkout", "-qb", "good");
  commit("two\n");
  assert.equal(await outcomeOf("merges:good", repository.folder), "verified");
  repository.git("checkout", "-q", "main");
  commit("three\n");
  repository.git("checkout", "-q", "good");
  assert.equal(await outcomeOf("merges:good", repository.folder), "refuted");
  assert.equal(await outcomeOf("merges:none", repository.folder), "refuted");
  assert.deepEqual(repository.git("status", "--porcelain"), "", "nothing was written");
});

Deno.test("no program that a repository names runs for a claim", async () => {
  using repository = new TestRepository();
  repository.write("a.txt", "one\n");
  repository.write(".gitattributes", "* filter=evil merge=evil diff=evil\n");
  const commit = repository.commit();
  repository.git("config", "filter.evil.clean", repository.canary("clean"));
  repository.git("config", "filter.evil.smudge", repository.canary("smudge"));
  repository.git("config", "merge.evil.driver", repository.canary("merge"));
  repository.git("config", "core.fsmonitor", repository.canary("fsmonitor"));
  repository.git("branch", "other");
  repository.write(".git/hooks/post-checkout", repository.canary("hook"));
  await outcomeOf(`commit:${commit}`, repository.folder);
  await outcomeOf("merges:other", repository.folder);
  assert.deepEqual(repository.ran(), []);
});

Deno.test("without a repository, claims on commits are unknown", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    assert.equal(await outcomeOf("commit:0123abc", folder), "unknown");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("a file's hash is read inside of the folder, and no link is followed", async () => {
  const parent = await Deno.realPath(await Deno.makeTempDir());
  const folder = `${parent}/work`;
  Deno.mkdirSync(`${folder}/sub`, { recursive: true });
  Deno.writeTextFileSync(`${parent}/secret`, "key");
  Deno.writeTextFileSync(`${folder}/a`, "text");
  Deno.symlinkSync(`${parent}/secret`, `${folder}/link`);
  Deno.symlinkSync(parent, `${folder}/up`);
  try {
    const hash = await sha256Of(new TextEncoder().encode("text"));
    const secret = await sha256Of(new TextEncoder().encode("key"));
    assert.equal(await outcomeOf(`file:a=sha256:${hash}`, folder), "verified");
    assert.equal(await outcomeOf(`file:a=sha256:${secret}`, folder), "refuted");
    for (const path of ["link", "up/secret", "sub", "none"]) {
      assert.equal(await outcomeOf(`file:${path}=sha256:${secret}`, folder), "refuted", path);
    }
  } finally {
    Deno.removeSync(parent, { recursive: true });
  }
});

Deno.test("an address answers, fails, redirects away, or is silent", async () => {
  const answers: Record<string, Response> = {};
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      assert.equal(request.headers.get("sec-fetch-site"), "cross-site");
      return answers[new URL(request.url).pathname] ?? new Response(null, { status: 500 });
    },
  );
  const { port } = server.addr;
  const at = (path: string) => `http://127.0.0.1:${port}${path}`;
  const redirect = (location: string) => new Response(null, { status: 302, headers: { location } });
  answers["/ok"] = new Response("x".repeat(100_000));
  answers["/here"] = redirect("/ok");
  answers["/away"] = redirect("http://example.com/");
  answers["/round"] = redirect("/round");
  assert.equal(await outcomeOf(at("/here"), "/"), "verified");
  answers["/ok"] = new Response("ok");
  assert.equal(await outcomeOf(at("/ok"), "/"), "verified");
  for (const path of ["/failing", "/away"]) assert.equal(await outcomeOf(at(path), "/"), "refuted");
  assert.deepEqual([...called], ["127.0.0.1"]);
  await server.shutdown();
  assert.equal(await outcomeOf(at("/ok"), "/"), "refuted");
});
