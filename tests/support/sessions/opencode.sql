-- opencode 1.18.33: the tables of opencode.db that hold conversations, recorded offline.
CREATE TABLE session (
  id text PRIMARY KEY,
  project_id text NOT NULL,
  workspace_id text,
  parent_id text,
  slug text NOT NULL,
  directory text NOT NULL,
  path text,
  title text NOT NULL,
  version text NOT NULL,
  share_url text,
  summary_additions integer,
  summary_deletions integer,
  summary_files integer,
  summary_diffs text,
  metadata text,
  cost real DEFAULT 0 NOT NULL,
  tokens_input integer DEFAULT 0 NOT NULL,
  tokens_output integer DEFAULT 0 NOT NULL,
  tokens_reasoning integer DEFAULT 0 NOT NULL,
  tokens_cache_read integer DEFAULT 0 NOT NULL,
  tokens_cache_write integer DEFAULT 0 NOT NULL,
  revert text,
  permission text,
  agent text,
  model text,
  time_created integer NOT NULL,
  time_updated integer NOT NULL,
  time_compacting integer,
  time_archived integer
);
insert into session values ('ses_de7f37ffaffepJ6qnFpADRmav9', 'global', null, null, 'happy-mountain', '/home/sam/api', '', 'fake side answer', '1.18.33', null, 0, 0, 0, null, null, 0.0, 300, 60, 0, 0, 0, null, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"fake-1","providerID":"fake","variant":"default"}', 1795699802117, 1795699823675, null, null);
CREATE TABLE message (
  id text PRIMARY KEY,
  session_id text NOT NULL,
  time_created integer NOT NULL,
  time_updated integer NOT NULL,
  data text NOT NULL
);
insert into message values ('msg_2180c8159001o5xRB5qS5A30et', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699802457, 1795699811407, '{"role":"user","time":{"created":1795699802457},"agent":"build","model":{"providerID":"fake","modelID":"fake-1"},"summary":{"diffs":[]}}');
insert into message values ('msg_2180c8ac1001pT3r7owRKCov98', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699804865, 1795699811024, '{"parentID":"msg_2180c8159001o5xRB5qS5A30et","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/sam/api","root":"/home/sam/api"},"cost":0,"tokens":{"total":120,"input":100,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795699804865,"completed":1795699811022},"finish":"tool-calls"}');
insert into message values ('msg_2180ca2d50011syGkqO55Veo2O', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699811029, 1795699811857, '{"parentID":"msg_2180c8159001o5xRB5qS5A30et","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/sam/api","root":"/home/sam/api"},"cost":0,"tokens":{"total":120,"input":100,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795699811029,"completed":1795699811855},"finish":"stop"}');
insert into message values ('msg_2180cbd09001dBCVq8DbEPWpus', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699817737, 1795699821096, '{"role":"user","time":{"created":1795699817737},"agent":"build","model":{"providerID":"fake","modelID":"fake-1"},"summary":{"diffs":[]}}');
insert into message values ('msg_2180cc83f00184DNNW5eqcO5K1', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699820607, 1795699823652, '{"parentID":"msg_2180cbd09001dBCVq8DbEPWpus","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/sam/api","root":"/home/sam/api"},"cost":0,"tokens":{"total":120,"input":100,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-1","providerID":"fake","time":{"created":1795699820607,"completed":1795699823651},"finish":"stop"}');
CREATE TABLE part (
  id text PRIMARY KEY,
  message_id text NOT NULL,
  session_id text NOT NULL,
  time_created integer NOT NULL,
  time_updated integer NOT NULL,
  data text NOT NULL
);
insert into part values ('prt_2180c8190001GEiu7jVUSrpGUy', 'msg_2180c8159001o5xRB5qS5A30et', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699804778, 1795699804786, '{"type":"text","text":"Read the notes\n@@TOOL bash {\"command\":\"echo hi; cat notes.txt\",\"description\":\"read\"}\n@@SAY The notes say hello."}');
insert into part values ('prt_2180c9a33001vvTF7G2G5X1blK', 'msg_2180c8ac1001pT3r7owRKCov98', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699808819, 1795699808821, '{"snapshot":"b96a2d5e4ebf38cf72471d3976c023922e5b94a8","type":"step-start"}');
insert into part values ('prt_2180c9a43001olwrwcIzFQyvP5', 'msg_2180c8ac1001pT3r7owRKCov98', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699808835, 1795699810607, '{"type":"tool","tool":"bash","callID":"call_bddcff5baaa83800246d","state":{"status":"completed","input":{"command":"echo hi; cat notes.txt","description":"read"},"output":"hi\nhello from the file\n","metadata":{"output":"hi\nhello from the file\n","exit":0,"truncated":false},"title":"echo hi; cat notes.txt","time":{"start":1795699808892,"end":1795699810560}}}');
insert into part values ('prt_2180ca26a0014lf3qEjbh5nb3C', 'msg_2180c8ac1001pT3r7owRKCov98', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699810923, 1795699810926, '{"reason":"tool-calls","snapshot":"b96a2d5e4ebf38cf72471d3976c023922e5b94a8","type":"step-finish","tokens":{"total":120,"input":100,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
insert into part values ('prt_2180ca4ed001PuBW7taKaOt5fN', 'msg_2180ca2d50011syGkqO55Veo2O', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699811565, 1795699811570, '{"snapshot":"b96a2d5e4ebf38cf72471d3976c023922e5b94a8","type":"step-start"}');
insert into part values ('prt_2180ca4f4001aSjg0a378VJezM', 'msg_2180ca2d50011syGkqO55Veo2O', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699811573, 1795699811585, '{"type":"text","text":"The notes say hello.","time":{"start":1795699811572,"end":1795699811582}}');
insert into part values ('prt_2180ca5a3001ZUnFRxrhDVcNhp', 'msg_2180ca2d50011syGkqO55Veo2O', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699811747, 1795699811749, '{"reason":"stop","snapshot":"b96a2d5e4ebf38cf72471d3976c023922e5b94a8","type":"step-finish","tokens":{"total":120,"input":100,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
insert into part values ('prt_2180cbd17001aSJQ753P88Hh53', 'msg_2180cbd09001dBCVq8DbEPWpus', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699820569, 1795699820573, '{"type":"text","text":"And again\n@@SAY Second turn."}');
insert into part values ('prt_2180cd35c001zOCxmzHMubJk9z', 'msg_2180cc83f00184DNNW5eqcO5K1', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699823452, 1795699823460, '{"snapshot":"b96a2d5e4ebf38cf72471d3976c023922e5b94a8","type":"step-start"}');
insert into part values ('prt_2180cd370001skK8hVn8s37G14', 'msg_2180cc83f00184DNNW5eqcO5K1', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699823472, 1795699823495, '{"type":"text","text":"Second turn.","time":{"start":1795699823472,"end":1795699823493}}');
insert into part values ('prt_2180cd3bd001XTEXPl0Vvda0Qm', 'msg_2180cc83f00184DNNW5eqcO5K1', 'ses_de7f37ffaffepJ6qnFpADRmav9', 1795699823550, 1795699823552, '{"reason":"stop","snapshot":"b96a2d5e4ebf38cf72471d3976c023922e5b94a8","type":"step-finish","tokens":{"total":120,"input":100,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
