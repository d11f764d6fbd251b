/** Makes the calls of Slack's Web API, and classifies their failures. */

import * as z from "zod";
import { pause } from "kit/core/timeout.ts";
import type { Secret } from "kit/core/settings.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import { type ServerAccess, transfer, type TransferOptions } from "../chat/transfer.ts";
import type { Timestamp } from "./timestamps.ts";
import { ChatError, type ErrorClass } from "../chat/chat.ts";

/** The setting that holds a token. */
type TokenName = "app_token" | "bot_token";

export class SlackApiError extends ChatError {
  /** Slack's error code, if Slack answered. */
  readonly code: string | undefined;
  override readonly setting: TokenName;

  constructor(
    error_class: ErrorClass,
    message: string,
    { code, retry_after_ms, setting = "bot_token" }: {
      code?: string;
      retry_after_ms?: number | undefined;
      setting?: TokenName;
    } = {},
  ) {
    super(error_class, message, retry_after_ms);
    this.code = code;
    this.setting = setting;
  }
}

const CLASSES: readonly (readonly [ErrorClass, readonly string[]])[] = [
  ["unauthorized", [
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
    "no_permission",
    "org_login_required",
  ]],
  ["forbidden", [
    "access_denied",
    "channel_not_found",
    "ekm_access_denied",
    "is_archived",
    "messages_tab_disabled",
    "missing_scope",
    "not_in_channel",
    "restricted_action",
    "restricted_action_read_only_channel",
    "restricted_action_thread_only_channel",
    "user_disabled",
    "user_not_found",
  ]],
  ["rate_limited", ["ratelimited", "rate_limited", "message_limit_exceeded"]],
  // Slack did not read the request, or moves the workspace and does not serve it meanwhile.
  ["network", ["request_timeout", "team_added_to_org"]],
  // Slack documents that a part of the work may have been done.
  ["unclear", ["fatal_error", "internal_error", "service_unavailable"]],
];

/** Advice on refusals whose error code alone does not explain them. */
const ADVICE: Readonly<Record<string, string>> = {
  channel_not_found: "check surfaces.slack.channel, and invite the app into that channel",
  messages_tab_disabled: "turn on the Messages tab in the app's settings, under App Home",
  missing_scope: "add the scope to the app, and install the app again",
  not_in_channel: "invite the app into the channel of surfaces.slack.channel",
  user_not_found: "check surfaces.slack.user",
};

function toErrorClass(code: string): ErrorClass {
  return CLASSES.find(([, codes]) => codes.includes(code))?.[0] ?? "bad_request";
}

/** A refusal by Slack, as one line. */
function describeRefusal(method: string, code: string, needed: string | undefined): string {
  const scope = needed === undefined ? "" : ` (${needed})`;
  const advice = ADVICE[code];
  return `Slack refuses ${method}: ${code}${scope}${advice ? `; ${advice}` : ""}`;
}

export const DEFAULT_BASE = "https://slack.com/api";

const CALL_MS_MAX = 30_000;
/** Slack allows about one message a second in a channel. */
const POST_INTERVAL_MS = 1_000;
/** Maximum characters of an error code of Slack that an error repeats. */
const CODE_CHARS_MAX = 100;

const Answer = z.looseObject({
  ok: z.boolean(),
  error: z.string().default("unknown_error"),
  needed: z.string().optional(),
});

export interface ApiOptions extends ServerAccess {
  readonly app_token: Secret;
  readonly bot_token: Secret;
}

export type Params = Readonly<Record<string, string | number | boolean | object | undefined>>;

/** A block of a message, in the form of Block Kit. */
export type Block = Readonly<Record<string, unknown>>;

/** The channel and the thread of a message. */
export interface Place {
  readonly channel: string;
  readonly thread_ts?: Timestamp | undefined;
}

interface CallOptions {
  readonly params?: Params;
  readonly token?: TokenName;
  readonly signal: AbortSignal;
}

export class ApiCaller {
  readonly options: ApiOptions;
  #nextPostAt = 0;

  constructor(options: ApiOptions) {
    this.options = options;
  }

  /** Calls a method; returns its checked answer. */
  async call<S extends z.ZodType>(
    method: string,
    shape: S,
    { params = {}, token = "bot_token", signal }: CallOptions,
  ): Promise<z.output<S>> {
    const { base } = this.options;
    const secret = this.options[token];
    const init = {
      method: "POST",
      headers: { authorization: `Bearer ${secret.reveal()}` },
      // Slack's methods that read do not accept JSON.
      body: toForm(params),
    };
    const read = async (response: Response) => {
      const { status, headers } = response;
      return { status, retryAfter: headers.get("retry-after"), text: await response.text() };
    };
    const request = [`${base}/${method}`, init] as const;
    const raw = await this.transfer(request, { read, ms: CALL_MS_MAX, signal });
    const result = shape.safeParse(readAnswer(method, raw, { token, secret }));
    if (result.success) return result.data;
    throw new SlackApiError("unclear", `${method}: the answer has an unknown form`);
  }

  /** Sends a request to a server of Slack. */
  transfer<A>(request: readonly [string, RequestInit], options: TransferOptions<A>): Promise<A> {
    return transfer(this.options, "Slack", request, options);
  }

  /** Waits until the next message may be sent. */
  async postTurn(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const now = clock.monotonic();
    const at = Math.max(now, this.#nextPostAt);
    this.#nextPostAt = at + POST_INTERVAL_MS;
    if (at > now) await pause(clock, at - now, signal);
    signal.throwIfAborted();
  }
}

function toForm(params: Params): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    form.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return form;
}

interface RawAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

/** The answer, if it says `ok`. Otherwise throws the error of the call. */
function readAnswer(
  method: string,
  { status, retryAfter, text }: RawAnswer,
  { token, secret }: { token: TokenName; secret: Secret },
): unknown {
  if (status === 429) {
    const seconds = /^\d{1,6}$/.test(retryAfter ?? "") ? Number(retryAfter) : undefined;
    throw new SlackApiError("rate_limited", `Slack limits the rate of ${method}`, {
      retry_after_ms: seconds === undefined ? undefined : seconds * 1000,
    });
  }
  const answer = Answer.safeParse(tryJson(text));
  if (status >= 500 || status >= 300 && status < 400) {
    throw new SlackApiError("unclear", `Slack's answer to ${method} is HTTP ${status}`);
  }
  if (!answer.success) {
    throw new SlackApiError(
      status >= 400 ? "bad_request" : "unclear",
      `The answer is not from Slack's API: HTTP ${status}; check SLACK_API_BASE`,
    );
  }
  if (answer.data.ok) return answer.data;
  const { error, needed } = answer.data;
  const toCode = (text: string) =>
    cleanLine(text).replaceAll(secret.reveal(), "[hidden]").slice(0, CODE_CHARS_MAX);
  const code = toCode(error);
  const message = describeRefusal(method, code, needed === undefined ? needed : toCode(needed));
  throw new SlackApiError(toErrorClass(code), message, { code, setting: token });
}
