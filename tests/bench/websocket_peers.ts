/** Peers that are connected over `/ws`, and the next frame of each. */

/** Handshakes that run at once. */
const LANES = 32;

interface Member {
  readonly name: string;
  id: string;
  readonly socket: WebSocket;
  arrived: ((at: number) => void) | undefined;
}

export class Crowd implements Disposable {
  readonly #members: readonly Member[];
  /** Whether these are sockets of the yardstick, which know no peers. */
  readonly bare: boolean;

  private constructor(members: readonly Member[], bare: boolean) {
    this.#members = members;
    this.bare = bare;
  }

  static async join(port: number, peers: number, bare: boolean): Promise<Crowd> {
    const members: Member[] = [];
    for (let from = 0; from < peers; from += bare ? 1 : LANES) {
      const size = Math.min(bare ? 1 : LANES, peers - from);
      const lane = Array.from({ length: size }, (_, at) => join(port, from + at, bare));
      members.push(...await Promise.all(lane));
    }
    return new Crowd(members, bare);
  }

  name(peer: number): string {
    return this.#at(peer).name;
  }

  id(peer: number): string {
    return this.#at(peer).id;
  }

  /** When the next frame comes in at this peer. */
  next(peer: number): Promise<number> {
    const member = this.#at(peer);
    return new Promise((resolve) => member.arrived = resolve);
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#members) socket.close();
  }

  #at(peer: number): Member {
    const member = this.#members[peer];
    if (!member) throw new RangeError(`No peer ${peer}`);
    return member;
  }
}

function join(port: number, index: number, bare: boolean): Promise<Member> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  const name = `bench-${index}`;
  const member: Member = { name, id: "", socket, arrived: undefined };
  const backend = "sdk";
  return new Promise((resolve, reject) => {
    socket.onerror = () => reject(new Error("A peer could not connect"));
    socket.onopen = () => {
      if (bare) return resolve(member);
      socket.send(JSON.stringify({
        type: "connect",
        display_name: name,
        backend,
        circle: "bench",
        path: "/work",
      }));
    };
    socket.onmessage = ({ data }) => {
      const at = performance.now();
      if (member.id || bare) {
        member.arrived?.(at);
        member.arrived = undefined;
        return;
      }
      const greeted = JSON.parse(data);
      member.id = greeted.peer_id;
      resolve(member);
    };
  });
}
