-- The session whose hook or file reported a commit; null for reports of earlier versions.

alter table reported_commits add column session_id text;
