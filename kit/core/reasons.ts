/** Why a delivery did not go on, or how it ended: each code, and the sentence that explains it. */

/** A code that is not here does not compile where one is given, so that each can be explained. */
// deno-fmt-ignore
export const REASONS = {
  // No transport took the message, and not one byte went out.
  no_transport:         "nothing leads there now: no socket, no terminal, no hook",
  nobody_waits:         "no hook of it waits for messages",
  bad_frame:            "its text cannot be typed",
  no_pane:              "no pane is known",
  no_process:           "no process is known",
  no_session:           "no session of it is known",
  no_socket:            "it has no inbox of its own",
  no_server:            "the agent's server does not run",
  no_command:           "the agent's program is not installed",
  dialog_open:          "a dialog is open there, and Enter would answer it",
  draft_present:        "somebody's draft stands in the box",
  copy_mode:            "the pane is in copy mode",
  shell_prompt:         "a shell is there, no agent, and what a peer says must not be a command",
  starting:             "the agent has only just come",
  screen_unknown:       "what the screen shows is not understood",
  changed:              "the pane changed right before the text was typed",
  not_foreground:       "the agent is not in front",
  suspended:            "the agent is suspended",
  agent_elsewhere:      "the agent runs in another pane",
  agent_gone:           "the agent's process has ended",
  pane_dead:            "the pane is dead",
  pane_missing:         "the pane is gone",
  tmux_unreachable:     "tmux does not answer",
  foreign_socket:       "other users could replace its inbox",
  connection_refused:   "its inbox refused the connection",
  connect_timeout:      "its inbox did not answer",
  server_unknown:       "what listens there is not the agent's server",
  session_changed:      "the agent runs another conversation now",
  thread_unknown:       "the agent's server gave an answer that is not understood",
  not_loaded:           "the agent's server has not loaded the session",
  broken:               "the agent's server reports an error in the session",
  version_unproved:     "delivery was not tested with this version of the agent",
  too_large:            "it is too long for this transport",
  socket_serves:        "the agent's server is in use, and its socket is not safe to use",
  queue_refused:        "the agent's queue refused it",
  plugin_awaited:       "the agent's plugin is about to take it",
  socket_full:          "its socket takes nothing more at present",
  socket_closed:        "the socket closed before",
  // Something went out, and nothing proves that it arrived.
  typed_not_submitted:  "it was typed, and not submitted",
  tmux_lost:            "the connection to tmux broke while it was typed",
  write_failed:         "the agent's inbox broke while it was written",
  write_timeout:        "the agent's inbox did not take all of it in time",
  write_untold:         "its hook took it, and did not report that it was written",
  hung_up:              "the agent's server ended the connection",
  no_answer:            "the agent's server did not answer",
  command_timeout:      "the agent's command did not end in time",
  command_failed:       "the agent's command failed",
  rung_failed:          "an error of the daemon; its log has the cause",
  not_settled:          "it was handed out, and no receipt came in 60 s",
  daemon_restart:       "the daemon was restarted",
  // Why a job waits, or how it or its message ended.
  executor_offline:     "its executor is offline",
  executor_ending:      "the executor of its last attempt has not ended yet",
  executors_busy:       "as many agents as allowed run for jobs already",
  executor_never_registered: "the agent that was started for it never registered",
  executor_died:        "its executor ended before its turn did",
  turn_end_unseen:      "its turn ended while the daemon was not running",
  delivery_failed:      "its message did not reach the executor",
  check_failed:         "an acceptance check failed",
  expires_at_passed:    "it was not delivered before it expired",
  deadline_passed:      "its deadline has passed",
  lease_expired:        "the attempt did not reach an executor in time",
  retried:              "it was tried again",
  job_cancelled:        "its job was cancelled",
  job_retried:          "its job was tried again",
  job_updated:          "its job was ended by an update",
  job_expired:          "its job expired",
  // How it ended.
  ttl:                  "nobody took it in time",
  ack:                  "it was acknowledged",
  ack_with_msg:         "it was answered",
  answered:             "it was answered",
  declined:             "it was declined",
  reply_to:             "a question in return took its place",
  send_failed:          "it could not be delivered",
  evicted:              "nobody answered in time",
  cancelled:            "its asker took it back",
  peer_retired:         "the recipient retired",
  peer_not_addressable: "the recipient takes no messages any more",
} as const satisfies Readonly<Record<string, string>>;

export type Reason = keyof typeof REASONS;

/** The sentence of a code. One of a client's own words, or of another version, explains itself. */
export function sentenceOf(code: string): string {
  return isReason(code) ? REASONS[code] : code.replaceAll("_", " ");
}

function isReason(code: string): code is Reason {
  return Object.hasOwn(REASONS, code);
}
