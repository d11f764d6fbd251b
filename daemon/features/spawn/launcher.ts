/** Starts agents in tmux panes: checks the request, builds the command, opens the pane. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import type { Launch, OpenResult } from "../../host/tmux/terminals.ts";
import { kindOf } from "../../host/terminal_addresses.ts";
import type { Pane } from "../../host/tmux/pane.ts";
import type { Sender } from "../peers/directory.ts";
import {
  circleOfPane,
  DEFAULT_CIRCLE,
  refuseReserved,
  sessionCircle,
} from "../peers/identity/naming.ts";
import { loadTransliteration } from "../peers/identity/transliteration.ts";
import { commandOf } from "./commands.ts";
import { readLeaseWords } from "protocol/holdings/lease_words.ts";
import type { Commands, SpawnRequest } from "protocol/spawn/contract.ts";
import type { LaunchedAgent, SpawnDeps } from "./deps.ts";
import { mustBeAllowed } from "./folders.ts";

/** The caller's additions to the configured command. */
interface LaunchOptions {
  readonly extraArgs?: readonly string[] | undefined;
  /** A word that identifies the pane after a crash (`Terminals.find`). */
  readonly mark?: string;
  /** True if a person asks for it. */
  readonly isHuman?: boolean;
}

/** The pane that the sender runs in. */
interface SourcePane {
  readonly socket: string;
  readonly pane: Pane;
}

export class Launcher {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;

  constructor(ctx: Context, deps: SpawnDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The missing requirement: a command, a folder or tmux; undefined if nothing is missing. */
  async missingRequirement(): Promise<string | undefined> {
    const { terminals, settings: { commands, allowed_paths } } = this.#deps;
    if (Object.keys(commands).length === 0) return "spawn.commands names no command";
    if (allowed_paths.length === 0) return "spawn.allowed_paths names no folder";
    return await terminals.isAvailable() ? undefined : "tmux is not on the daemon's PATH";
  }

  /** The commands whose program is installed. */
  async installedCommands(): Promise<Commands> {
    const { folders: { home }, settings: { commands, env }, terminals } = this.#deps;
    const found = await Promise.all(
      Object.entries(commands).map(async ([backend, argv]) => {
        const isThere = await terminals.hasProgram(terminals.socket, { cwd: home, argv, env });
        return isThere ? [[backend, argv] as const] : [];
      }),
    );
    return Object.fromEntries(found.flat());
  }

  async mustBeEnabled(): Promise<void> {
    const lacking = await this.missingRequirement();
    if (lacking) throw new Problem("spawn_disabled", { lacking });
  }

  /** Starts an agent. The whole request is checked before a pane is opened. */
  async launch(
    request: SpawnRequest,
    tmux_socket: string | undefined,
    { extraArgs = [], mark, isHuman = false }: LaunchOptions = {},
  ): Promise<LaunchedAgent> {
    const { directory, folders, leases, settings, terminals } = this.#deps;
    await this.mustBeEnabled();
    if (tmux_socket !== undefined && kindOf(tmux_socket) !== "tmux") {
      throw new Problem("spawn_failed", { reason: "agents are started in tmux, and not in kitty" });
    }
    if (request.name) refuseReserved(this.#ctx.db, request.name);
    const { args = [] } = request;
    if (args.length > 0 && !isHuman) throw new Problem("arguments_not_proven", {});
    const command = commandOf(settings, request.backend, request.profile);
    const allowed = isHuman && settings.any_path_for_human ? ["/"] : folders.allowed;
    const folder = await mustBeAllowed(request.path, { ...folders, allowed });
    const spawn_id = this.#ctx.ids.next("spawn");
    const sender = directory.sender(request.from_peer ?? ANONYMOUS_SENDER);
    const source = await this.#findSourcePane(request, sender, tmux_socket);
    const launch = {
      cwd: folder,
      argv: [...command.argv, ...args, ...extraArgs],
      env: { ...command.env, MESH_SPAWN_ID: spawn_id },
      ...(mark !== undefined && { mark }),
      ...(args.length > 0 && { added: args }),
    };
    if (!await terminals.hasProgram(tmux_socket ?? source?.socket ?? terminals.socket, launch)) {
      throw new Problem("spawn_failed", { reason: "the program of its command is not installed" });
    }
    await loadTransliteration(folder);
    const at = this.#ctx.clock.now();
    const place = { source, circle: request.circle ?? this.#senderCircle(sender, source) };
    const leased = leases.takeForSpawn(spawn_id, (request.leases ?? []).map(readLeaseWords));
    const env = { ...launch.env, ...leased };
    const { socket, opened, circle } = await this.#openPane(place, { ...launch, env }, tmux_socket);
    await this.#bindLeases(spawn_id, socket, opened);
    if (!opened.ok) throw new Problem("spawn_failed", { reason: opened.reason });
    const from = sender.peer_id ?? sender.name;
    return { request, folder, circle, spawn_id, from, socket, pane: opened.pane, at };
  }

  /** Binds the leases of a start to its process, or ends the start. */
  async #bindLeases(spawn_id: string, socket: string, opened: OpenResult): Promise<void> {
    const { leases, terminals } = this.#deps;
    try {
      leases.bind(spawn_id, opened.ok ? opened.pane.pane_pid : undefined);
    } catch (error) {
      if (opened.ok) await terminals.close(socket, opened.pane.pane_id);
      throw error;
    }
  }

  async #openPane(
    { source, circle }: { source: SourcePane | undefined; circle: string | undefined },
    launch: Launch,
    tmux_socket: string | undefined,
  ): Promise<{ socket: string; opened: OpenResult; circle: string }> {
    const { terminals, settings } = this.#deps;
    if (settings.circle_boundary === "window") {
      if (!source) throw new Problem("source_pane_required", {});
      const opened = await terminals.splitWindow(source.socket, source.pane.pane_id, launch);
      const ofWindow = circleOfPane(source.pane, "window") ?? DEFAULT_CIRCLE;
      return { socket: source.socket, opened, circle: circle ?? ofWindow };
    }
    const socket = tmux_socket ?? source?.socket ?? terminals.socket;
    const named = circle ?? DEFAULT_CIRCLE;
    // Before version 3.8, tmux replaces each dot in a session's name with an underscore.
    const session = named.replaceAll(".", "_");
    const isNamed = (name: string) => name === session || sessionCircle(name) === named;
    const opened = await terminals.openWindow(socket, session, launch, isNamed);
    return { socket, opened, circle: named };
  }

  /** The pane that the request names; otherwise the tmux pane that its sender is registered on. */
  async #findSourcePane(
    { source_pane }: SpawnRequest,
    sender: Sender,
    tmux_socket: string | undefined,
  ): Promise<SourcePane | undefined> {
    const { agentPeers, terminals } = this.#deps;
    const record = sender.peer_id === null ? undefined : agentPeers.getRecord(sender.peer_id);
    const ownPeer = kindOf(record?.tmux_socket ?? "") === "tmux" ? record : undefined;
    const pane_id = source_pane ?? ownPeer?.pane_id;
    if (!pane_id) return undefined;
    const ownSocket = pane_id === ownPeer?.pane_id ? ownPeer.tmux_socket : null;
    const socket = tmux_socket ?? ownSocket ?? terminals.socket;
    const pane = await terminals.getPane(socket, pane_id);
    return pane && { socket, pane };
  }

  #senderCircle(sender: Sender, source: SourcePane | undefined): string | undefined {
    if (this.#deps.settings.circle_boundary === "window") return undefined;
    return sender.circle ?? (source && circleOfPane(source.pane, "session"));
  }
}
