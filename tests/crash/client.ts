/** A `/ws` client that outlives its daemon: it reconnects as the same peer, and counts its messages. */

/** A message by its id; a client with receipts applies it once. */
interface ReceivedMessage {
  times: number;
  /** The ask that an `ack` frame closes, else the text of the message. */
  readonly content: string;
}

export interface ClientOptions {
  readonly receipts: boolean;
  /** Its folder. */
  readonly path?: string | undefined;
  /** Sees each message, also one that is repeated. */
  readonly onMessage?: (frame: MessageFrame) => void;
}

/** A message as it arrives. */
export interface MessageFrame {
  readonly type: string;
  readonly delivery_id: string;
  readonly correlation_id?: string;
  readonly text?: string;
  readonly from_peer?: string;
  readonly attachments?: readonly { readonly filename: string; readonly path: string }[];
}

export class Client {
  readonly name: string;
  readonly #receipts: boolean;
  readonly #path: string;
  readonly #onMessage: (frame: MessageFrame) => void;
  #socket: WebSocket | undefined;
  #peer_id: string | undefined;
  /** Each delivery, in the order of its first arrival. */
  readonly received = new Map<string, ReceivedMessage>();

  constructor(
    name: string,
    { receipts, path = "/work", onMessage = () => undefined }: ClientOptions,
  ) {
    this.name = name;
    this.#receipts = receipts;
    this.#path = path;
    this.#onMessage = onMessage;
  }

  get peer_id(): string {
    return this.#peer_id ?? "";
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Everything that was applied, each delivery once, in order. */
  get appliedContents(): string[] {
    return [...this.received.values()].map(({ content }) => content);
  }

  /** Connects; resolves with the handshake. */
  async connect(port: number): Promise<void> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
    this.#socket = socket;
    const connected = Promise.withResolvers<void>();
    socket.onopen = () => socket.send(JSON.stringify(this.#greeting()));
    socket.onerror = () => connected.reject(new Error(`${this.name} could not connect`));
    socket.onclose = () => connected.reject(new Error(`${this.name} was refused`));
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.type === "connected") {
        this.#peer_id = frame.peer_id;
        connected.resolve();
      } else if (frame.type === "ping") {
        socket.send(JSON.stringify({ type: "pong", ping_id: frame.ping_id }));
      } else if (typeof frame.delivery_id === "string") this.#receive(socket, frame);
    };
    await connected.promise;
  }

  /** Resolves when the socket is closed. */
  async disconnect(): Promise<void> {
    const socket = this.#socket;
    if (!socket || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise((resolve) => socket.onclose = resolve);
    socket.onerror = null;
    socket.close();
    await closed;
  }

  #greeting() {
    return {
      type: "connect",
      display_name: this.name,
      backend: "sdk",
      circle: "storm",
      path: this.#path,
      capabilities: this.#receipts ? ["delivery_receipts"] : [],
      ...(this.#peer_id && { peer_id: this.#peer_id }),
    };
  }

  #receive(socket: WebSocket, frame: MessageFrame): void {
    const { type, delivery_id, correlation_id = "", text = "" } = frame;
    this.#onMessage(frame);
    const content = type === "ack" ? `end of ${correlation_id}` : text;
    this.received.getOrInsertComputed(delivery_id, () => ({ times: 0, content })).times++;
    if (!this.#receipts || socket.readyState !== WebSocket.OPEN) return;
    socket.send(JSON.stringify({ type: "delivery_ack", delivery_id, status: "accepted" }));
  }
}
