/** The acceptance checks of a job, from its result (docs/jobs.md). */

export interface Check {
  readonly name: string;
  readonly result: "passed" | "failed" | "no result" | "not run";
  /** Why it has no result, and the end of a failed check's output. */
  readonly output: string;
}

type Data = Readonly<Record<string, unknown>>;

/**
 * Checks run in order up to the first that fails. An agent can report `result_data`, too, so any
 * part of it may have another form.
 */
export function checksOf(names: readonly string[], result_data: Data | null): Check[] {
  const found = result_data?.["checks"];
  const outcomes = Array.isArray(found) ? found.filter(isRecord) : [];
  return names.map((name): Check => {
    const outcome = outcomes.find((check) => check["name"] === name);
    if (!outcome) return { name, result: "not run", output: "" };
    const { exit, reason, output_tail } = outcome;
    if (exit === 0) return { name, result: "passed", output: "" };
    const isFailed = typeof exit === "number" && typeof reason !== "string";
    const output = [reason, output_tail].filter((part) => typeof part === "string" && part !== "");
    return { name, result: isFailed ? "failed" : "no result", output: output.join("\n") };
  });
}

/** The rest of a result; null if nothing is left. */
export function withoutChecks(result_data: Data | null): Data | null {
  const rest = Object.entries(result_data ?? {}).filter(([key]) => key !== "checks");
  return rest.length > 0 ? Object.fromEntries(rest) : null;
}

function isRecord(value: unknown): value is Data {
  return typeof value === "object" && value !== null;
}
