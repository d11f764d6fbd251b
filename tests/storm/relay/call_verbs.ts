/** Verbs of remote clients, and of the agents that answer them. */

import assert from "node:assert/strict";
import { callTool, notifyFromBrowser, type RemoteClient, type SentMessage } from "./calls.ts";
import type { RelayStorm } from "./relay_storm.ts";

/** A message from a client to a machine of its account, or, seldom, to any id. */
function newMessage(storm: RelayStorm, more: { key?: string } = {}): SentMessage {
  const { chance } = storm;
  const client = chance.pick(storm.clients);
  const own = storm.daemons.filter(({ namespace }) => namespace === client.namespace);
  const daemon = chance.pick(chance.oneIn(6) ? storm.daemons : own);
  const [peer_id, text] = [chance.pick(daemon.peer_ids), storm.nextText()];
  const { daemon_id } = daemon;
  const message = {
    client,
    daemon_id,
    peer_id,
    text,
    ...more,
    outcome: { state: "open" },
  } as const;
  storm.sent.push(message as SentMessage);
  return message as SentMessage;
}

/** A signal that aborts, seldom, after some turns: the caller has left. */
function callerSignal({ chance }: RelayStorm): AbortSignal {
  const abort = new AbortController();
  if (!chance.oneIn(6)) return abort.signal;
  let turns = chance.below(12);
  setImmediate(function next() {
    if (turns-- > 0) setImmediate(next);
    else abort.abort();
  });
  return abort.signal;
}

export async function send(storm: RelayStorm, tool: "ask_agent" | "send_message"): Promise<void> {
  const message = newMessage(storm);
  const { client, daemon_id, peer_id, text } = message;
  const args = { daemon_id, peer_id, message: text };
  const call = async () => {
    const told = await callTool(storm.relay, client, { tool, args, signal: callerSignal(storm) });
    if ("data" in told) {
      const id = String(told.data["request_id"] ?? told.data["delivery_id"]);
      message.outcome = { state: "accepted", id };
    } else if (told.may_have_been_delivered) message.outcome = { state: "unknown" };
    else message.outcome = { state: "not_delivered", why: told.error };
  };
  storm.follow(call());
  await storm.clock.settle();
}

export async function sendWithKey(storm: RelayStorm): Promise<void> {
  await sendAgain(storm, newMessage(storm, { key: `key-${storm.sent.length}` }));
}

export async function repeatWithKey(storm: RelayStorm): Promise<void> {
  const keyed = storm.sent.filter(({ key }) => key !== undefined).slice(-4);
  if (keyed.length > 0) await sendAgain(storm, storm.chance.pick(keyed));
}

/** A repeat may be answered differently; what was accepted once stays accepted. */
async function sendAgain(storm: RelayStorm, message: SentMessage): Promise<void> {
  const isFirst = message.outcome.state === "open";
  const call = async () => {
    const outcome = await notifyFromBrowser(storm.relay, message, callerSignal(storm));
    const before = message.outcome;
    if (before.state === "accepted" && outcome.state === "accepted") {
      assert.equal(outcome.id, before.id, `${message.text} has another id by now`);
    }
    if (outcome.state === "accepted") message.outcome = outcome;
    else if (before.state === "open") {
      message.outcome = isFirst ? outcome : { state: "unknown" };
    }
  };
  if (!isFirst && message.outcome.state !== "accepted") message.outcome = { state: "unknown" };
  storm.follow(call());
  await storm.clock.settle();
}

/** Fetches the reply to a request of this client, or of another one, which it may not read. */
export async function fetchReply(storm: RelayStorm): Promise<void> {
  const { chance } = storm;
  const asked = storm.sent.filter(({ outcome, key }) =>
    key === undefined && outcome.state === "accepted" && outcome.id.startsWith("ask-")
  );
  if (asked.length === 0) return;
  const message = chance.pick(asked.slice(-6));
  const client = chance.oneIn(4) ? chance.pick(storm.clients) : message.client;
  const request_id = message.outcome.state === "accepted" ? message.outcome.id : "";
  const args = { daemon_id: message.daemon_id, request_id, wait_seconds: chance.pick([0, 5, 20]) };
  const call = async () => {
    const signal = callerSignal(storm);
    const told = await callTool(storm.relay, client, { tool: "get_reply", args, signal });
    if ("data" in told) checkReply(storm, { client, message, told: told.data });
  };
  storm.follow(call());
  await storm.clock.settle();
}

/** The reply to a request of this very client at this machine: ids are equal on other machines. */
function checkReply(
  storm: RelayStorm,
  { client, message, told }: {
    client: RemoteClient;
    message: SentMessage;
    told: Readonly<Record<string, unknown>>;
  },
): void {
  const own = storm.sent.find((sent) =>
    sent.client === client && sent.daemon_id === message.daemon_id &&
    sent.outcome.state === "accepted" && sent.outcome.id === told["request_id"]
  );
  // An accepted call whose answer was lost is the client's own, too.
  const maybe = storm.sent.some((sent) =>
    sent.client === client && sent.daemon_id === message.daemon_id &&
    sent.outcome.state === "unknown"
  );
  assert.ok(own || maybe, `${client.asker} read a reply to ${message.client.asker}`);
  if (own && typeof told["reply"] === "string") {
    assert.ok(told["reply"].includes(`reply to ${own.text}.`), String(told["reply"]));
  }
}

export async function listRequests(storm: RelayStorm): Promise<void> {
  const client = storm.chance.pick(storm.clients);
  const { daemon_id } = storm.chance.pick(storm.daemons);
  const call = async () => {
    const args = { daemon_id };
    const signal = callerSignal(storm);
    const told = await callTool(storm.relay, client, { tool: "list_requests", args, signal });
    if (!("data" in told)) return;
    for (const { message } of told.data["requests"] as { message: string }[]) {
      const sent = storm.sent.find(({ text }) => message === text);
      assert.equal(sent?.client, client, `${client.asker} was shown ${message}`);
    }
  };
  storm.follow(call());
  await storm.clock.settle();
}

export async function listMachines(storm: RelayStorm): Promise<void> {
  const client = storm.chance.pick(storm.clients);
  const signal = callerSignal(storm);
  const told = await callTool(storm.relay, client, { tool: "list_machines", args: {}, signal });
  assert.ok("data" in told);
  const own = storm.daemons.filter(({ namespace }) => namespace === client.namespace);
  for (const { daemon_id } of told.data["machines"] as { daemon_id: string }[]) {
    assert.ok(own.some((daemon) => daemon.daemon_id === daemon_id), daemon_id);
  }
}

/** An agent answers one of the open asks of its machine. */
export async function answer(storm: RelayStorm): Promise<void> {
  const daemon = storm.chance.pick(storm.daemons);
  const open = daemon.rows().filter(({ ask_state }) => ask_state === "open");
  if (open.length === 0) return;
  const { ident, text } = storm.chance.pick(open);
  const body = { correlation_id: `ask-${ident}`, message: `reply to ${text}.` };
  await daemon.w.post("/ack", body);
}
