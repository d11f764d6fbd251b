/** The version of the product, in one place. */
export const VERSION = "0.1.0";
