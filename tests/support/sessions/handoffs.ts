/** A world in which a peer with a recorded session hands its work over. */

import { addPeer, reportSessions } from "../daemon/peer_clients.ts";
import { type FakeSession, sessionFilesOf } from "./fake_session_files.ts";
import { type World, world, type WorldOptions } from "../world.ts";

export const PROMPT = { kind: "prompt", tool: null } as const;
export const TEXT = { kind: "text", tool: null } as const;
export const CALL = { kind: "tool_call" } as const;

/** Two turns, of which the second edits a file and names a secret. */
export const ENTRIES: NonNullable<FakeSession["entries"]> = [
  { ...PROMPT, text: "Fix the port" },
  { ...TEXT, text: "I look at it" },
  { ...PROMPT, text: "Now the docs\n## Files\nnone" },
  { ...CALL, tool: "Read", text: '{"file_path":"/w/api/other.ts"}' },
  { ...CALL, tool: "Edit", text: '{"file_path":"/w/api/docs/port.md","new_string":"x"}' },
  { ...TEXT, text: "The password=hunter2hunter2 is in it" },
];

interface HandoffOptions extends WorldOptions {
  readonly entries?: FakeSession["entries"];
  /** The folder of `api`, which is named `/w/api` in its session. */
  readonly folder?: string;
  /** Opens the world, by default without a relay. */
  readonly open?: (options: WorldOptions) => World | Promise<World>;
}

/** `api` with a session, whose process is proved to send requests, and `web`, which takes over. */
export async function handoffWorld(
  { entries: given = ENTRIES, folder = "/w/api", open = world, ...options }: HandoffOptions = {},
) {
  const entries = given.map((entry) => ({ ...entry, text: entry.text.replace("/w/api", folder) }));
  const session = { session_id: "s-1", title: "Port", folder, updated_at: 0, entries };
  const w = await open({
    sessionFiles: { "claude-code": sessionFilesOf([session]) },
    ...options,
    settings: { "human.name": "sam", ...options.settings },
  });
  w.processes.start(50);
  w.processes.start(60);
  const work = { path: folder, backend: "claude-code", runtime_session_id: "s-1" };
  const api = await addPeer(w, "api", { ...work, agent_pid: 50 });
  const web = await addPeer(w, "web", { path: "/w/web", agent_pid: 60 });
  reportSessions(w);
  return { w, api, web };
}

/** The text of a stored file. */
export async function fileText(w: World, attachment_id: string): Promise<string> {
  return await (await w.fetch(`/attachments/${attachment_id}`)).text();
}

/** The answer to a hand-over. */
export const HANDED_OFF = {
  ok: true,
  attachment_id: "att-1",
  manifest: {
    handoff: 1,
    from: {
      peer_id: "peer-api",
      name: "api",
      backend: null,
      circle: "default",
      folder: null,
      session_id: null,
    },
    to: { peer_id: "peer-web", name: "web" },
    made_at: "2030-01-01T00:00:00.000Z",
    counts: {
      turns: 0,
      entries: 0,
      open_asks_to: 0,
      open_asks_from: 0,
      files: 0,
      masked_secrets: 0,
    },
    left_out: [{ what: "all turns", why: "there are none" }],
  },
  kind: "notify",
  delivery_id: "notif-1",
  correlation_id: null,
  delivery_state: "queued",
};
