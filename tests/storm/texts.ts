/** What is said in a storm: every text holds the word, so that no event may. */

export const SECRET_WORD = "sesame";
/** The human of the house. */
export const HUMAN = "sam";
/** What begins a text that is scheduled. */
export const SCHEDULED_PREFIX = "later";
