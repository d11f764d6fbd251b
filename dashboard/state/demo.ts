/** The demo for an empty mesh: this page plays two agents over `/ws` until it is left. */

import { tryJson } from "kit/core/text.ts";
import { signal } from "@preact/signals";
import { client } from "kit/http/client.ts";
import { errorText, PREFIX } from "./calls.ts";
import { keepText, readKept } from "./browser/storage.ts";
import {
  DEMO_CIRCLE,
  type DemoMessage,
  type DemoScript,
  SCRIPTS,
} from "protocol/derived/demo_script.ts";
import * as at from "protocol/generated/endpoints.ts";
import { notify, openAsks, peers } from "./store.ts";

/** Names the human in every peer argument (contract 2). */
const HUMAN_ALIAS = "dashboard";

/** False behind a relay, whose tunnel carries no sockets. */
export const canPlayDemo = PREFIX === "";
export const demoRunning = signal(false);

/** Calls that are sent even while the page is being left. */
const lastCall = client(location.origin, (request) => fetch(request, { keepalive: true }));

let agents: DemoAgent[] = [];

/** The key under which the browser keeps the ids of the demo's agents, for their removal. */
const KEPT = "mesh-demo";

/** Connects both agents. `web` comes second, because its first message goes to `api`. */
export async function startDemo(): Promise<void> {
  const api = new DemoAgent(SCRIPTS.api, () => HUMAN_ALIAS);
  const web = new DemoAgent(SCRIPTS.web, () => api.peer_id);
  agents = [api, web];
  demoRunning.value = true;
  addEventListener("pagehide", endDemo);
  try {
    await api.connect("api");
    keep(agents);
    await web.connect("web");
    keep(agents);
  } catch (error) {
    endDemo();
    throw error;
  }
}

/** Disconnects both agents and removes them from the mesh, even while the page is being left. */
export function endDemo(): void {
  removeEventListener("pagehide", endDemo);
  for (const agent of agents.splice(0)) agent.end();
  demoRunning.value = false;
}

/**
 * Removes the agents of a demo whose page was left: a browser may drop the last calls of a page.
 * They are then offline, unlike the agents of another page that plays a demo.
 */
export function removeLeftOver(): void {
  const ids = kept(), listed = peers.value.value, asks = openAsks.value.value;
  if (ids.length === 0 || demoRunning.value || !listed || !asks) return;
  const left = listed.filter(({ peer_id, status }) =>
    ids.includes(peer_id) && status === "offline"
  );
  // Another page may have removed it.
  for (const { peer_id } of left) remove(peer_id, () => undefined);
  if (!listed.some(({ peer_id }) => ids.includes(peer_id))) keep([]);
}

function kept(): string[] {
  const ids = tryJson(readKept(KEPT) ?? "[]");
  return Array.isArray(ids) ? ids.map(String) : [];
}

function keep(all: readonly DemoAgent[]): void {
  keepText(KEPT, JSON.stringify(all.map(({ peer_id }) => peer_id)));
}

/** Declines the open asks to an agent, and removes it from the mesh. */
function remove(peer_id: string, report: (error: unknown) => void): void {
  for (const { correlation_id, from_peer_id, to_peer_id } of openAsks.value.peek() ?? []) {
    if (from_peer_id !== peer_id) continue;
    const body = { correlation_id, reason: "The demo has ended", from_peer: to_peer_id };
    lastCall(at.declineAsk, { body }).catch(report);
  }
  lastCall(at.closePeer, { params: { id: peer_id }, query: {} }).catch(report);
}

/** The fields that the demo reads of the frames of `/ws` (contract 4). */
interface Frame {
  readonly type: string;
  readonly peer_id?: string;
  readonly delivery_id?: string;
  readonly correlation_id?: string;
  readonly ping_id?: string;
  readonly detail?: string;
}

class DemoAgent {
  readonly #script: DemoScript;
  readonly #recipient: () => string;
  readonly #socket = new WebSocket(new URL("/ws", location.origin.replace(/^http/, "ws")));
  readonly #connected = Promise.withResolvers<void>();
  #requests = 0;
  /** Empty until the agent is connected. */
  peer_id = "";

  constructor(script: DemoScript, recipient: () => string) {
    this.#script = script;
    this.#recipient = recipient;
  }

  /** Resolves when the agent is registered. */
  async connect(display_name: string): Promise<void> {
    const socket = this.#socket;
    const capabilities = ["delivery_receipts"];
    const connect = { type: "connect", display_name, circle: DEMO_CIRCLE, backend: "sdk" };
    const greet = () => this.#send({ ...connect, capabilities });
    if (socket.readyState === WebSocket.OPEN) greet();
    else socket.onopen = greet;
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(String(data)));
    socket.onclose = ({ reason }) => {
      this.#connected.reject(new Error(reason || "The daemon closed the connection of the demo."));
      endDemo();
    };
    await this.#connected.promise;
  }

  /** Disconnects the agent, and removes it from the mesh. */
  end(): void {
    this.#socket.onclose = null;
    this.#socket.close();
    if (this.peer_id) remove(this.peer_id, (error) => notify(errorText(error)));
  }

  #receive(frame: Frame): void {
    const { firstMessage, replyText, onReply, onNotify } = this.#script;
    const { type, delivery_id, correlation_id } = frame;
    if (delivery_id) this.#send({ type: "delivery_ack", delivery_id, status: "seen" });
    if (type === "connected" && frame.peer_id) {
      this.peer_id = frame.peer_id;
      this.#connected.resolve();
      return this.#sendMessage(firstMessage);
    }
    if (type === "ask" && replyText) {
      return this.#request("ack", { correlation_id, message: replyText });
    }
    if (type === "ack") return this.#sendMessage(onReply);
    if (type === "notify") return this.#sendMessage(onNotify);
    if (type === "ping") return this.#send({ type: "pong", ping_id: frame.ping_id });
    if (frame.detail) notify(frame.detail);
  }

  #sendMessage(message: DemoMessage | undefined): void {
    if (message) this.#request(message.type, { to_peer: this.#recipient(), text: message.text });
  }

  #request(type: string, fields: Record<string, unknown>): void {
    this.#send({ type, request_id: String(++this.#requests), ...fields });
  }

  #send(frame: Record<string, unknown>): void {
    this.#socket.send(JSON.stringify(frame));
  }
}
