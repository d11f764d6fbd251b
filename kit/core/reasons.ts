/** Why a delivery failed, waits or ended: for each reason code, the sentence that explains it. */

/** Reasons are typed by this table, so a code without a sentence does not compile. */
// deno-fmt-ignore
export const REASONS = {
  // No transport took the message, and no byte was sent.
  no_transport:         "no transport reaches it now: no socket, no terminal, no hook",
  nobody_waits:         "none of its hooks waits for messages",
  bad_frame:            "its text contains what cannot be typed",
  no_pane:              "no pane is known",
  no_process:           "no process is known",
  no_session:           "no session of the agent is known",
  no_socket:            "the agent has no inbox of its own",
  no_server:            "the agent's server is not running",
  no_command:           "the agent's program is not installed",
  dialog_open:          "a dialog is open there, and Enter would answer it",
  draft_present:        "the agent's input box holds a draft",
  copy_mode:            "the pane is in copy mode",
  synchronized:         "its window passes on what is typed there to its other panes",
  shell_prompt:         "the pane shows a shell, which would run the message as a command",
  starting:             "the agent is still starting",
  screen_unknown:       "the agent's screen is not recognized",
  changed:              "the pane changed right before the text was typed",
  not_foreground:       "the agent is not in the foreground",
  suspended:            "the agent is suspended",
  agent_elsewhere:      "the agent runs in another pane",
  agent_gone:           "the agent's process has ended",
  pane_dead:            "the pane is dead",
  pane_missing:         "the pane is gone",
  unmarked_paste:       "the program would take each line of a paste as an entry of its own",
  tmux_unreachable:     "tmux does not answer",
  kitty_unreachable:    "kitty does not answer, or does not allow remote control",
  foreign_socket:       "other users could replace its inbox",
  connection_refused:   "its inbox refused the connection",
  connect_timeout:      "its inbox did not answer",
  server_unknown:       "the program that listens there is not the agent's server",
  session_changed:      "the agent runs another conversation now",
  thread_unknown:       "the response of the agent's server is not recognized",
  not_loaded:           "the agent's server has not loaded the session",
  broken:               "the agent's server reports an error in the session",
  version_unproved:     "delivery was not tested with this version of the agent",
  too_large:            "it is too long for this transport",
  socket_serves:        "the agent uses its server, whose socket is not safe to use",
  queue_refused:        "the agent's queue refused it",
  plugin_awaited:       "the agent's plugin is expected to take it",
  socket_awaited:       "the agent's plugin may have it already, and has to reconnect first",
  tool_call_awaited:    "it is read only after the turn, and a hook hands over an urgent message before",
  socket_full:          "the buffer of its socket is full",
  socket_closed:        "the socket closed before it was sent",
  bus_unreachable:      "the bus between machines cannot be reached",
  bus_full:             "the bus between machines has no room left",
  // Bytes were sent, but it is not proven that the message arrived.
  typed_not_submitted:  "it was typed but not submitted",
  tmux_lost:            "the connection to tmux broke while it was typed",
  kitty_lost:           "the connection to kitty broke while it was typed",
  write_failed:         "writing to the agent's inbox failed",
  write_timeout:        "the agent's inbox did not take all of it in time",
  write_untold:         "its hook took it and did not report that it was written",
  hung_up:              "the agent's server closed the connection",
  no_answer:            "the agent's server did not answer",
  command_timeout:      "the agent's command did not end in time",
  command_failed:       "the agent's command failed",
  transport_failed:     "internal error of the daemon; its log has the cause",
  not_settled:          "it was handed out, and no receipt came within 60 s",
  daemon_restart:       "the daemon was restarted",
  // Why a job waits, or how a job or its message ended.
  executor_offline:     "its executor is offline",
  recipient_offline:    "its recipient is offline",
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
  // How a message to another machine ended.
  expired_on_the_way:   "it expired before the other machine got it",
  forged_sender:        "the other machine knows its sender as a peer of another machine",
  unknown_entry:        "the daemon on the other machine does not know this kind of message",
  unknown_peer:         "the other machine has no such peer, or does not share it",
  machine_forgotten:    "its machine was forgotten",
  // How a delivery or an ask ended.
  ttl:                  "nobody took it in time",
  ack:                  "it was acknowledged",
  ack_with_msg:         "it was answered",
  answered:             "it was answered",
  declined:             "it was declined",
  reply_to:             "a question in return replaced it",
  send_failed:          "it could not be delivered",
  evicted:              "nobody answered in time",
  cancelled:            "its asker cancelled it",
  machine_offline:      "its machine has not announced itself for a minute",
  peer_retired:         "the recipient retired",
  peer_not_addressable: "the recipient no longer receives messages",
} as const satisfies Readonly<Record<string, string>>;

export type Reason = keyof typeof REASONS;

/** The sentence of a code. An unknown code is shown as words; other versions may send one. */
export function sentenceOf(code: string): string {
  return isReason(code) ? REASONS[code] : code.replaceAll("_", " ");
}

function isReason(code: string): code is Reason {
  return Object.hasOwn(REASONS, code);
}
