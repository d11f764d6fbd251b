/** The errors of Slack's Web API, classified by their effect. */

import { ChatError, type ErrorClass } from "../chat/chat.ts";

/** The setting that holds a token. */
export type TokenName = "app_token" | "bot_token";

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

export function toErrorClass(code: string): ErrorClass {
  return CLASSES.find(([, codes]) => codes.includes(code))?.[0] ?? "bad_request";
}

/** A refusal by Slack, as one line. */
export function describeRefusal(method: string, code: string, needed: string | undefined): string {
  const scope = needed === undefined ? "" : ` (${needed})`;
  const advice = ADVICE[code];
  return `Slack refuses ${method}: ${code}${scope}${advice ? `; ${advice}` : ""}`;
}
