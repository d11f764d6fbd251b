/** Resumptions: finds sessions in the agents' own files, and starts an agent with one of them. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { cleanText } from "kit/core/text.ts";
import type { Backend } from "protocol/agents/contract.ts";
import { AGENTS } from "../agents/registry.ts";
import { maskSecrets } from "../agents/sessions/secrets.ts";
import {
  type FoundSession,
  LISTED_FILES_MAX,
  type SessionList,
} from "../agents/sessions/session_files.ts";
import { isLive, isOnMachine } from "../peers/directory.ts";
import * as peerRows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { LaunchedAgent, SpawnDeps } from "./deps.ts";
import { mustBeAllowed } from "./folders.ts";
import { openWithSession } from "./restarts/store.ts";
import type { SpawnRequest } from "protocol/spawn/contract.ts";
import type { Spawns } from "./spawns.ts";
import * as spawnRows from "./store.ts";
import {
  type EndedSession,
  type EndedSessions,
  type ResumeRequest,
  type SessionListQuery,
  SESSIONS_MAX,
} from "protocol/spawn/sessions.ts";

/** Shorter beginnings of ids would match by chance, such as a title that begins with "a". */
const ID_PREFIX_MIN = 4;

/** The caller that asks for sessions. */
interface Viewer {
  readonly isHuman: boolean;
  /** True if the request comes through a relay or from another machine. */
  readonly isElsewhere: boolean;
}

interface ResumeOptions {
  readonly tmux_socket: string | undefined;
  /** A word that identifies the pane after a crash (`Terminals.find`). */
  readonly mark?: string;
  /** The error if the sender of the request may not resume a session that this peer had last. */
  refusalOf(earlier: StoredPeer | undefined): Problem | undefined;
}

/** The permitted uses of session files. */
interface SessionPrivacy {
  /** The setting `transcripts`. */
  readonly readers: "human" | "peers" | "off";
  /** The secrets of the configuration. */
  readonly secrets: readonly string[];
}

export class Resumptions {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;
  readonly #spawns: Spawns;
  readonly #privacy: SessionPrivacy;
  /** The sessions that are being started. */
  readonly #starting = new Set<string>();

  constructor(ctx: Context, deps: SpawnDeps, spawns: Spawns, privacy: SessionPrivacy) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#spawns = spawns;
    this.#privacy = privacy;
  }

  /** The sessions that match, of agents that have a command and whose sessions can be resumed. */
  async list(
    { query = "", backend, path }: SessionListQuery,
    viewer: Viewer,
  ): Promise<EndedSessions> {
    await this.#spawns.launcher.mustBeEnabled();
    const backends = AGENTS.map(({ id }) => id).filter((id) =>
      (backend === undefined || id === backend) && this.#deps.settings.commands[id] !== undefined &&
      this.#deps.transports.adapterOf(id)?.resume !== undefined
    );
    const folder = path === undefined ? undefined : await mustBeAllowed(path, this.#deps.folders);
    if (this.#privacy.readers === "off") return await this.#exactly(query, backends, folder);
    const hidden = !this.#maySeeTitles(viewer);
    const found = await Promise.all(
      backends.map((id) => this.#matchingSessions(id, { query, folder, hidden })),
    );
    const byId = found.flatMap(({ byId }) => byId);
    const matches = byId.length > 0 ? byId : found.flatMap(({ byWords }) => byWords);
    matches.sort((a, b) => b.updated_at - a.updated_at);
    const complete = matches.length <= SESSIONS_MAX && found.every(({ complete }) => complete);
    return { sessions: matches.slice(0, SESSIONS_MAX), complete, titles_hidden: hidden };
  }

  #maySeeTitles({ isHuman, isElsewhere }: Viewer): boolean {
    return !isElsewhere && (isHuman || this.#privacy.readers === "peers");
  }

  /** The session with this id. A search would open other sessions. */
  async #exactly(
    session_id: string,
    backends: readonly Backend[],
    folder: string | undefined,
  ): Promise<EndedSessions> {
    const found = await Promise.all(backends.map(async (backend) => {
      const session = await this.#find(backend, session_id);
      const isWanted = session && (folder === undefined || session.folder === folder);
      return isWanted ? [this.#toEnded(backend, { ...session, title: null })] : [];
    }));
    const sessions = found.flat();
    if (sessions.length === 0) throw new Problem("transcripts_off", {});
    return { sessions, complete: true, titles_hidden: true };
  }

  /** The session with this id; only its own file is opened. */
  async #find(backend: Backend, session_id: string): Promise<FoundSession | undefined> {
    const files = await this.#deps.sessionFilesOf(backend);
    if (files?.locate(session_id) === undefined) return undefined;
    const { sessions } = await files.list({ id_prefix: session_id, limit: SESSIONS_MAX });
    return sessions.find((session) => session.session_id === session_id);
  }

  /**
   * Checks everything, starts the agent with the session, and stores the launch. Until then, the
   * same session is not started a second time.
   */
  async resume<T>(
    request: ResumeRequest,
    options: ResumeOptions,
    store: (launched: LaunchedAgent) => T,
  ): Promise<T> {
    const { session_id } = request;
    if (this.#starting.has(session_id)) throw isStarting(session_id);
    this.#starting.add(session_id);
    try {
      const launched = await this.#launch(request, options);
      return await this.#spawns.storeOrUndo(launched, () => store(launched));
    } finally {
      this.#starting.delete(session_id);
    }
  }

  /**
   * The code of the reason why the session of a peer cannot be resumed; undefined if its record and
   * the files of its agent allow it. `check` also looks at the folder and at running programs.
   */
  obstacleOf({ backend, runtime_session_id, machine, path }: StoredPeer): string | undefined {
    if (!isOnMachine({ machine }, this.#deps.machine)) return "other_host";
    const adapter = this.#deps.transports.adapterOf(backend);
    if (backend === null || !adapter?.resume) return "no_resume";
    if (!this.#deps.settings.commands[backend]) return "unsupported_backend";
    if (runtime_session_id === null) return "no_session";
    const found = adapter.resume({ runtime_session_id, path: path ?? "/" });
    // The agent may have changed its folder. The session's own folder decides.
    return found.ok || found.reason === "session_of_another_folder" ? undefined : found.reason;
  }

  /** Throws if a session cannot be resumed now. Starts nothing. */
  async check(session: Pick<ResumeRequest, "backend" | "session_id">): Promise<void> {
    await mustBeAllowed((await this.#prepare(session)).folder, this.#deps.folders);
  }

  /**
   * The launch of a session, if a pane has this mark: the daemon ended after it had opened the pane
   * and before it had stored the launch.
   */
  async findLaunched(
    { backend, session_id }: Pick<ResumeRequest, "backend" | "session_id">,
    { tmux_socket, mark, at }: { tmux_socket: string | undefined; mark: string; at: number },
  ): Promise<LaunchedAgent | undefined> {
    const earlier = this.#peerOf(backend, session_id);
    const found = await this.#spawns.findPane(mark, tmux_socket);
    if (!found || !earlier) return undefined;
    const path = earlier.path ?? found.pane.cwd;
    return {
      request: { backend, path, ...placeOf(earlier, {}) },
      folder: path,
      circle: earlier.circle,
      spawn_id: this.#ctx.ids.next("spawn"),
      from: ANONYMOUS_SENDER,
      ...found,
      resumes: { session_id, peer_id: earlier.peer_id },
      at,
    };
  }

  /** Checks everything but the folder and the program, which the launcher checks. */
  async #prepare(
    { backend, session_id }: Pick<ResumeRequest, "backend" | "session_id">,
    refusalOf: ResumeOptions["refusalOf"] = () => undefined,
  ) {
    await this.#spawns.launcher.mustBeEnabled();
    const found = await this.#find(backend, session_id);
    if (!found) throw new Problem("unknown_session", { backend, session_id });
    const earlier = this.#peerOf(backend, session_id);
    const refusal = refusalOf(earlier);
    if (refusal) throw refusal;
    this.#mustNotRun(backend, session_id, earlier);
    return { earlier, ...this.#argsOf(backend, found) };
  }

  async #launch(
    { backend, session_id, ...request }: ResumeRequest,
    { tmux_socket, mark, refusalOf }: ResumeOptions,
  ): Promise<LaunchedAgent> {
    const { earlier, folder, args } = await this.#prepare({ backend, session_id }, refusalOf);
    const launched = await this.#spawns.launcher.launch(
      { ...request, backend, path: folder, ...(earlier && placeOf(earlier, request)) },
      tmux_socket,
      { extraArgs: args, ...(mark !== undefined && { mark }) },
    );
    return { ...launched, resumes: { session_id, peer_id: earlier?.peer_id ?? null } };
  }

  /** The sessions whose id begins with the text, or whose title or folder contains the words. */
  async #matchingSessions(
    backend: Backend,
    { query, folder, hidden }: { query: string; folder: string | undefined; hidden: boolean },
  ) {
    const files = await this.#deps.sessionFilesOf(backend);
    const none: SessionList = { sessions: [], complete: true };
    const isId = query.length >= ID_PREFIX_MIN && /^[\w-]+$/.test(query);
    const byId = isId && files
      ? await files.list({ id_prefix: query, folder, limit: SESSIONS_MAX })
      : none;
    const all = await files?.list({ folder, limit: LISTED_FILES_MAX }) ?? none;
    const words = query.toLowerCase();
    const hasWords = ({ title, folder }: FoundSession) =>
      [title, folder].some((text) => text?.toLowerCase().includes(words) === true) || words === "";
    // A search must not match hidden or masked text.
    const shown = (session: FoundSession): FoundSession => ({
      ...session,
      title: hidden || session.title === null ? null : this.#masked(session.title),
    });
    const ended = (session: FoundSession) => this.#toEnded(backend, session);
    return {
      byId: byId.sessions.map(shown).map(ended),
      byWords: all.sessions.map(shown).filter(hasWords).map(ended),
      complete: byId.sessions.length > 0 ? byId.complete : all.complete,
    };
  }

  #masked(title: string): string {
    return maskSecrets(cleanText(title), this.#privacy.secrets).text;
  }

  #toEnded(backend: Backend, session: FoundSession): EndedSession {
    const { session_id, title, folder, updated_at } = session;
    const known = this.#peerOf(backend, session_id);
    const peer = known ? { peer_id: known.peer_id, name: known.name, live: isLive(known) } : null;
    return { backend, session_id, title, folder, updated_at, peer };
  }

  /** The peer on whose record the session is: a live one before the one that was seen last. */
  #peerOf(backend: Backend, session_id: string): StoredPeer | undefined {
    const known = peerRows.bySession(this.#ctx.db, session_id)
      .filter((peer) => peer.backend === backend);
    return known.find(isLive) ?? known[0];
  }

  /** Two programs that write to one session would destroy it. */
  #mustNotRun(backend: Backend, session_id: string, known: StoredPeer | undefined): void {
    if (known && (isLive(known) || this.#isProcessAlive(known))) {
      const holder = `${known.name} (${known.peer_id}) has it`;
      throw new Problem("session_running", { session_id, holder, peer_id: known.peer_id });
    }
    const restart = openWithSession(this.#ctx.db, { backend, session_id });
    if (restart) {
      const { peer_id } = restart;
      const holder = `a restart of ${peer_id}, which has it, is under way`;
      throw new Problem("session_running", { session_id, holder, peer_id });
    }
    const open = spawnRows.open(this.#ctx.db);
    if (open.some((spawn) => spawn.resumed_session === session_id && spawn.backend === backend)) {
      throw isStarting(session_id);
    }
    const pid = this.#deps.transports.adapterOf(backend)?.processOf?.(session_id);
    if (pid === undefined) return;
    const holder = `process ${pid} has it, which is no live peer`;
    throw new Problem("session_running", { session_id, holder, peer_id: null });
  }

  #isProcessAlive({ agent_pid: pid, agent_started: started }: StoredPeer): boolean {
    return pid !== null && started !== null && this.#deps.processes.isAlive(pid, started);
  }

  /** The arguments that resume a session, in its own folder. */
  #argsOf(backend: Backend, { session_id, folder }: FoundSession) {
    const refuse = (reason: string): never => {
      throw new Problem("cannot_resume", { session_id, reason });
    };
    if (folder === null) return refuse("its files do not say in which folder it works");
    const adapter = this.#deps.transports.adapterOf(backend);
    if (!adapter?.resume) return refuse(`sessions of ${backend} cannot be resumed`);
    const found = adapter.resume({ runtime_session_id: session_id, path: folder });
    return found.ok ? { folder, args: found.args } : refuse(found.reason);
  }
}

function isStarting(session_id: string): Problem {
  const holder = "an agent that was started with it has not registered yet";
  return new Problem("session_running", { session_id, holder, peer_id: null });
}

/** The name and circle of the request, by default those of the peer, and the peer's role. */
function placeOf(
  { name, circle, role }: StoredPeer,
  request: Pick<ResumeRequest, "name" | "circle">,
): Pick<SpawnRequest, "name" | "circle" | "role"> {
  const isLeader = role === "orchestrator";
  return {
    name: request.name ?? name,
    circle: request.circle ?? circle,
    ...(isLeader && { role }),
  };
}
