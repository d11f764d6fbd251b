/** Replaces the example ids of the documents by ids of the mesh in which they run. */

import type { DocumentMesh } from "./document_mesh.ts";

/** `ask-3f9c04d1a2b7`, and its first digits. An ask that begins with 7d is a question with options. */
const EXAMPLE_ID = /\b(ask|inb|notif|peer|work|cal|sched|sub)-([0-9a-f]{4,12})\b/g;

/** The script with fresh records for its ids, so that no block depends on what ran before it. */
export async function withSampleIds(mesh: DocumentMesh, script: string): Promise<string> {
  const ids = new Map<string, string>();
  for (const [example, kind = "", digits = ""] of script.matchAll(EXAMPLE_ID)) {
    const whole = await sampleId(mesh, kind, digits.startsWith("7d"));
    ids.set(example, whole.slice(0, kind.length + 1 + digits.length));
  }
  return script.replaceAll(EXAMPLE_ID, (example) => ids.get(example) ?? example);
}

async function sampleId(mesh: DocumentMesh, kind: string, isQuestion: boolean): Promise<string> {
  const json = async (...args: string[]) => {
    const { code, out, err } = await mesh.cli([...args, "--json"]);
    if (code !== 0) throw new Error(`mesh ${args.join(" ")}: ${err}`);
    return JSON.parse(out);
  };
  switch (kind) {
    case "ask":
      return await askSam(mesh, isQuestion);
    case "inb": {
      const correlation_id = await askSam(mesh, isQuestion);
      const { items } = await json("inbox", "list");
      return items.find((item: Record<string, unknown>) =>
        item["correlation_id"] === correlation_id
      )
        .item_id;
    }
    case "notif":
      return (await json("notify", "web", "Hello", "--from", "tests")).delivery_id;
    case "peer":
      return (await json("peers")).peers.find(({ name }: { name: string }) => name === "api")
        .peer_id;
    case "work":
      return (await json("jobs", "create", "A sample", "--to", "web", "--due", "1h")).job_id;
    case "cal":
      return (await json("jobs", "create", "A sample", "--to", "web", "--cron", "0 9 * * 1"))
        .calendar_id;
    case "sub":
      return (await json("when", "web", "offline", "--from", "api")).subscription_id;
    default:
      return (await json("schedule", "create", "web", "A sample", "--at", "1h")).schedule_id;
  }
}

async function askSam(mesh: DocumentMesh, isQuestion: boolean): Promise<string> {
  const options = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
  const question = isQuestion ? { question: { kind: "choice", options } } : {};
  const [api] = mesh.peers;
  const result = await api?.request("ask", { to_peer: "sam", text: "Which branch?", ...question });
  if (result?.correlation_id === undefined) throw new Error(JSON.stringify(result));
  return result.correlation_id;
}
