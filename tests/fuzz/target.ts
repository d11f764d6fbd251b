/** A fuzz target: a property over hostile input, which is opened anew for each round. */

import fc from "fast-check";

/** Counts inputs by a name, such as a route with the status of its answer. */
export type Count = (name: string) => void;

export interface OpenTarget extends AsyncDisposable {
  /** Fails for an input that breaks an invariant; fast-check shrinks the input. */
  readonly property: fc.IRawProperty<unknown>;
  /** Checks what must hold after all inputs. */
  verify?(): void | Promise<void>;
}

export interface Target {
  readonly name: string;
  /** Number of inputs of the short run in the suite; a long run takes more. */
  readonly inputs: number;
  open(count: Count): Promise<OpenTarget>;
}

export interface Finding {
  readonly target: string;
  readonly seed: number;
  readonly message: string;
}

/** Runs one round; undefined if every invariant held. */
export async function runTarget(
  target: Target,
  { seed, inputs, ms_max, count }: { seed: number; inputs: number; ms_max: number; count: Count },
): Promise<Finding | undefined> {
  const failures: string[] = [];
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    failures.push(`Unhandled rejection: ${describe(event.reason)}`);
  };
  globalThis.addEventListener("unhandledrejection", onRejection);
  try {
    await using fuzzed = await target.open(count);
    const details = await fc.check(fuzzed.property, {
      seed,
      numRuns: inputs,
      interruptAfterTimeLimit: ms_max,
      markInterruptAsFailure: false,
    });
    if (details.failed) {
      const report = fc.defaultReportMessage(details) ?? "It failed";
      failures.push(`${report}\n${describe(details.errorInstance)}`);
    } else await fuzzed.verify?.();
  } catch (error) {
    failures.push(describe(error));
  } finally {
    globalThis.removeEventListener("unhandledrejection", onRejection);
  }
  if (failures.length === 0) return undefined;
  return { target: target.name, seed, message: failures.join("\n") };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

const PARSER_INPUTS = 200;
/** The longest time for one input; the regular expressions' tests measure growth. */
const PARSE_MS_MAX = 1500;

/** A parser: it returns, or throws what its callers expect, and takes little time. */
export function parser<T>(
  name: string,
  input: fc.Arbitrary<T>,
  check: (input: T) => unknown,
  inputs = PARSER_INPUTS,
): Target {
  return {
    name,
    inputs,
    open(count) {
      const property = fc.asyncProperty(input, async (given) => {
        count(name);
        const began = performance.now();
        await check(given);
        const ms = performance.now() - began;
        if (ms > PARSE_MS_MAX) throw new Error(`It took ${ms.toFixed()} ms`);
      });
      return Promise.resolve({ property, [Symbol.asyncDispose]: () => Promise.resolve() });
    },
  };
}
