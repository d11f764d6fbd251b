/** One sentence that the product must keep, under an id that never changes. */

/** What must be there for a sentence to hold: `messages` and `built` are, the others come later. */
export type Issue = "messages" | "built" | "peers" | "jobs" | "relay" | "dashboard";

/** Id, issue, sentence. The id begins with its section: `3.…` of the paper, `c3.…` of its contract. */
export type Requirement = readonly [id: string, issue: Issue, sentence: string];
