/**
 * A program that behaves as Claude Code does for the mesh: it resumes sessions, keeps their files
 * and its presence file, registers, and answers each ask. It logs its acts in a file.
 */

import { join } from "node:path";

const [state = "", resume, resumed] = Deno.args;
const session = resume === "--resume" && resumed ? resumed : crypto.randomUUID();
const config = join(state, ".claude");
const transcript = join(config, "projects", "work", `${session}.jsonl`);

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

function log(act: string, id: string): void {
  Deno.writeTextFileSync(join(state, "agents.log"), `${Deno.pid} ${act} ${id}\n`, { append: true });
}

/** The start time of a process that runs, as Claude Code writes it into its presence file. */
function startOf(pid: number): string | undefined {
  try {
    const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];
    const hasEnded = fields[0] === "Z" || fields[0] === "X";
    return hasEnded ? undefined : fields[19];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Logs every other process that has the session open. */
function logOthers(): void {
  for (const { name } of Deno.readDirSync(join(config, "sessions"))) {
    const file = join(config, "sessions", name);
    const { pid, sessionId, procStart } = JSON.parse(Deno.readTextFileSync(file));
    if (sessionId === session && procStart && startOf(pid) === procStart) {
      log("double", String(pid));
    }
  }
}

/** Calls the daemon, again and again while none runs. */
async function call(path: string, body?: unknown) {
  for (;; await pause(50)) {
    try {
      const { url } = JSON.parse(Deno.readTextFileSync(join(state, "daemon.json")));
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      return await (await fetch(url + path, init)).json();
    } catch (error) {
      // No daemon listens, it was killed before it answered, or it is writing its notice.
      const expected = [TypeError, SyntaxError, Deno.errors.NotFound];
      if (!expected.some((kind) => error instanceof kind)) throw error;
    }
  }
}

// As the real one, it takes a moment to end.
for (const signal of ["SIGHUP", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => void pause(300).then(() => Deno.exit()));
}

Deno.mkdirSync(join(config, "sessions"), { recursive: true });
Deno.mkdirSync(join(config, "projects", "work"), { recursive: true });
logOthers();
log("start", session);
const presence = { pid: Deno.pid, sessionId: session, cwd: Deno.cwd(), version: "2.1.329" };
Deno.writeTextFileSync(
  join(config, "sessions", `${Deno.pid}.json`),
  JSON.stringify({ ...presence, procStart: startOf(Deno.pid) }),
);
const prompt = { type: "user", cwd: Deno.cwd(), message: { content: "Write the docs" } };
Deno.writeTextFileSync(transcript, `${JSON.stringify(prompt)}\n`, { append: true });

const { TMUX = "", TMUX_PANE: pane_id = "" } = Deno.env.toObject();
const { peer_id } = await call("/peers", {
  path: Deno.cwd(),
  backend: "claude-code",
  runtime_session_id: session,
  pane_id,
  tmux_socket: TMUX.split(",")[0],
  agent_pid: Deno.pid,
  turn_state: "idle",
});
log("registered", peer_id);

const known = new Set<string>();
for (;; await pause(50)) {
  const { deliveries = [], drain_id } = await call(`/deliveries/pending?peer_id=${peer_id}`);
  const fresh: { delivery_id: string; correlation_id?: string }[] = deliveries
    .filter(({ delivery_id }: { delivery_id: string }) => !known.has(delivery_id));
  for (const { delivery_id } of fresh) {
    known.add(delivery_id);
    log("read", delivery_id);
  }
  if (drain_id) await call("/deliveries/receipts", { drain_id, status: "accepted" });
  for (const { correlation_id } of fresh) {
    if (!correlation_id) continue;
    const { ok } = await call("/ack", { correlation_id, message: "Yes", from_peer: peer_id });
    log(ok ? "answered" : "refused", correlation_id);
  }
  if (fresh.length > 0) await call(`/peers/${peer_id}/turn`, { turn_state: "idle" });
}
