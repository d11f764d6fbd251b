/** Acts of the exchange's tests on two machines: ask, answer, and check the outcome. */

import { ackAsk, getAsk, openAsk } from "protocol/asks/contract.ts";
import { getTrace, listDeliveries } from "protocol/messages/contract.ts";
import type { laptopAndBuildbox } from "./memory_network.ts";

export type Two = Awaited<ReturnType<typeof laptopAndBuildbox>>;

/** `web` on laptop asks `api` on buildbox; returns the id of the ask. */
export async function ask({ laptop }: Two, text = "Which port?"): Promise<string> {
  const body = { from_peer: "web", to_peer: "api@buildbox", text };
  const { correlation_id } = await laptop.call(openAsk, { body });
  return correlation_id ?? "";
}

/** `api` answers the last ask that it got. */
export async function answer({ api, buildbox }: Two, message: string): Promise<void> {
  const correlation_id = api.of("ask").at(-1)?.correlation_id ?? "";
  await buildbox.call(ackAsk, { body: { correlation_id, message, from_peer: "api" } });
}

/** An ask as laptop knows it. */
export async function askOutcome({ laptop }: Two, id: string) {
  const { state, close_reason, reply, responder } = await laptop.call(getAsk, { params: { id } });
  return { state, close_reason, reply, responder };
}

/** The delivery of a message as laptop knows it. */
export async function deliveryOf({ laptop }: Two, id: string) {
  const { deliveries } = await laptop.call(listDeliveries, { query: {} });
  const found = deliveries.find(({ kind, correlation_id, delivery_id }) =>
    delivery_id === id || (kind === "ask" && correlation_id === id)
  );
  return { state: found?.state, reason: found?.reason ?? null };
}

/** The names of the stages of a message on laptop. */
export async function stagesOf({ laptop }: Two, trace_id: string): Promise<string[]> {
  const { stages } = await laptop.call(getTrace, { params: { trace_id } });
  return stages.map(({ stage }) => stage);
}

/** Contradictions on either machine. */
export async function contradictions({ laptop, buildbox }: Two): Promise<unknown[]> {
  const audits = [laptop, buildbox].map(({ call }) => call(listDeliveries, { query: {} }));
  const logged = [laptop, buildbox].flatMap((machine) => machine.logged)
    .filter((line) => line.includes('"level":"error"'));
  return [...(await Promise.all(audits)).flatMap(({ unaccounted }) => unaccounted), ...logged];
}
