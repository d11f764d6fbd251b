/** What the relay counts with, and the library for it: loaded when somebody reads its numbers. */

import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** What is read at the moment of asking. */
export interface Levels {
  readonly daemons: number;
  readonly requests: number;
  readonly held_bytes: number;
}

const BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60];

export interface Instruments {
  readonly registry: Registry;
  readonly requests: Counter<"outcome">;
  readonly seconds: Histogram;
}

export function openInstruments(levels: () => Levels): Instruments {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge("mesh_relay_daemons", "Daemons that are connected", () => levels().daemons);
  gauge("mesh_relay_requests", "Requests that are under way", () => levels().requests);
  gauge(
    "mesh_relay_held_bytes",
    "Bytes of answers not read yet, and of requests not taken yet",
    () => levels().held_bytes,
  );
  return {
    registry,
    requests: new Counter({
      name: "mesh_relay_requests_total",
      help: "Requests to daemons, by how they ended",
      labelNames: ["outcome"],
      registers,
    }),
    seconds: new Histogram({
      name: "mesh_relay_request_seconds",
      help: "From a request to the head of its answer",
      buckets: BUCKETS_SECONDS,
      registers,
    }),
  };
}
