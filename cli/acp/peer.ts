/** The agent as a peer: its messages become prompts, and its turns are reported to the daemon. */

import type { Call } from "kit/http/client.ts";
import { messageOf } from "kit/core/text.ts";
import { reportChat } from "protocol/generated/endpoints.ts";
import { INTERRUPTED, type TurnState } from "protocol/agents/contract.ts";
import type { TypedFrame } from "../client/daemon_connection.ts";
import type { AcpAgent } from "./agent.ts";
import { Inbound, type Message } from "./inbound.ts";
import { RpcError } from "./json_rpc.ts";
import type { Turn } from "./turn.ts";

interface PeerDeps {
  readonly agent: Pick<AcpAgent, "cancel" | "prompt">;
  readonly call: Call;
  send(frame: object): void;
  /** Makes the daemon send every message again that has no receipt. */
  reoffer(): void;
  /** Reports an event to the person at the terminal. */
  report(text: string): void;
  /** The agent's final message of a turn. */
  said(text: string): void;
}

/** The reports of turns that ended early, by the protocol's stop reason. */
const WHY_ENDED: Readonly<Record<string, string>> = {
  cancelled: "The turn was cancelled",
  refusal: "The agent refused to go on",
  max_tokens: "The turn ended at the model's limit of tokens",
  max_turn_requests: "The turn ended at the agent's limit of requests",
};

export class AcpPeer {
  readonly #deps: PeerDeps;
  readonly #inbound: Inbound;
  #peer_id: string | undefined;
  #isWorking = false;
  #isAwaitingInput = false;

  constructor(deps: PeerDeps) {
    this.#deps = deps;
    const { send, reoffer } = deps;
    this.#inbound = new Inbound({ send, reoffer, arrived: () => void this.#work() });
  }

  /** The daemon has accepted the connection, perhaps not for the first time. */
  connected(peer_id: string): void {
    this.#peer_id = peer_id;
    this.#reportState();
  }

  received(frame: TypedFrame): void {
    if (frame.type === "interrupt") this.#deps.agent.cancel();
    else this.#inbound.received(frame);
  }

  /** Records if a permission request waits for the human. */
  awaitsInput(isAwaiting: boolean): void {
    this.#isAwaitingInput = isAwaiting;
    this.#reportState();
  }

  /** Runs one prompt after the other until no message waits. */
  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#reportState();
    for (let next = this.#inbound.next(); next; next = this.#inbound.next()) {
      if (!await this.#prompt(next)) return; // The agent has ended; this is reported elsewhere.
    }
    this.#isWorking = false;
    this.#reportState();
  }

  /** Runs the prompt of a message. False if the agent has ended. */
  async #prompt(message: Message): Promise<boolean> {
    const { report } = this.#deps;
    let chat: Promise<void> = Promise.resolve();
    report(`${message.type} from ${message.from_peer}`);
    try {
      const { turn, stopReason } = await this.#deps.agent.prompt(message.framed, {
        seen: () => {
          this.#inbound.seen(message);
          chat = this.#reportChat("user", message.framed);
        },
        tool: (title) => report(`  ${title}`),
      });
      await chat;
      await this.#ended(turn, stopReason);
      return true;
    } catch (error) {
      if (!(error instanceof RpcError)) return false;
      report(`The agent answered the prompt with an error: ${error.message}`);
      this.#reportFailure("agent_error");
      this.#inbound.failed(message, `The agent answered with an error: ${error.message}`);
      return true;
    }
  }

  async #ended(turn: Turn, stopReason: string): Promise<void> {
    const { text, toolCalls } = turn;
    if (text !== "") {
      this.#deps.said(text);
      await this.#reportChat("assistant", text, [...toolCalls]);
    }
    const why = WHY_ENDED[stopReason];
    if (why === undefined) return;
    this.#deps.report(why);
    this.#reportFailure(stopReason === "cancelled" ? INTERRUPTED : stopReason);
  }

  /** The turn has ended with an error of this class. */
  #reportFailure(error: string): void {
    this.#deps.send({ type: "status", status: "busy", error });
  }

  /** Ignores failures: a report only informs the people who look at the peer. */
  async #reportChat(role: "user" | "assistant", text: string, tool_calls: object[] = []) {
    if (this.#peer_id === undefined) return;
    const body = { role, text, peer_id: this.#peer_id, tool_calls };
    try {
      await this.#deps.call(reportChat, { body });
    } catch (error) {
      this.#deps.report(`The turn is not reported: ${messageOf(error)}`);
    }
  }

  #reportState(): void {
    const turn_state: TurnState = this.#isAwaitingInput
      ? "awaiting_input"
      : this.#isWorking
      ? "working"
      : "idle";
    const status = this.#isWorking ? "busy" : "online";
    this.#deps.send({ type: "status", status, turn_state });
  }
}
