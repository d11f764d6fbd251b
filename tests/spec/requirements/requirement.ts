/** A sentence that the product must keep, under an id that never changes. */

/** The issue that implements a requirement. */
export type Issue = "messages" | "built" | "jobs" | "relay" | "dashboard";

/** The id begins with its section: `3.…` of the specification, `c3.…` of the contract. */
export type Requirement = readonly [id: string, issue: Issue, sentence: string];
