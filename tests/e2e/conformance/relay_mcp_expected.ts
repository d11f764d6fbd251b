/** Checks of the conformance suite that the relay fails on purpose, and the reasons. */

export interface ExpectedFailure {
  readonly revision: string;
  readonly scenario: string;
  readonly check: string;
  readonly reason: string;
}

const of =
  (revision: string, scenario: string) => (check: string, reason: string): ExpectedFailure => ({
    revision,
    scenario,
    check,
    reason,
  });

const polling = of("2025-11-25", "server-sse-polling");
const streams = of("2025-11-25", "server-sse-multiple-streams");
const stateless = of("2026-07-28", "server-stateless");
const caching = of("2026-07-28", "caching");
const missing = of("2026-07-28", "sep-2164-resource-not-found");

const NO_SESSION = "A stateless server has no session to name, and opens no stream to resume";
const NO_TOOL = "It needs a diagnostic tool of a test server's; the relay has its six tools alone";
const NO_STREAM = "Nothing is pushed (rule 9), so that there is nothing to subscribe to";
const NO_PROMPT = "The relay offers no prompts";
const NO_RESOURCE = "The relay offers no resources";

// deno-fmt-ignore
export const EXPECTED: readonly ExpectedFailure[] = [
  polling("server-sse-polling-session",                            NO_SESSION),
  streams("server-sse-multiple-streams-session",                   NO_SESSION),
  stateless("sep-2575-server-rejects-undeclared-capability",       NO_TOOL),
  stateless("sep-2575-missing-capability-http-400",                NO_TOOL),
  stateless("sep-2575-http-server-no-independent-requests-on-stream", NO_TOOL),
  stateless("sep-2575-server-no-log-without-loglevel",             NO_TOOL),
  stateless("sep-2575-server-sends-subscription-ack",              NO_STREAM),
  stateless("sep-2575-server-tags-subscription-id",                NO_STREAM),
  caching("sep-2549-prompts-list-caching-hints",                   NO_PROMPT),
  caching("sep-2549-resources-list-caching-hints",                 NO_RESOURCE),
  caching("sep-2549-resources-templates-list-caching-hints",       NO_RESOURCE),
  missing("sep-2164-error-code",                                   NO_RESOURCE),
  missing("sep-2164-data-uri",                                     NO_RESOURCE),
];
