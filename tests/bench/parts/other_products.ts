/** Placeholder */
import type { Figure } from "../report/figures.ts";
export const otherProducts = (): Promise<Figure[]> => Promise.resolve([]);
