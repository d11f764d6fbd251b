/** The script of the demo's two agents, which `mesh demo` and the dashboard play. */

/** Messages of a demo agent: its first message, and its responses to received messages. */
export interface DemoScript {
  readonly firstMessage?: DemoMessage;
  readonly replyText?: string;
  readonly onReply?: DemoMessage;
  readonly onNotify?: DemoMessage;
}

export interface DemoMessage {
  readonly type: "ask" | "notify";
  readonly to: DemoName | "human";
  readonly text: string;
}

export type DemoName = "api" | "web";

export const DEMO_CIRCLE = "demo";

/** The agent `web` sends the first message as soon as it is connected. */
export const SCRIPTS = {
  api: {
    replyText: "On 8080, since this morning.",
    onNotify: { type: "ask", to: "human", text: "May I restart the API now?" },
  },
  web: {
    firstMessage: { type: "ask", to: "api", text: "Which port does the API listen on?" },
    onReply: { type: "notify", to: "api", text: "Thanks. The proxy points to 8080 now." },
  },
} as const satisfies Readonly<Record<DemoName, DemoScript>>;
