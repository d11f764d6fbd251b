/** The active session of this opencode: registers it with the daemon and delivers its messages. */

import process from "node:process";
import { type Env, statePath } from "../../../../host/paths.ts";
import { paneOf } from "../../../../host/terminal_addresses.ts";
import { DaemonConnection, type Frame } from "./connection.ts";
import { Deliveries, type Delivery } from "./deliveries.ts";
import type { Info, PluginContext, Properties, TranscriptMessage } from "./opencode.ts";
import { later, type Timer } from "./ignore_errors.ts";
import { Sessions } from "./sessions.ts";
import { Subagents } from "./subagents.ts";
import { Turn } from "./turn.ts";

/** Increased with every change of the plugin. */
const HOOK_VERSION = "5";
/** Maximum time in which opencode starts a turn by itself for an unread message. */
const UNREAD_AFTER_MS = 1000;
const NOT_READ = "[mesh] Not read yet, further up:";
const REOPEN_MS = 1000;
/** The longest text that is reported: at most 262,144 bytes in UTF-8. */
const CHAT_CHARS_MAX = 65_536;
/** The classes of errors by which a provider's response tells of a limit (1.18.33). */
const LIMITS: Readonly<Record<number, string>> = { 402: "billing_error", 429: "rate_limit" };
/** The error with which opencode reports that the user interrupted a turn. */
const ABORTED = "MessageAbortedError";
const ERROR_CLASS = /^[A-Za-z0-9_.-]{1,64}$/;

export class Session {
  readonly #ctx: PluginContext;
  /** The command line of opencode. */
  readonly #args: readonly string[];
  readonly #connection: DaemonConnection;
  readonly #deliveries = new Deliveries((frame) => this.#connection.send(frame));
  readonly #sessions: Sessions;
  readonly #subagents = new Subagents((frame) => this.#connection.report(frame));
  readonly #turn = new Turn();
  #id: string | undefined;
  #reported = "";
  /** The last answer that was reported as aborted. */
  #aborted: string | undefined;
  /** The prompts that a resumed session got from an earlier process. */
  #history = "";
  #reading = false;
  #prompting = false;
  #unreadTimer: Timer | undefined;

  constructor(ctx: PluginContext, env: Env, args: readonly string[]) {
    this.#ctx = ctx;
    this.#args = args;
    this.#sessions = new Sessions(ctx.client);
    this.#connection = new DaemonConnection(statePath(env), () => ({
      ...processFields(ctx, env),
      ...(this.#id && { runtime_session_id: this.#id }),
      ...(this.#turn.model && { model: this.#turn.model }),
    }), {
      up: () => {
        this.#reportTurn({ again: true });
        this.#subagents.reportAgain();
      },
      down: () => this.#deliveries.dropWaiting(),
      frame: (frame) => {
        if (frame["type"] === "interrupt") void this.#interrupt();
        else if (this.#deliveries.take(frame)) void this.#deliver();
      },
    });
  }

  begin(): void {
    const resumed = resumedSession(this.#args);
    if (resumed === "last") void this.#serveLast();
    else if (resumed !== undefined) this.#serve(resumed);
    else this.#connection.open();
  }

  end(): void {
    this.#connection.end();
  }

  /** Prompts the agent with the waiting messages, one after the other. */
  async #deliver(): Promise<void> {
    if (this.#prompting) return;
    this.#prompting = true;
    try {
      while (this.#mayPrompt()) {
        const delivery = this.#deliveries.next();
        if (!delivery || !await this.#prompt(delivery)) break;
      }
    } finally {
      this.#prompting = false;
    }
  }

  /** Stops the turn. Its aborted answer reports that. A dialog is left to the user. */
  async #interrupt(): Promise<void> {
    if (this.#id === undefined || !this.#turn.busy || this.#turn.atDialog) return;
    await this.#sessions.abort(this.#id);
  }

  #mayPrompt(): boolean {
    if (!this.#turn.takesPrompts || this.#reading) return false;
    // `opencode run` ends with its turn, so a later message would be lost in its transcript.
    return this.#turn.busy || !this.#args.includes("run");
  }

  /** Returns false if no message can be delivered now. */
  async #prompt(delivery: Delivery): Promise<boolean> {
    if (this.#history.includes(delivery.proof)) {
      delivery.seen = true;
      this.#deliveries.accepted(delivery);
      return true;
    }
    delivery.state = "prompting";
    const id = this.#id ?? await this.#create();
    if (!id) {
      this.#deliveries.requeue(delivery);
      later(REOPEN_MS, () => this.#deliver());
      return false;
    }
    try {
      const { error, response } = await this.#sessions.prompt(id, delivery.text);
      if (!error) this.#deliveries.accepted(delivery);
      else if (response?.status === 404) {
        // The session was deleted meanwhile, so the next session gets the message.
        if (this.#id === id) this.#id = undefined;
        this.#deliveries.requeue(delivery);
      } else {
        this.#deliveries.rejected(delivery, `opencode answered ${response?.status ?? "an error"}`);
      }
    } catch {
      // opencode may have accepted the message. If so, the message appears in the transcript.
      delivery.state = "unclear";
    }
    return true;
  }

  /** Creates a session if the first screen has none yet. Keeps a draft in the composer. */
  async #create(): Promise<string | undefined> {
    const id = await this.#sessions.create();
    if (!id) return undefined;
    this.#serve(id);
    await this.#sessions.select(id);
    return id;
  }

  async #serveLast(): Promise<void> {
    const last = await this.#sessions.last();
    if (last) this.#serve(last);
    else this.#connection.open();
  }

  /** Makes a session the active one; a new connection reports it to the daemon. */
  #serve(id: string): void {
    if (this.#id === id) return;
    this.#id = id;
    this.#history = "";
    this.#turn.begin({ hasBegun: !this.#sessions.isCreated(id) });
    if (this.#turn.hasBegun) void this.#readHistory(id);
    this.#connection.open();
  }

  /** Reads the prompts that a resumed session got from an earlier process. */
  async #readHistory(id: string): Promise<void> {
    this.#reading = true;
    try {
      const text = await this.#sessions.promptsOf(id);
      if (this.#id === id) this.#history = text;
    } finally {
      this.#reading = false;
    }
    void this.#deliver();
  }

  /** Handles a message of the user, or one of ours, in any session of this process. */
  async said(id: string, { message, parts }: TranscriptMessage): Promise<void> {
    if (!await this.#isServed(id)) return;
    this.#serve(id);
    this.#turn.hasBegun = true;
    this.#turn.setModel(message.model);
    const text = parts.filter(({ type, synthetic }) => type === "text" && !synthetic)
      .map((part) => part.text).join("\n");
    const shown = this.#deliveries.markSeenIn(text);
    // A message that names unread messages is not tracked itself.
    if (!text.startsWith(NOT_READ)) {
      for (const { proof } of shown) this.#turn.sent(message.id, proof);
    }
    this.#chat("user", text, message.id);
  }

  /** True if the session can be the active one. A subagent's session cannot. */
  async #isServed(id: string): Promise<boolean> {
    return this.#id === id || await this.#sessions.isRoot(id);
  }

  async event(type: string, properties: Properties): Promise<void> {
    const { info, sessionID, part } = properties;
    this.#subagents.follow(type, properties, this.#id);
    if (type === "session.created") {
      if (info) this.#sessions.add(info);
    } else if (type === "session.deleted" && (sessionID ?? info?.id) === this.#id) {
      this.#id = undefined;
    } else if (type === "tui.session.select") {
      if (sessionID !== undefined && await this.#isServed(sessionID)) this.#serve(sessionID);
    } else if (isDialog(type) || (sessionID ?? info?.sessionID ?? part?.sessionID) === this.#id) {
      this.#follow(type, properties);
    }
  }

  #follow(type: string, properties: Properties): void {
    const { status, info, part, error } = properties;
    if (isDialog(type)) this.#turn.dialog(type, properties);
    else if (type === "session.status") this.#turn.changeStatus(status ?? { type: "busy" });
    else if (type === "session.idle") this.#idle();
    else if (type === "session.error") this.#failed(error);
    else if (type === "session.compacted") this.#connection.report({ type: "compacted" });
    else if (type === "message.updated" && info?.role === "assistant") this.#answered(info);
    else if (type === "message.part.updated" && part) this.#turn.part(part);
    this.#reportTurn();
    if (isDialog(type) || type === "session.status") void this.#deliver();
  }

  /** If the user interrupts the turn in the terminal, only the aborted answer shows it. */
  #answered(info: Info): void {
    this.#turn.beginAnswer(info);
    if (info.error?.name !== ABORTED || info.id === this.#aborted) return;
    this.#aborted = info.id;
    this.#failed(info.error);
  }

  /** The end of the turn is reported separately. */
  #failed({ name = "", data }: NonNullable<Properties["error"]> = {}): void {
    const atLimit = data?.statusCode === undefined ? undefined : LIMITS[data.statusCode];
    const known = atLimit ?? (ERROR_CLASS.test(name) ? name : "unknown");
    const error = name === ABORTED ? "interrupted" : known;
    this.#connection.report({ ...this.#turn.status, error });
  }

  #idle(): void {
    const { id, text } = this.#turn.end(this.#id);
    this.#chat("assistant", text, id);
    void this.#deliver();
    clearTimeout(this.#unreadTimer); // opencode may report the end of a turn twice.
    if (this.#turn.hasUnread) {
      this.#unreadTimer = later(UNREAD_AFTER_MS, () => this.#nameUnread());
    }
  }

  /** Names messages that are unread because the user interrupted a turn, without their text. */
  async #nameUnread(): Promise<void> {
    if (this.#turn.busy || this.#turn.atDialog || !this.#turn.hasUnread) return;
    const text = `${NOT_READ} ${this.#turn.takeUnread().join(", ")}`;
    if (this.#id !== undefined) await this.#sessions.prompt(this.#id, text);
  }

  #reportTurn({ again = false } = {}): void {
    const text = JSON.stringify(this.#turn.status);
    if (text === this.#reported && !again) return;
    this.#reported = text;
    this.#connection.report(this.#turn.status);
  }

  #chat(role: string, text: string, turn_id: string): void {
    if (text.trim() === "") return;
    const cut = text.slice(0, CHAT_CHARS_MAX).toWellFormed().replaceAll("\0", "");
    this.#connection.report({ type: "chat_turn", role, text: cut, turn_id });
  }
}

/** Fields that the plugin registers for its process with any session. */
function processFields({ directory }: PluginContext, env: Env): Frame {
  const pane = paneOf(env);
  return {
    display_name: "opencode", // The daemon names it after its folder.
    backend: "opencode",
    path: directory,
    agent_pid: process.pid,
    capabilities: ["delivery_receipts", "framed_text", "interrupt"],
    metadata: { hook_version: HOOK_VERSION, pane: pane?.pane_id ?? null },
    ...pane,
  };
}

function isDialog(type: string): boolean {
  return /^(permission|question)\./.test(type);
}

/** The session that the command line resumes: an id, or the last one of the folder. */
function resumedSession(args: readonly string[]): string | "last" | undefined {
  const at = args.findIndex((arg) => arg === "-s" || arg === "--session");
  const named = args.map((arg) => /^--session=(.+)$/.exec(arg)?.[1]).find(Boolean);
  const id = named ?? (at < 0 ? undefined : args[at + 1]);
  if (id?.startsWith("ses_")) return id;
  return args.some((arg) => arg === "-c" || arg === "--continue") ? "last" : undefined;
}
