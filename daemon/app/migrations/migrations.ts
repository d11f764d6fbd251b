/** The migrations of the daemon's database. Append only: a shipped one is never edited. */

import ledger from "./001_ledger.sql" with { type: "text" };
import unprovedDeliveries from "./002_unproved_deliveries.sql" with { type: "text" };
import idempotency from "./003_idempotency.sql" with { type: "text" };
import asksToMany from "./004_asks_to_many.sql" with { type: "text" };
import fullText from "./005_full_text.sql" with { type: "text" };
import attachments from "./006_attachments.sql" with { type: "text" };
import surfaces from "./007_surfaces.sql" with { type: "text" };
import replyVoice from "./008_reply_voice.sql" with { type: "text" };
import statusEvidence from "./009_status_evidence.sql" with { type: "text" };
import spawnsAndRestarts from "./010_spawns_and_restarts.sql" with { type: "text" };
import schedules from "./011_schedules.sql" with { type: "text" };
import jobs from "./012_jobs.sql" with { type: "text" };
import messagesChecks from "./013_messages_checks.sql" with { type: "text" };
import pageSessions from "./014_page_sessions.sql" with { type: "text" };
import inboxVoice from "./015_inbox_voice.sql" with { type: "text" };
import circlesAndClients from "./016_circles_and_clients.sql" with { type: "text" };
import growingTables from "./017_growing_tables.sql" with { type: "text" };
import machineLinks from "./018_machine_links.sql" with { type: "text" };
import machines from "./019_machines.sql" with { type: "text" };
import remotePeers from "./020_remote_peers.sql" with { type: "text" };
import remoteMessages from "./021_remote_messages.sql" with { type: "text" };
import machineFiles from "./022_machine_files.sql" with { type: "text" };
import subscriptions from "./023_subscriptions.sql" with { type: "text" };
import peerGroups from "./024_peer_groups.sql" with { type: "text" };
import subagents from "./025_subagents.sql" with { type: "text" };
import urgentMessages from "./026_urgent_messages.sql" with { type: "text" };
import handoffs from "./027_handoffs.sql" with { type: "text" };
import numberGaps from "./028_number_gaps.sql" with { type: "text" };
import restoredMachines from "./029_restored_machines.sql" with { type: "text" };
import peerNames from "./030_peer_names.sql" with { type: "text" };
import refusedEntries from "./031_refused_entries.sql" with { type: "text" };
import provedPlaces from "./032_proved_places.sql" with { type: "text" };
import speakersAndSearch from "./033_speakers_and_search.sql" with { type: "text" };
import questionsAtTerminals from "./034_questions_at_terminals.sql" with { type: "text" };
import pushAndDevices from "./035_push_and_devices.sql" with { type: "text" };
import usage from "./038_usage.sql" with { type: "text" };
import snoozedItems from "./040_snoozed_items.sql" with { type: "text" };
import limits from "./041_limits.sql" with { type: "text" };
import wakes from "./042_wakes.sql" with { type: "text" };
import briefings from "./043_briefings.sql" with { type: "text" };
import budgets from "./044_budgets.sql" with { type: "text" };
import leases from "./045_leases.sql" with { type: "text" };
import fileUses from "./046_file_uses.sql" with { type: "text" };
import leasesOfProcesses from "./049_leases_of_processes.sql" with { type: "text" };
import proofs from "./050_proofs.sql" with { type: "text" };
import origins from "./051_origins.sql" with { type: "text" };
import reviews from "./052_reviews.sql" with { type: "text" };
import jointChecks from "./053_joint_checks.sql" with { type: "text" };
import proofsElsewhere from "./054_proofs_elsewhere.sql" with { type: "text" };
import commitSessions from "./055_commit_sessions.sql" with { type: "text" };

export const migrations: readonly string[] = [
  ledger,
  unprovedDeliveries,
  idempotency,
  asksToMany,
  fullText,
  attachments,
  surfaces,
  replyVoice,
  statusEvidence,
  spawnsAndRestarts,
  schedules,
  jobs,
  messagesChecks,
  pageSessions,
  inboxVoice,
  circlesAndClients,
  growingTables,
  machineLinks,
  machines,
  remotePeers,
  remoteMessages,
  machineFiles,
  subscriptions,
  peerGroups,
  subagents,
  urgentMessages,
  handoffs,
  numberGaps,
  restoredMachines,
  peerNames,
  refusedEntries,
  provedPlaces,
  speakersAndSearch,
  questionsAtTerminals,
  pushAndDevices,
  usage,
  snoozedItems,
  limits,
  wakes,
  briefings,
  budgets,
  leases,
  fileUses,
  leasesOfProcesses,
  proofs,
  origins,
  reviews,
  jointChecks,
  proofsElsewhere,
  commitSessions,
];
