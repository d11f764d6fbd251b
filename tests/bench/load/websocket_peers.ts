/** Peers that are connected over `/ws`, and the next frame of each. */

import type { Job } from "./job.ts";

/** The number of concurrent handshakes. */
const LANES = 32;

/** The start of a ping's frame. Other frames are not parsed, so that the generator is fast. */
const PING = '{"type":"ping"';

const connected = new Map<string, Promise<Connections>>();

type Target =
  & Pick<Job, "port" | "peers" | "bare">
  & Partial<Pick<Job, "backend" | "acknowledges" | "peers_port">>;

/** When a frame arrived, and its text. */
interface Arrival {
  readonly at: number;
  readonly frame: string;
}

interface LoadConnection {
  readonly name: string;
  id: string;
  readonly socket: WebSocket;
  onArrival: ((arrival: Arrival) => void) | undefined;
}

export class Connections implements Disposable {
  readonly #members: readonly LoadConnection[];
  /** True for sockets of a yardstick, which knows no peers. */
  readonly bare: boolean;

  private constructor(members: readonly LoadConnection[], bare: boolean) {
    this.#members = members;
    this.bare = bare;
  }

  /** The peers of this server, which connect with the first job and stay. */
  static of(target: Target): Promise<Connections> {
    const { peers, peers_port: port = target.port } = target;
    const key = `${port}/${peers}`;
    const known = connected.get(key) ?? Connections.join({ ...target, port });
    connected.set(key, known);
    return known;
  }

  static async join(target: Target): Promise<Connections> {
    const { peers, bare } = target;
    const members: LoadConnection[] = [];
    for (let from = 0; from < peers; from += bare ? 1 : LANES) {
      const size = Math.min(bare ? 1 : LANES, peers - from);
      const lane = Array.from({ length: size }, (_, at) => join(target, from + at));
      members.push(...await Promise.all(lane));
    }
    return new Connections(members, bare);
  }

  name(peer: number): string {
    return this.#at(peer).name;
  }

  id(peer: number): string {
    return this.#at(peer).id;
  }

  /** When the next frame arrives at this peer. */
  async next(peer: number): Promise<number> {
    return (await this.nextFrame(peer)).at;
  }

  nextFrame(peer: number): Promise<Arrival> {
    const member = this.#at(peer);
    return new Promise((resolve) => member.onArrival = resolve);
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#members) socket.close();
  }

  #at(peer: number): LoadConnection {
    const member = this.#members[peer];
    if (!member) throw new RangeError(`No peer ${peer}`);
    return member;
  }
}

function join(
  { port, bare, backend = "sdk", acknowledges }: Target,
  index: number,
): Promise<LoadConnection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  const name = `bench-${index}`;
  const member: LoadConnection = { name, id: "", socket, onArrival: undefined };
  return new Promise((resolve, reject) => {
    socket.onerror = () => reject(new Error("A peer could not connect"));
    socket.onopen = () => {
      if (bare) return resolve(member);
      socket.send(JSON.stringify({
        type: "connect",
        display_name: name,
        backend,
        circle: "bench",
        path: `/work/${name}`,
      }));
    };
    socket.onmessage = ({ data }) => {
      const at = performance.now();
      // A peer that answers no ping is disconnected after a minute.
      if (String(data).startsWith(PING)) {
        socket.send(JSON.stringify({ ...JSON.parse(data), type: "pong" }));
        return;
      }
      if (member.id || bare) {
        member.onArrival?.({ at, frame: String(data) });
        if (acknowledges) acknowledge(socket, data);
        member.onArrival = undefined;
        return;
      }
      const connectedFrame = JSON.parse(data);
      // Repowire knows peers by their names.
      member.id = connectedFrame.peer_id ?? connectedFrame.display_name;
      if (member.id) resolve(member);
      else reject(new Error(`A peer was refused: ${data}`));
    };
  });
}

/** Repowire waits up to 0.75 s for this. */
function acknowledge(socket: WebSocket, frame: string): void {
  const { delivery_id } = JSON.parse(frame);
  if (delivery_id === undefined) return;
  socket.send(JSON.stringify({ type: "delivery_ack", delivery_id, status: "injected" }));
}
