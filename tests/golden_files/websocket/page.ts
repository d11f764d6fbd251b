/** Fills the generated parts of docs/websocket.md from the schemas. */

import * as z from "zod";
import { ackAsk, declineAsk, openAsk } from "protocol/asks/contract.ts";
import { answerAsk } from "protocol/asks/questions.ts";
import {
  CLOSE,
  type CloseReasonCode,
  Connect,
  Inbound,
  Outbound,
} from "../../../daemon/features/messages/websocket/frames.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { world } from "../../support/world.ts";
import { CLIENT_FRAMES, DAEMON_FRAMES } from "./examples.ts";
import { type Connection, runSession } from "./session.ts";

/** The routes whose bodies the verbs have; the sender is the client's peer. */
export const VERBS = {
  ask: openAsk,
  notify: notifyPeer,
  ack: ackAsk,
  decline: declineAsk,
  answer: answerAsk,
} as const;

interface Property {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Property[];
  readonly items?: Property;
  readonly $ref?: string;
  readonly description?: string;
  readonly default?: unknown;
}
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

/** Meanings of the close codes, and the client's next step. */
const CLOSE_TEXTS: Readonly<Record<CloseReasonCode, readonly [meaning: string, then: string]>> = {
  going_away: ["The daemon stops, or the peer was unregistered", "connect again"],
  not_connect: ["The first frame was no `connect`", "mend the client"],
  unauthorized: ["The token is missing or wrong", "give the right `auth_token`"],
  bad_field: ["The `connect` frame was refused; the `error` frame says why", "mend the client"],
  identity_not_proven: ["Nothing proves the claimed peer", "connect without the claim"],
  peer_retired: ["The peer was retired or closed", "stop, or connect as a new peer"],
  too_many_bad_frames: [
    "20 bad frames within a minute, or 100 before `connected`",
    "mend the client",
  ],
  superseded: ["A newer connection of the same peer has replaced this one", "stop"],
  no_pong: ["Two pings in a row were not answered", "connect again"],
  too_slow: ["The client did not read, and 16 MiB wait for it", "connect again"],
};

const START = (name: string) => `<!-- generated: ${name} -->\n<!-- deno-fmt-ignore-start -->\n`;
const END = "<!-- deno-fmt-ignore-end -->";

/** The page with its generated parts renewed; everything else stays. */
export async function fillPage(page: string): Promise<string> {
  const parts = {
    session: await renderSession(),
    "client frames": renderFrames(CLIENT_FRAMES, inboundSchemas()),
    "daemon frames": renderFrames(DAEMON_FRAMES, outboundSchemas()),
    "close codes": renderCloseCodes(),
  };
  let filled = page;
  for (const [name, text] of Object.entries(parts)) {
    const from = filled.indexOf(START(name)), to = filled.indexOf(END, from);
    if (from < 0 || to < 0) throw new Error(`docs/websocket.md has no place for: ${name}`);
    filled = `${filled.slice(0, from)}${START(name)}\n${text}\n${filled.slice(to)}`;
  }
  return filled;
}

type Example = Readonly<Record<string, unknown>>;
type Frames = Readonly<Record<string, { readonly about: string; readonly example: Example }>>;

function renderFrames(frames: Frames, schemas: ReadonlyMap<string, ObjectSchema>): string {
  const sections = Object.entries(frames).map(([type, { about, example }]) => {
    const json = JSON.stringify({ type, ...example }, null, 2);
    const fields = renderFields(schemas.get(type) ?? {});
    return `### \`${type}\`\n\n${about}\n\n${fields}\n\`\`\`json\n${json}\n\`\`\`\n`;
  });
  return sections.join("\n");
}

function renderFields({ properties = {}, required = [] }: ObjectSchema): string {
  const rows = Object.entries(properties).filter(([name]) => name !== "type").map(
    ([name, property]) => {
      const needed = required.includes(name) ? "yes" : "";
      return `| \`${name}\` | ${typeOf(property)} | ${needed} | ${property.description ?? ""} |\n`;
    },
  );
  return `| field | type | always | meaning |\n| --- | --- | --- | --- |\n${rows.join("")}`;
}

function typeOf(property: Property): string {
  const { type, const: value, enum: values, anyOf, items, $ref } = property;
  if (value !== undefined) return `\`${value}\``;
  if (values) return values.map((allowed) => `\`${allowed}\``).join(", ");
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(" or ");
  if ($ref) return $ref.split("/").at(-1) ?? $ref;
  if (type === "array") return `list of ${items ? typeOf(items) : "values"}`;
  return typeof type === "string" ? type : type?.join(" or ") ?? "any";
}

function toSchema(schema: z.ZodType): ObjectSchema {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as ObjectSchema;
}

/** The frames of clients by type. A verb has the fields of its route, without the sender. */
function inboundSchemas(): ReadonlyMap<string, ObjectSchema> {
  const schemas = new Map([["connect", toSchema(Connect)]]);
  for (const option of Inbound.options) {
    const type = option.shape.type.value;
    const frame = toSchema(option);
    const verb = Object.entries(VERBS).find(([name]) => name === type)?.[1];
    const { from_peer: _, ...fields } = verb ? toSchema(verb.body).properties ?? {} : {};
    const needed = verb ? toSchema(verb.body).required ?? [] : [];
    schemas.set(type, {
      properties: { ...frame.properties, ...fields },
      required: [...frame.required ?? [], ...needed],
    });
  }
  return schemas;
}

function outboundSchemas(): ReadonlyMap<string, ObjectSchema> {
  return new Map(Outbound.options.map((option) => [option.shape.type.value, toSchema(option)]));
}

function renderCloseCodes(): string {
  const rows = Object.entries(CLOSE).toSorted(([, a], [, b]) => a - b).map(([reason, code]) => {
    const [meaning, then] = CLOSE_TEXTS[reason as CloseReasonCode];
    return `| ${code} | \`${reason}\` | ${meaning} | ${then} |\n`;
  });
  return `| code | reason | meaning | what to do |\n| --- | --- | --- | --- |\n${rows.join("")}`;
}

async function renderSession(): Promise<string> {
  await using w = world();
  const connection = (): Connection => {
    const socket = w.socket();
    let read = 0;
    return {
      send: (frame) => socket.send(frame),
      async next(type) {
        for (;; await w.clock.settle()) {
          while (read < socket.frames.length) {
            const frame = socket.frames[read++];
            if (frame?.type === type) return frame;
          }
        }
      },
    };
  };
  const steps = await runSession(connection(), connection());
  return steps.map(({ about, frames }) => {
    const lines = frames.map(({ from, frame }) =>
      `${from === "client" ? "→" : "←"} ${JSON.stringify(frame)}`
    );
    return `${about}\n\n\`\`\`text\n${lines.join("\n")}\n\`\`\`\n`;
  }).join("\n");
}
