/** The session that the page about `/ws` shows: run on a daemon, and written down. */

import type { Outbound } from "../../../daemon/features/messages/websocket/frames.ts";

export type Frame = Readonly<Record<string, unknown>>;

/** The client's end of a connection. */
export interface Connection {
  send(frame: Frame): Promise<void>;
  /** The next frame of this type; frames before it are skipped. */
  next(type: Outbound["type"]): Promise<Frame>;
}

/** Some frames of the session, and what happens in them. */
export interface Step {
  readonly about: string;
  readonly frames: { readonly from: "client" | "daemon"; readonly frame: Frame }[];
}

/**
 * Runs the session and returns the frames of the client `api`. `web` is another client, whose
 * frames are not shown.
 */
export async function runSession(api: Connection, web: Connection): Promise<readonly Step[]> {
  const steps: Step[] = [];
  const begin = (about: string) => void steps.push({ about, frames: [] });
  const write = (from: "client" | "daemon", frame: Frame) => {
    steps.at(-1)?.frames.push({ from, frame });
    return frame;
  };
  const send = async (frame: Frame) => await api.send(write("client", frame));
  const receive = async (type: Outbound["type"]) => write("daemon", await api.next(type));

  begin("The client connects, and says that it will send receipts.");
  await send({
    type: "connect",
    display_name: "api",
    backend: "sdk",
    path: "/home/sam/work/api",
    capabilities: ["delivery_receipts"],
    metadata: { client_id: "d8a3f1c2-6b7e-4f50-9a31-0c5e2b7d4e96" },
  });
  await receive("connected");
  await web.send({ type: "connect", display_name: "web", backend: "sdk" });
  await web.next("connected");

  begin("Another peer asks it something. The client reports that it has the message.");
  const text = "Which port does the database use?";
  await web.send({ type: "ask", request_id: "w-1", to_peer: "api", text });
  const { correlation_id, delivery_id } = await receive("ask");
  await send({ type: "delivery_ack", delivery_id, status: "accepted" });

  begin("It answers, and reports that the message was read.");
  await send({ type: "ack", request_id: "1", correlation_id, message: "Port 5432." });
  await receive("result");
  await send({ type: "delivery_ack", delivery_id, status: "seen" });

  begin("It asks back. The result says that the ask is stored, and how far it is.");
  const question = "Do you read it from the configuration?";
  const idempotency_key = "api-2026-05-04-1";
  await send({ type: "ask", request_id: "2", idempotency_key, to_peer: "web", text: question });
  const asked = await receive("result");

  begin("The answer comes as a message of its own, which gets a receipt, too.");
  await web.next("ask");
  const reply = { correlation_id: asked["correlation_id"], message: "Yes, from db.port." };
  await web.send({ type: "ack", request_id: "w-2", ...reply });
  const { delivery_id: answer } = await receive("ack");
  await send({ type: "delivery_ack", delivery_id: answer, status: "seen" });

  begin("A refusal is a result, and the connection stays open.");
  await send({ type: "notify", request_id: "3", to_peer: "nobody", text: "Hello?" });
  await receive("result");
  return steps;
}
