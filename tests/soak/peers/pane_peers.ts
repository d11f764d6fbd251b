/** Programs in panes of a tmux server of their own; the daemon starts, restarts and ends them. */

import type { Chance } from "../../support/seeded_random.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { pause } from "../../support/programs/process_facts.ts";
import type { SoakDaemon } from "../soak_daemon.ts";

const POLL_MS = 150;
/** A program registers at once; a restart first ends the one before it. */
const REGISTERED_MS_MAX = 20_000;

/**
 * An agent that registers itself, as only its own process can prove that it is the agent, and then
 * shows what it is sent. It needs no other program than bash.
 */
const AGENT = String.raw`
socket=$(printf '%s' "$TMUX" | cut -d, -f1)
while :; do
  port=$(sed -n 's|.*127.0.0.1:\([0-9]*\).*|\1|p' "$1/daemon.json" 2>/dev/null)
  if [ -n "$port" ] && { exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null; then
    place="\"pane_id\":\"$TMUX_PANE\",\"tmux_socket\":\"$socket\",\"agent_pid\":$$"
    body="{\"backend\":\"generic\",\"path\":\"$PWD\",$place}"
    length=$(printf '%s' "$body" | wc -c)
    head="POST /peers HTTP/1.1\r\nhost: 127.0.0.1:$port\r\nconnection: close\r\n"
    printf "$head"'content-length: %d\r\n\r\n%s' "$length" "$body" >&3
    answer=$(cat <&3)
    exec 3>&-
    case $answer in *'"peer_id"'*) exec cat ;; esac
  fi
  sleep 0.2
done
`;

export interface PanePeer {
  readonly peer_id: string;
  readonly pane_id: string;
  readonly pid: number;
}

export class PanePeers {
  readonly #daemon: SoakDaemon;
  readonly #dir: string;
  readonly #chance: Chance;
  readonly #wanted: number;
  #count = 0;
  #is_filling = false;
  /** Programs that will come back by themselves. */
  #restarting = 0;
  #peers: readonly PanePeer[] = [];
  /** Every peer that was registered from a pane and not closed. */
  readonly #known = new Set<string>();
  /** Ends and restarts of programs so far. */
  readonly counts = { spawned: 0, killed: 0, died: 0, restarted: 0 };

  constructor(daemon: SoakDaemon, dir: string, chance: Chance, wanted: number) {
    this.#daemon = daemon;
    this.#dir = dir;
    this.#chance = chance;
    this.#wanted = wanted;
  }

  /** Settings with which the daemon starts the programs; it finds the tmux server by its folder. */
  static settings(dir: string): Record<string, string> {
    Deno.writeTextFileSync(`${dir}/agent.sh`, AGENT);
    const command = ["bash", `${dir}/agent.sh`, dir];
    return {
      TMUX: "",
      TMUX_TMPDIR: dir,
      MESH_SPAWN__COMMANDS: JSON.stringify({ generic: command }),
      MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([dir]),
    };
  }

  get livePeers(): readonly PanePeer[] {
    return this.#peers.filter(({ pid }) => isAlive(pid));
  }

  /** Number of the server's panes. */
  get panes(): number {
    return this.#tmux("list-panes", "-a", "-F", "#{pane_id}").split("\n").filter(Boolean).length;
  }

  /** Starts programs until there are as many as wanted. */
  async fill(): Promise<void> {
    if (this.#is_filling) return;
    this.#is_filling = true;
    const missing = () => this.livePeers.length + this.#restarting < this.#wanted;
    while (this.#daemon.isRunning && missing() && await this.#spawn());
    this.#is_filling = false;
  }

  /** Ends, kills or restarts one program; `fill` replaces it. */
  async disturb(): Promise<void> {
    if (this.livePeers.length === 0) return;
    const peer = this.#chance.pick(this.livePeers);
    const way = this.#chance.pick(["kill", "die", "restart"]);
    if (way === "kill") {
      const answer = await this.#daemon.post(`/peers/${peer.peer_id}/kill`);
      if (answer?.status === 200) this.counts.killed++;
    } else if (way === "die") {
      Deno.kill(peer.pid, "SIGKILL");
      this.counts.died++;
    } else await this.#restart(peer);
  }

  /** Closes the peers whose programs have ended, as their messages would wait for a day. */
  async closeDead(): Promise<void> {
    const living = new Set(this.livePeers.map(({ peer_id }) => peer_id));
    for (const peer_id of this.#known) {
      if (living.has(peer_id)) continue;
      const answer = await this.#daemon.call("DELETE", `/peers/${peer_id}`);
      if (answer) this.#known.delete(peer_id);
    }
  }

  endServer(): void {
    this.#tmux("kill-server");
  }

  async #spawn(): Promise<boolean> {
    const name = `pane-${++this.#count}`;
    const identity = { backend: "generic", path: this.#dir, circle: "soak" };
    const answer = await this.#daemon.post("/spawn", { ...identity, name });
    const pane_id = answer?.body["pane_id"];
    if (typeof pane_id !== "string") return false;
    if (!await this.#registered(pane_id, 0)) return false;
    this.counts.spawned++;
    return true;
  }

  async #restart({ peer_id, pane_id, pid }: PanePeer): Promise<void> {
    const body = { fresh: true, wait: false };
    this.#restarting++;
    const answer = await this.#daemon.post(`/peers/${peer_id}/restart`, body);
    if (answer?.status === 200 && await this.#registered(pane_id, pid)) this.counts.restarted++;
    this.#restarting--;
  }

  /** Waits until another process than `before` has registered from the pane. */
  async #registered(pane_id: string, before: number): Promise<boolean> {
    const deadline = performance.now() + REGISTERED_MS_MAX;
    const path = `/panes/${pane_id.replace("%", "%25")}/peer?tmux_socket=${this.#socket}`;
    while (performance.now() < deadline) {
      const { peer_id, agent_pid } = (await this.#daemon.call("GET", path))?.body ?? {};
      if (typeof peer_id === "string" && typeof agent_pid === "number" && agent_pid !== before) {
        this.#known.add(peer_id);
        const others = this.livePeers.filter((peer) => peer.pane_id !== pane_id);
        this.#peers = [...others, { peer_id, pane_id, pid: agent_pid }];
        return true;
      }
      await pause(POLL_MS);
    }
    return false;
  }

  get #socket(): string {
    return `${this.#dir}/tmux-${Deno.uid()}/default`;
  }

  /** Empty where there is no such pane or server. */
  #tmux(...args: string[]): string {
    const { stdout } = new Deno.Command("tmux", {
      args: ["-u", "-S", this.#socket, ...args],
      env: { TMUX: "" },
      stderr: "null",
    }).outputSync();
    return new TextDecoder().decode(stdout).trimEnd();
  }
}
