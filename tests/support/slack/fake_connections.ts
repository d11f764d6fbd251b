/** The connections of a fake Socket Mode: in memory, or on a server's WebSockets. */

import type { ConnectSlackSocket } from "../../../surfaces/slack/socket_mode.ts";

/** A frame of the app. */
interface Acknowledgement {
  readonly envelope_id: string;
}

interface OpenConnection {
  send(text: string): void;
  close(): void;
  ping(): void;
  /** True while frames pass. */
  isWhole: boolean;
}

interface SentEnvelope {
  readonly envelope_id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly retry_attempt: number;
}

export class FakeConnections {
  readonly open: OpenConnection[] = [];
  readonly envelopes: SentEnvelope[] = [];
  readonly acknowledged: string[] = [];
  /** Number of answered pings of the app. */
  pongs = 0;
  /** True if new connections are accepted. */
  up = true;
  /** True if a new connection receives `hello`. */
  greets = true;
  /** Number of connections of other programs. */
  others = 0;
  readonly #tickets = new Set<string>();
  #count = 0;

  newAddress(api: string): string {
    const ticket = `t${++this.#count}`;
    this.#tickets.add(ticket);
    return new URL(`/link?ticket=${ticket}`, api.replace(/^http/, "ws")).href;
  }

  readonly connect: ConnectSlackSocket = (address, listener) => {
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      this.#remove(connection);
      listener.closed();
    };
    const connection: OpenConnection = {
      isWhole: true,
      send: (text) => listener.received(text),
      close: over,
      ping: () => listener.alive(),
    };
    const isValid = this.up && this.#takeTicket(address);
    queueMicrotask(() => isValid ? this.#accept(connection) : over());
    return {
      send: (text) => {
        if (!isOver && connection.isWhole) this.#received(text);
      },
      ping: () => {
        if (isOver || !connection.isWhole) return;
        this.pongs++;
        listener.alive();
      },
      close: () => {
        if (connection.isWhole) over();
      },
      drop: over,
    };
  };

  /** Accepts a WebSocket of a server. */
  upgrade(request: Request): Response {
    if (!this.up || !this.#takeTicket(request.url)) return new Response(null, { status: 404 });
    const { socket, response } = Deno.upgradeWebSocket(request);
    const connection: OpenConnection = {
      isWhole: true,
      send: (text) => socket.send(text),
      close: () => socket.close(),
      ping: () => {},
    };
    socket.onopen = () => this.#accept(connection);
    socket.onmessage = ({ data }) => this.#received(String(data));
    socket.onclose = () => this.#remove(connection);
    return response;
  }

  /** Sends an envelope on the newest connection; without one it is only noted. */
  send(type: string, payload: unknown): SentEnvelope {
    const envelope = {
      envelope_id: `env-${++this.#count}`,
      type,
      payload,
      retry_attempt: 0,
    };
    this.envelopes.push(envelope);
    this.#write(envelope);
    return envelope;
  }

  /** Sends an envelope once more, as Slack does when no acknowledgement came. */
  repeat({ envelope_id, retry_attempt, ...rest }: SentEnvelope): void {
    this.#write({ ...rest, envelope_id: `${envelope_id}-again`, retry_attempt: retry_attempt + 1 });
  }

  /** Tells the app to connect anew. */
  disconnect(reason: string): void {
    this.open.at(-1)?.send(JSON.stringify({ type: "disconnect", reason }));
  }

  /** Closes all connections. */
  closeAll(): void {
    for (const connection of [...this.open]) connection.close();
  }

  #write(envelope: SentEnvelope): void {
    const connection = this.open.at(-1);
    if (!connection?.isWhole) return;
    connection.send(JSON.stringify({ ...envelope, accepts_response_payload: false }));
  }

  #accept(connection: OpenConnection): void {
    this.open.push(connection);
    const num_connections = this.open.length + this.others;
    if (this.greets) connection.send(JSON.stringify({ type: "hello", num_connections }));
  }

  #received(text: string): void {
    const { envelope_id } = JSON.parse(text) as Acknowledgement;
    this.acknowledged.push(envelope_id);
  }

  #remove(connection: OpenConnection): void {
    const at = this.open.indexOf(connection);
    if (at >= 0) this.open.splice(at, 1);
  }

  #takeTicket(address: string): boolean {
    return this.#tickets.delete(new URL(address).searchParams.get("ticket") ?? "");
  }
}
