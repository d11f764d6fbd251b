/**
 * A Claude Code session beside the load: its hooks are answered before the commit of their reports
 * if they hand over nothing (decision 055), and they hand over its messages.
 */

import type { DatabaseSync } from "node:sqlite";
import type { RealDaemon } from "../../support/programs/child.ts";
import type { AnsweredRequest } from "./load.ts";
import type { Operation } from "./trace.ts";

const SESSION = { session_id: "s-1", cwd: "/work/api", transcript_path: "/t" };
/** A message comes in every second round. The prompts of the others are answered early. */
const MESSAGES_EVERY = 2;

export interface HookedWork {
  readonly peer_id: string;
  /** The number in the model that each event has reported; undefined if it reported none. */
  readonly reports: readonly (number | undefined)[];
  /** The messages to the session, as they were answered. */
  readonly messages: readonly AnsweredRequest[];
}

/** Works for so many rounds: a start, which names the model, a prompt, the end of its turn. */
export async function workWithHooks({ base }: RealDaemon, rounds: number): Promise<HookedWork> {
  const call = (path: string, body?: unknown, more?: Record<string, string>) =>
    request(`${base}${path}`, body, more);
  const reports: (number | undefined)[] = [];
  const hook = async (hook_event_name: string, fields: object, report?: number) => {
    reports.push(report);
    const model = report === undefined ? {} : { model: `model-${report}` };
    return await call("/hooks/claude-code", { ...SESSION, hook_event_name, ...fields, ...model });
  };
  await hook("SessionStart", { source: "startup" }, 0);
  const { peer_id } = peerIn(await call("/peers"));
  const messages: AnsweredRequest[] = [];
  for (let round = 1; round <= rounds; round++) {
    if (round % MESSAGES_EVERY === 0) {
      const [path, key] = [round % 4 === 0 ? "/notify" : "/ask", `hooked-${round}`];
      const body = { from_peer: "lane", to_peer: peer_id, text: key, bypass_circle: true };
      const { correlation_id, delivery_id } = await call(path, body, { "idempotency-key": key });
      messages.push({ path, body, key, id: correlation_id ?? delivery_id });
    }
    await hook("SessionStart", { source: "startup" }, round);
    const shown = idsIn(await hook("UserPromptSubmit", { prompt: `Go on ${round}` }));
    await hook("Stop", { stop_hook_active: true });
    for (const id of shown) {
      await call(`/messages/${id}`);
      // The briefing of the next start would name an open ask, and its answer would wait.
      if (id.startsWith("ask-")) await call("/ack", { correlation_id: id, message: "Done" });
    }
  }
  return { peer_id, reports, messages };
}

/** The claims are read from what the daemon has sent, so answers must not be compressed. */
async function request(url: string, body?: unknown, more: Record<string, string> = {}) {
  const headers = { "content-type": "application/json", "accept-encoding": "identity", ...more };
  const method = body === undefined ? "GET" : "POST";
  const response = await fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
  return await response.json();
}

interface PeerList {
  readonly peers: readonly { readonly backend: string; readonly peer_id: string }[];
}

function peerIn({ peers }: PeerList): { readonly peer_id: string } {
  const found = peers.filter(({ backend }) => backend === "claude-code");
  if (found.length !== 1 || !found[0]) throw new Error(`${found.length} peers of the session`);
  return found[0];
}

/** The ids of the messages in a hook's answer, which may be serialized. */
function idsIn(answer: unknown): string[] {
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  return [...text.matchAll(/<peer-message [^>]*?id=\\"((?:ask|notif)-[0-9a-f]{12})\\"/g)]
    .map(([, id = ""]) => id);
}

/** The ids of the messages that a prompt names, because nothing proves that they were read. */
function idsNamedIn(answer: unknown): string[] {
  return [...JSON.stringify(answer).matchAll(/mesh show ((?:ask|notif)-[0-9a-f]{12})/g)]
    .map(([, id = ""]) => id);
}

const digits = (id: string) => id.split("-")[1] ?? "";

/** True for a hook's answer that hands something over. Its body is sent after its head. */
export function handsOver(sent: string): boolean {
  return sent.includes('{"hookSpecificOutput"');
}

function isAnswer(sent: string): boolean {
  return handsOver(sent) || /\r\n\r\n\{\}$/.test(sent);
}

/** The syncs that end first after an early answer to a report, and after a hand-over. */
export function syncsAfterAnswers(
  operations: readonly Operation[],
  { reports }: HookedWork,
): Readonly<Record<"reports" | "handovers", readonly number[]>> {
  const found = { reports: new Set<number>(), handovers: new Set<number>() };
  let [answers, syncs] = [0, 0];
  for (const operation of operations) {
    if (operation.kind === "sync ends") syncs++;
    else if (operation.kind === "sent" && isAnswer(operation.text)) {
      const isReport = reports[answers++] !== undefined;
      if (handsOver(operation.text)) found.handovers.add(syncs);
      else if (isReport) found.reports.add(syncs);
    }
  }
  return { reports: [...found.reports], handovers: [...found.handovers] };
}

/** The messages and answers that the session got so far, beside an image of the disk. */
export class HookClaims {
  readonly #work: HookedWork;
  readonly #shown = new Set<string>();
  readonly #seen = new Set<string>();
  #answers = 0;
  /** Images that lack a report whose hook was answered. */
  lost_reports = 0;

  constructor(work: HookedWork) {
    this.#work = work;
  }

  /** Reads what was sent through a socket. */
  read(text: string): void {
    if (isAnswer(text)) this.#answers++;
    for (const id of idsIn(text)) this.#shown.add(digits(id));
    const seen = /"delivery_id":"[a-z]+-([0-9a-f]{12})","kind":.*"state":"seen"/.exec(text)?.[1];
    if (seen !== undefined) this.#seen.add(seen);
  }

  /** Sentences on what an image lacks, or has and should not have. */
  missingIn(db: DatabaseSync): string[] {
    const { peer_id, reports } = this.#work;
    const ids = (where: string) =>
      new Set(
        db.prepare(`select ident from messages where to_peer_id = ? and ${where}`).all(peer_id)
          .map(({ ident }) => String(ident)),
      );
    const handedOver = ids("state in ('sent', 'seen')"), seen = ids("seen_at is not null");
    const peers = db.prepare("select model from peers where backend = 'claude-code'").all();
    const [, stored = "-1"] = String(peers[0]?.["model"]).split("-");
    const reported = reports.slice(0, this.#answers).findLast((report) => report !== undefined);
    if (reported !== undefined && Number(stored) < reported) this.lost_reports++;
    return [
      ...[...this.#shown.difference(handedOver)].map((id) => `${id} was shown, and still waits`),
      ...[...this.#seen.difference(seen)].map((id) => `${id} was reported as seen, and is not`),
      ...[...seen.difference(this.#shown)].map((id) => `${id} is seen, but was never shown`),
      ...peers.length > 1 ? [`the session has ${peers.length} peers`] : [],
    ];
  }

  /** The session goes on at a daemon that was started on an image. */
  async goOn({ base }: RealDaemon, isAcknowledged: (id: string) => boolean): Promise<string[]> {
    const hook = async (hook_event_name: string, fields: object): Promise<unknown> =>
      await request(`${base}/hooks/claude-code`, { ...SESSION, hook_event_name, ...fields });
    const { peer_id, messages } = this.#work;
    const sent = messages.map(({ id }) => id).filter(isAcknowledged);
    const shown: string[] = [], named: string[] = [];
    // An answer holds some of the messages, and the last one holds none.
    for (let isMore = sent.length > 0; isMore;) {
      const answer = await hook("UserPromptSubmit", { prompt: "Go on" });
      const [messages, names] = [idsIn(answer), idsNamedIn(answer)];
      shown.push(...messages);
      named.push(...names);
      isMore = messages.length + names.length > 0;
      await hook("Stop", { stop_hook_active: true });
    }
    if (sent.length === 0) return [];
    const after = peerIn(await request(`${base}/peers`));
    return [
      ...after.peer_id === peer_id ? [] : ["the session is another peer"],
      ...sent.flatMap((id) => {
        const times = shown.filter((other) => other === id).length;
        if (this.#shown.has(digits(id))) return times > 0 ? [`${id} was shown again`] : [];
        return times === 1 || (times === 0 && named.includes(id))
          ? []
          : [`${id} was shown ${times} times`];
      }),
    ];
  }
}
