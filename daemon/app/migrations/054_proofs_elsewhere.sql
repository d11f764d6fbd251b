-- The name of the other machine that runs the checks of an answer; null for this one.

alter table proofs add column machine text;
