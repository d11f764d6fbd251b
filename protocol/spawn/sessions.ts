/** The routes that start an agent with an earlier session, or with a copy of a session, as data. */

import * as z from "zod";
import { byId, contract } from "protocol/contract.ts";
import { Instant, Name, Sender, shortText, Text } from "kit/core/schema.ts";
import { Backend, TurnState } from "protocol/agents/contract.ts";
import { PaneId, PEER_FAILS, TmuxSocket } from "protocol/peers/record.ts";
import { Spawned, START_FAILS } from "protocol/spawn/contract.ts";

export const forkSession = contract({
  id: "spawn.fork_session",
  method: "POST",
  path: "/peers/:id/fork",
  summary: "Start a copy of a peer: the same agent, with a copy of its conversation until now",
  access: "caller",
  tunnel: "admin",
  idempotent: true,
  params: byId,
  body: z.object({
    name: Name.optional(),
    profile: Name.optional().describe("A profile; by default the one the peer was spawned with"),
    circle: Name.optional().describe("Look up the peer's name in this circle"),
    message: Text.optional().describe("A message for the copy once it has registered"),
    from_peer: Sender.optional(),
  }),
  verb: "spawn",
  actor: { field: "body.from_peer" },
  returns: Spawned.extend({
    source_peer_id: z.string(),
    /** The agent's own id of the session that was copied. */
    session_id: z.string(),
    /**
     * State of the source's turn when the copy was made. A copy of a running turn has only the part
     * that was in the agent's files.
     */
    source_turn_state: TurnState.nullable(),
  }),
  fails: [
    ...PEER_FAILS,
    "peer_retired",
    "cannot_fork",
    "human_not_proven",
    "not_your_transcript",
    "transcripts_off",
    ...START_FAILS,
    "reserved_name",
    "spawn_failed",
  ],
});
export type ForkRequest = z.output<typeof forkSession.body>;
export type ForkResult = z.output<typeof forkSession.returns>;

/** Maximum number of sessions in one answer. */
export const SESSIONS_MAX = 50;

export const EndedSession = z.object({
  backend: Backend,
  /** The agent's own id. */
  session_id: z.string(),
  /**
   * The title that the agent or its user gave it, or how its first prompt begins; with secrets
   * masked. Null if it has none, or if titles are hidden from the caller.
   */
  title: z.string().nullable(),
  folder: z.string().nullable(),
  updated_at: Instant,
  /** The peer that had this session last, if it is registered; it becomes that peer again. */
  peer: z.object({ peer_id: z.string(), name: z.string(), live: z.boolean() }).nullable(),
});
export type EndedSession = z.output<typeof EndedSession>;

export const listSessions = contract({
  id: "spawn.sessions",
  method: "GET",
  path: "/spawn/sessions",
  compressed: true,
  summary: "The sessions in the agents' own files, also those that began outside of the mesh",
  access: "caller",
  tunnel: "admin",
  query: z.object({
    query: shortText(200).optional().describe(
      "How an id begins; else a part of a title that the caller may see, or of a folder, in any " +
        "case. With transcripts: off, a complete id",
    ),
    backend: Backend.optional(),
    path: shortText(4096, 1).optional().describe("Only sessions of this folder"),
  }),
  returns: z.object({
    sessions: z.array(EndedSession).describe("Last changed first"),
    /** False if older sessions may be missing, because only the latest files are looked into. */
    complete: z.boolean(),
    /**
     * True if titles are neither shown nor searched. They are for a proved person, for agents of
     * this machine with transcripts: peers, and for nobody with transcripts: off.
     */
    titles_hidden: z.boolean(),
  }),
  fails: ["transcripts_off", "spawn_disabled", "path_not_allowed"],
});
export type SessionListQuery = z.output<typeof listSessions.query>;
export type EndedSessions = z.output<typeof listSessions.returns>;

export const resumeSession = contract({
  id: "spawn.resume",
  method: "POST",
  path: "/spawn/resume",
  summary: "Start an agent in a pane with an earlier session, in the folder of that session",
  access: "caller",
  tunnel: "admin",
  idempotent: true,
  query: z.object({ tmux_socket: TmuxSocket.optional() }),
  body: z.object({
    backend: Backend,
    session_id: shortText(255, 1).describe("The agent's own id of the session, complete"),
    profile: Name.optional(),
    circle: Name.optional(),
    name: Name.optional(),
    message: Text.optional(),
    from_peer: Sender.optional(),
    source_pane: PaneId.optional(),
  }),
  verb: "spawn",
  actor: { field: "body.from_peer" },
  returns: Spawned.extend({
    session_id: z.string(),
    /** The peer that had this session before, and is this agent again; null if none had it. */
    resumed_peer_id: z.string().nullable(),
  }),
  fails: [
    "unknown_session",
    "session_running",
    "cannot_resume",
    "human_not_proven",
    "not_your_transcript",
    "transcripts_off",
    "ambiguous_peer",
    ...START_FAILS,
    "reserved_name",
    "spawn_failed",
  ],
});
export type ResumeRequest = z.output<typeof resumeSession.body>;
export type ResumeResult = z.output<typeof resumeSession.returns>;
