/** A realistic mesh for screenshots: peers in circles, messages, questions, jobs, schedules. */

import { createJob, getJob, updateJob } from "protocol/jobs/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { describePeer } from "protocol/peers/contract.ts";
import { createSchedule } from "protocol/schedules/contract.ts";
import { until } from "../waiting.ts";
import type { DashboardLab } from "./dashboard_lab.ts";
import type { SocketPeer } from "./socket_peer.ts";

// deno-fmt-ignore
const PEERS = [
  ["boss", "shop", "claude-code", "claude-opus-4-8", "working", "Splits the release into three tasks"],
  ["api", "shop", "claude-code", "claude-opus-4-8", "working", "Mends the flaky login test"],
  ["web", "shop", "codex", "gpt-5.5", "idle", "Dark mode for the settings page"],
  ["db", "shop", "gemini", "gemini-3-pro", "awaiting_input", "Waits for leave to run migration 0042"],
  ["docs", "shop", "opencode", "claude-haiku-4-5", "idle", "Writes the upgrade guide"],
  ["tests", "shop", "codex", "gpt-5.5", "working", "Splits the slow end-to-end suite"],
  ["infra", "ops", "opencode", "claude-sonnet-4-9", "working", "Terraform plan for staging"],
  ["monitor", "ops", "claude-code", "claude-haiku-4-5", "idle", "Watches the error rate after each deploy"],
  ["backup", "ops", "generic", null, "idle", null],
  ["paper", "research", "claude-code", "claude-opus-4-8", "idle", "Summary of three papers on consensus"],
  ["bench", "research", "codex", "gpt-5.5", "working", "Measures the new index on 10 million rows"],
  ["notes", "research", "copilot", "gpt-5.5", "idle", null],
] as const;

// deno-fmt-ignore
const TALK = [
  ["web", "api", "Which port do you listen on, and is CORS open for `localhost:3000`?", "Port **8080**. CORS is open for `localhost:3000` and for nothing else."],
  ["boss", "tests", "How long does the suite take now?", "| suite | before | now |\n| --- | --- | --- |\n| unit | 41 s | 12 s |\n| e2e | 9 min | 4 min |"],
  ["api", "db", "Can I drop `users.legacy_id`? Nothing in my code reads it any more.", "Yes. I found no reader either:\n\n```sql\nalter table users drop column legacy_id;\n```"],
  ["bench", "paper", "Which consistency level did the second paper measure?", "Snapshot isolation, five replicas."],
  ["infra", "monitor", "Is the error rate back to normal?", "Yes: 0.02 % since 14:10."],
  ["boss", "docs", "Does the guide mention the new port?", null],
  ["docs", "web", "Is the screenshot of the settings page final?", null],
] as const;

export async function seed(lab: DashboardLab): Promise<Map<string, SocketPeer>> {
  const peers = new Map<string, SocketPeer>();
  const peerOf = (name: string) => {
    const found = peers.get(name);
    if (!found) throw new Error(`No peer ${name}`);
    return found;
  };
  for (const [name, circle, backend, model, turn_state, description] of PEERS) {
    const path = `/home/sam/work/${circle}/${name}`;
    const more = model === null ? {} : { model };
    const peer = await lab.peer({ name, circle, backend, path, ...more });
    peers.set(name, peer);
    const status = turn_state === "working" ? "busy" : "online";
    peer.send({ type: "status", status, turn_state });
    if (description) {
      await lab.call(describePeer, {
        params: { id: peer.peer_id },
        query: {},
        body: { description },
      });
    }
  }
  for (let round = 0; round < 6; round++) {
    for (const [from, to, text, reply] of TALK) {
      // The same words again and again are a loop; one pair is in it.
      if (round > 2 && from !== "bench") continue;
      const fields = { to_peer: peerOf(to).peer_id, text };
      const { correlation_id } = await peerOf(from).request("ask", fields);
      const message = reply ?? (round > 0 ? "Yes." : undefined);
      if (message) await peerOf(to).request("ack", { correlation_id, message });
    }
    await peerOf("boss").request("notify", {
      to_peer: peerOf("api").peer_id,
      text: `main is green again (build ${1207 + round})`,
    });
  }
  await seedHuman(peerOf);
  await seedJobs(lab, peerOf);
  await seedLater(lab, peerOf);
  peerOf("backup").close();
  return peers;
}

async function seedHuman(peerOf: (name: string) => SocketPeer): Promise<void> {
  await peerOf("db").request("ask", {
    to_peer: "sam",
    text: "May I run migration **0042** on staging? It rewrites `orders` (2.1 million rows, " +
      "about 40 s) and locks the table meanwhile.",
    question: {
      kind: "choice",
      prompt: "Run migration 0042 on staging?",
      blocking: true,
      options: [
        { id: "now", title: "Run it now" },
        { id: "night", title: "Tonight at 02:00" },
        { id: "no", title: "Do not run it" },
      ],
    },
  });
  await peerOf("api").request("ask", {
    to_peer: "sam",
    text: "Ship the login fix today, or wait for the **dark mode** of `web`?\n\n" +
      "- today: one release, small\n- tomorrow: both together",
  });
  await peerOf("monitor").request("notify", {
    to_peer: "sam",
    text: "The error rate on staging is back to normal (0.02 %).",
  });
}

const JOBS: (readonly [
  title: string,
  peer: string,
  state?: "completed" | "failed" | "blocked",
])[] = [
  ["Mend the flaky login test", "api"],
  ["Summary of last week's incidents", "monitor", "completed"],
  ["Port check on all hosts", "infra", "failed"],
  ["Upgrade guide for 2.0", "docs", "blocked"],
  ["Dark mode for settings", "web"],
];

async function seedJobs(lab: DashboardLab, peerOf: (name: string) => SocketPeer): Promise<void> {
  for (const [title, peer, state] of JOBS) {
    const body = {
      title,
      prompt: `${title}. End with a short report.`,
      assigned_peer: peerOf(peer).peer_id,
    };
    const made = await lab.call(createJob, { body });
    if (!("job_id" in made) || !state) continue;
    const attempt_id = await until("an attempt", async () => {
      const found = await lab.call(getJob, { params: { id: made.job_id } });
      return "runner" in found && found.state === "running" && found.runner.current_attempt_id;
    });
    const result = state === "blocked"
      ? { state_reason: "waits_for_review", progress: 60 }
      : state === "completed"
      ? { result_summary: "Two incidents, both mended; the report is in `docs/incidents.md`." }
      : { error: "host-7 does not answer on port 22" };
    const report = { state, attempt_id, ...result };
    await lab.call(updateJob, { params: { id: made.job_id }, body: report });
  }
  await lab.call(createJob, {
    body: {
      title: "Nightly dependency check",
      prompt: "Look for outdated dependencies.",
      assigned_peer: peerOf("tests").peer_id,
      cron: "0 3 * * *",
      timezone: "Europe/Berlin",
    },
  });
}

async function seedLater(lab: DashboardLab, peerOf: (name: string) => SocketPeer): Promise<void> {
  await lab.call(createSchedule, {
    body: {
      from_peer: "boss",
      to_peer: peerOf("docs").peer_id,
      text: "Is the guide ready?",
      kind: "ask",
      fire_at: "2h",
    },
  });
  await lab.call(createSchedule, {
    body: {
      from_peer: "boss",
      to_peer: peerOf("monitor").peer_id,
      text: "Post the morning report",
      cron: "0 9 * * 1-5",
    },
  });
  await lab.call(notifyPeer, {
    body: {
      from_peer: "web",
      to_peer: peerOf("api").peer_id,
      text: "The settings page uses the new endpoint now.",
    },
  });
}
