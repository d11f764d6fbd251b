/** The version of the product and of its contracts. */
export const VERSION = "0.1.0";
