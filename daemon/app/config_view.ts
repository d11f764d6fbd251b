/** The configuration in force, as people may see it: no value that is or may hold a secret. */

import { Secret } from "kit/core/settings.ts";
import { type Config, type ConfigInForce, SETTINGS } from "./config.ts";
import type { Setting } from "protocol/api/config.ts";

type Key = keyof typeof SETTINGS;

/** How each setting is shown. A setting without a decision does not compile. */
// deno-fmt-ignore
const FORMS: Readonly<Record<Key, Setting["form"]>> = {
  "daemon.host":                        "shown",
  "daemon.port":                        "shown",
  "daemon.auth_token":                  "hidden",
  "daemon.allowed_hosts":               "shown",
  "daemon.description_ttl_seconds":     "shown",
  "daemon.ask_ttl_hours":               "shown",
  "daemon.history_days":                "shown",
  "daemon.history_messages":            "shown",
  "daemon.queue.ttl_seconds":           "shown",
  "daemon.queue.max_per_peer":          "shown",
  "daemon.limits.hops":                 "shown",
  "daemon.limits.pair_per_minute":      "shown",
  "daemon.attachments.file_bytes_max":  "shown",
  "daemon.attachments.total_bytes_max": "shown",
  "daemon.attachments.ttl_days":        "shown",
  "daemon.circle_boundary":             "shown",
  "daemon.wake":                        "shown",
  "daemon.wake_idle_minutes":           "shown",
  "daemon.mcp.enabled":                 "shown",
  "daemon.mcp.allow_admin_tools":       "shown",
  "human.name":                         "shown",
  "routing.strategy":                   "shown",
  "routing.min_confidence":             "shown",
  "routing.allow_service_targets":      "shown",
  "routing.webhook":                    "hidden", // Its user name, path or query may hold a key.
  "spawn.commands":                     "names",  // Arguments and variables may hold keys.
  "spawn.profiles":                     "names",
  "spawn.allowed_paths":                "shown",
  "spawn.env":                          "names",
  "limits.resume":                      "shown",
  "limits.quiet_hours":                 "shown",
  "panes.allow_typing":                 "shown",
  "transcripts":                        "shown",
  "files.overlaps":                     "shown",
  "leases.ports":                       "shown",
  "usage.prices":                       "shown",
  "budgets.day":                        "shown",
  "budgets.peers":                      "shown",
  "policy":                             "shown",
  "breakers.loops":                     "shown",
  "jobs.checks":                        "names",
  "jobs.check_memory_bytes_max":        "shown",
  "jobs.check_written_bytes_max":       "shown",
  "joint_checks.check":                 "shown",
  "joint_checks.disk_bytes_max":        "shown",
  "push.contact":                       "shown",
  "push.allow_local":                   "shown",
  "asks.reminders":                     "shown",
  "asks.briefings":                     "shown",
  "asks.recall_off":                    "shown",
  "approvals.gated_tools":              "shown",
  "approvals.timeout_seconds":          "shown",
  "relay.enabled":                      "shown",
  "relay.url":                          "shown",
  "relay.secret":                       "hidden",
  "relay.allow_admin":                  "shown",
  "mesh.bus.url":                       "shown",
  "mesh.bus.creds":                     "shown", // A path: the file holds the secret.
  "mesh.bus.ca":                        "shown",
  "mesh.bus.name":                      "shown",
  "mesh.bus.allow":                     "shown",
  "mesh.bus.allow_admin":               "shown",
  "mesh.bus.allow_prove":               "shown",
  "mesh.bus.human_home":                "shown",
  "surfaces.telegram.token":            "hidden",
  "surfaces.telegram.chat_id":          "shown",
  "surfaces.slack.app_token":           "hidden",
  "surfaces.slack.bot_token":           "hidden",
  "surfaces.slack.user":                "shown",
  "surfaces.slack.channel":             "shown",
  "telemetry.otlp":                     "shown",
  "telemetry.headers":                  "hidden",
  "telemetry.sample":                   "shown",
};

const KEYS = Object.keys(SETTINGS) as Key[];

export function settingsInForce(
  { config, path, origins }: ConfigInForce,
): { path: string; settings: Setting[] } {
  const settings = KEYS.map((key): Setting => {
    const origin = origins.get(key);
    const form = FORMS[key], value = config[key];
    return {
      key,
      source: origin?.kind ?? "default",
      origin: origin?.name ?? null,
      form,
      is_set: value !== undefined,
      value: visibleValue(form, value),
    };
  });
  return { path, settings };
}

/** A word of a list, or the text of a rule. */
function toText(part: string | Config["policy"][number]): string {
  return typeof part === "string" ? part : `${part.origin}: deny ${part.deny.join(", ")}`;
}

/** A value that may leave the process. A secret stays in it, whatever the table says. */
function visibleValue(form: Setting["form"], value: Config[Key]): Setting["value"] {
  if (form === "hidden" || value === undefined || value instanceof Secret) return null;
  if (Array.isArray(value)) return value.map(toText);
  if (typeof value === "object") {
    return form === "shown" ? JSON.stringify(value) : Object.keys(value).sort();
  }
  return value;
}
