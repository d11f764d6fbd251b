/** The texts of a storm: each holds the secret word, which no event may hold. */

export const SECRET_WORD = "sesame";
/** The name of the human. */
export const HUMAN = "sam";
/** The start of every scheduled text. */
export const SCHEDULED_PREFIX = "later";
