BEGIN TRANSACTION;
CREATE TABLE account (
	person_id INTEGER NOT NULL, 
	password VARCHAR(200), 
	stamp VARCHAR(32) NOT NULL, 
	closed VARCHAR(27), 
	CONSTRAINT pk_account PRIMARY KEY (person_id), 
	CONSTRAINT fk_account_person_id FOREIGN KEY(person_id) REFERENCES person (id)
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0007');
CREATE TABLE assignment (
	queue_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	CONSTRAINT pk_assignment PRIMARY KEY (queue_id, person_id), 
	CONSTRAINT fk_assignment_queue_id FOREIGN KEY(queue_id) REFERENCES queue (id), 
	CONSTRAINT fk_assignment_person_id FOREIGN KEY(person_id) REFERENCES person (id)
);
CREATE TABLE block (
	queue_id INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	size INTEGER NOT NULL, 
	CONSTRAINT pk_block PRIMARY KEY (queue_id, start), 
	CONSTRAINT fk_block_queue_id FOREIGN KEY(queue_id) REFERENCES queue (id)
);
INSERT INTO "block" VALUES(1,0,2);
INSERT INTO "block" VALUES(2,0,1);
INSERT INTO "block" VALUES(3,0,1);
CREATE TABLE browser_session (
	digest VARCHAR(64) NOT NULL, 
	person_id INTEGER NOT NULL, 
	stamp VARCHAR(32) NOT NULL, 
	begun VARCHAR(27) NOT NULL, 
	seen VARCHAR(27) NOT NULL, 
	ended VARCHAR(27), 
	CONSTRAINT pk_browser_session PRIMARY KEY (digest), 
	CONSTRAINT fk_browser_session_person_id FOREIGN KEY(person_id) REFERENCES person (id)
);
CREATE TABLE chain (
	position INTEGER NOT NULL, 
	kind VARCHAR(12) NOT NULL, 
	row_id INTEGER NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_chain PRIMARY KEY (position)
);
INSERT INTO "chain" VALUES(1,'vote',1,'7ca582921de8f4828c5bdf75a7be549770cf4118a87a907af0a437276e4c51ed');
INSERT INTO "chain" VALUES(2,'vote',2,'9ca4f526374e1defeb0e1e59298fe41458ef849f6eaa03fd3b6bc0afb4f3e55e');
INSERT INTO "chain" VALUES(3,'comment',1,'892947e5a56bdcd2f003d0b9361b67aada23e7c6bcc23db9f9856ff11da940fd');
INSERT INTO "chain" VALUES(4,'vote',3,'d4f418fdb2e01268d051fcbbdc6cc0809b2831f3c784ad6b131cf373d78e3e33');
INSERT INTO "chain" VALUES(5,'decision',1,'164037b469ebb4a4150f7bfddc4b426dcf0e004a21b9bb93649f711d9bfb0881');
INSERT INTO "chain" VALUES(6,'vote',4,'987972485cedf2357d7888ec8bb9ede0bcce62ca6c9f93acdaea5ef7e0a3575d');
INSERT INTO "chain" VALUES(7,'vote',5,'a7e23bac93edf92bbcdd961f75542097301a8e86227da7f98084e69176114f66');
INSERT INTO "chain" VALUES(8,'vote',6,'2daf0cc6974cfafd13b341cef5e3e9ff31092738ba077406f174c2ba7ba21ce2');
INSERT INTO "chain" VALUES(9,'decision',2,'63114f4f80f820187b1aa9b1b93ae29cee2c43b5a8caf59ffad15ac987d58d2e');
INSERT INTO "chain" VALUES(10,'vote',7,'81181b884da26b20f6544eb4440e2e0e2100ddc1d72cd7d54c1950ff847e882a');
CREATE TABLE comment (
	id INTEGER NOT NULL, 
	item_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_comment PRIMARY KEY (id), 
	CONSTRAINT fk_comment_item_id FOREIGN KEY(item_id) REFERENCES item (id), 
	CONSTRAINT fk_comment_person_id FOREIGN KEY(person_id) REFERENCES person (id)
);
INSERT INTO "comment" VALUES(1,1,1,'Look at the tail.','2026-11-16T16:54:50.504818Z');
CREATE TABLE decision (
	id INTEGER NOT NULL, 
	item_id INTEGER NOT NULL, 
	replaces INTEGER, 
	answer VARCHAR(200) NOT NULL, 
	severity VARCHAR(10), 
	reached VARCHAR(12) NOT NULL, 
	person_id INTEGER, 
	why TEXT NOT NULL, 
	last_vote INTEGER NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_decision PRIMARY KEY (id), 
	CONSTRAINT fk_decision_item_id FOREIGN KEY(item_id) REFERENCES item (id), 
	CONSTRAINT fk_decision_person_id FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT fk_decision_replaces FOREIGN KEY(replaces) REFERENCES decision (id), 
	CONSTRAINT uq_decision_replaces UNIQUE (replaces)
);
INSERT INTO "decision" VALUES(1,1,NULL,'correct',NULL,'unanimously',NULL,'',3,'2026-11-16T16:54:50.518537Z');
INSERT INTO "decision" VALUES(2,3,NULL,'fine-grained','major','unanimously',NULL,'',6,'2026-11-16T16:54:50.550467Z');
CREATE TABLE guide_entry (
	id INTEGER NOT NULL, 
	class_space VARCHAR(80) NOT NULL, 
	class VARCHAR(200) NOT NULL, 
	replaces INTEGER, 
	text TEXT NOT NULL, 
	traits TEXT NOT NULL, 
	examples TEXT NOT NULL, 
	alike TEXT NOT NULL, 
	person_id INTEGER NOT NULL, 
	why TEXT NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_guide_entry PRIMARY KEY (id), 
	CONSTRAINT fk_guide_entry_person_id FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT fk_guide_entry_replaces FOREIGN KEY(replaces) REFERENCES guide_entry (id), 
	CONSTRAINT uq_guide_entry_replaces UNIQUE (replaces)
);
CREATE TABLE invitation (
	digest VARCHAR(64) NOT NULL, 
	person_id INTEGER NOT NULL, 
	until VARCHAR(27) NOT NULL, 
	used VARCHAR(27), 
	CONSTRAINT pk_invitation PRIMARY KEY (digest), 
	CONSTRAINT fk_invitation_person_id FOREIGN KEY(person_id) REFERENCES person (id)
);
CREATE TABLE item (
	id INTEGER NOT NULL, 
	queue_id INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	example VARCHAR(400) NOT NULL, 
	class VARCHAR(200) NOT NULL, 
	stratum INTEGER NOT NULL, 
	missing INTEGER NOT NULL, content VARCHAR(64), needed INTEGER DEFAULT '1' NOT NULL, 
	CONSTRAINT pk_item PRIMARY KEY (id), 
	CONSTRAINT fk_item_queue_id FOREIGN KEY(queue_id) REFERENCES queue (id), 
	CONSTRAINT uq_item_queue_id_example_class UNIQUE (queue_id, example, class), 
	CONSTRAINT uq_item_queue_id_place UNIQUE (queue_id, place)
);
INSERT INTO "item" VALUES(1,1,0,'img-1','cat',0,0,NULL,2);
INSERT INTO "item" VALUES(2,1,1,'img-2','dog',0,2,NULL,2);
INSERT INTO "item" VALUES(3,2,0,'img-3','fox',0,0,NULL,1);
INSERT INTO "item" VALUES(4,3,0,'img-4','',0,0,NULL,1);
CREATE TABLE lease (
	item_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	queue_id INTEGER NOT NULL, 
	until VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_lease PRIMARY KEY (item_id, person_id), 
	CONSTRAINT fk_lease_item_id FOREIGN KEY(item_id) REFERENCES item (id), 
	CONSTRAINT fk_lease_person_id FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT fk_lease_queue_id FOREIGN KEY(queue_id) REFERENCES queue (id)
);
INSERT INTO "lease" VALUES(2,1,1,'2026-11-16T17:09:50.530346Z');
CREATE TABLE one_time_link (
	digest VARCHAR(64) NOT NULL, 
	until VARCHAR(27) NOT NULL, 
	used VARCHAR(27), 
	CONSTRAINT pk_one_time_link PRIMARY KEY (digest)
);
CREATE TABLE overlap_change (
	id INTEGER NOT NULL, 
	queue_id INTEGER NOT NULL, 
	person_id INTEGER, 
	"before" INTEGER NOT NULL, 
	"after" INTEGER NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_overlap_change PRIMARY KEY (id), 
	CONSTRAINT fk_overlap_change_person_id FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT fk_overlap_change_queue_id FOREIGN KEY(queue_id) REFERENCES queue (id)
);
CREATE TABLE person (
	id INTEGER NOT NULL, 
	name VARCHAR(80) NOT NULL, 
	role VARCHAR(10) NOT NULL, 
	joined VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_person PRIMARY KEY (id), 
	CONSTRAINT ck_person_role CHECK (role IN ('owner', 'reviewer', 'labeler')), 
	CONSTRAINT uq_person_name UNIQUE (name)
);
INSERT INTO "person" VALUES(1,'Ada','reviewer','2026-11-16T16:54:50.439637Z');
INSERT INTO "person" VALUES(2,'Ben','reviewer','2026-11-16T16:54:50.454266Z');
INSERT INTO "person" VALUES(3,'Cleo','reviewer','2026-11-16T16:54:50.458044Z');
CREATE TABLE queue (
	id INTEGER NOT NULL, 
	name VARCHAR(80) NOT NULL, 
	question VARCHAR(10) NOT NULL, 
	test_set VARCHAR(200) NOT NULL, 
	labels VARCHAR(200) NOT NULL, 
	overlap INTEGER NOT NULL, 
	opened VARCHAR(27) NOT NULL, model VARCHAR(200) DEFAULT '' NOT NULL, mode VARCHAR(12) DEFAULT 'examination' NOT NULL, 
	CONSTRAINT pk_queue PRIMARY KEY (id), 
	CONSTRAINT ck_queue_question CHECK (question IN ('judge', 'label', 'mistake')), 
	CONSTRAINT ck_queue_overlap CHECK (overlap >= 1), 
	CONSTRAINT uq_queue_name UNIQUE (name)
);
INSERT INTO "queue" VALUES(1,'novel','judge','pets','own@1',2,'2026-11-16T16:54:50.466121Z','','examination');
INSERT INTO "queue" VALUES(2,'mistakes','mistake','pets','own@1',1,'2026-11-16T16:54:50.542171Z','net','examination');
INSERT INTO "queue" VALUES(3,'exam','label','pets','',1,'2026-11-16T16:54:50.554456Z','','examination');
CREATE TABLE report (
	id INTEGER NOT NULL, 
	item_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	cleared VARCHAR(27), 
	cleared_by INTEGER, 
	CONSTRAINT pk_report PRIMARY KEY (id), 
	CONSTRAINT fk_report_item_id FOREIGN KEY(item_id) REFERENCES item (id), 
	CONSTRAINT fk_report_person_id FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT fk_report_cleared_by FOREIGN KEY(cleared_by) REFERENCES person (id)
);
CREATE TABLE secret (
	name VARCHAR(40) NOT NULL, 
	value VARCHAR(200) NOT NULL, 
	CONSTRAINT pk_secret PRIMARY KEY (name)
);
INSERT INTO "secret" VALUES('ledger','7600c76c13244850863ae9bec458b979');
CREATE TABLE sign_in_attempts (
	source VARCHAR(64) NOT NULL, 
	count INTEGER NOT NULL, 
	last VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_sign_in_attempts PRIMARY KEY (source)
);
CREATE TABLE skip (
	item_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	queue_id INTEGER NOT NULL, 
	CONSTRAINT pk_skip PRIMARY KEY (item_id, person_id), 
	CONSTRAINT fk_skip_item_id FOREIGN KEY(item_id) REFERENCES item (id), 
	CONSTRAINT fk_skip_person_id FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT fk_skip_queue_id FOREIGN KEY(queue_id) REFERENCES queue (id)
);
CREATE TABLE turn (
	queue_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	turn INTEGER NOT NULL, 
	CONSTRAINT pk_turn PRIMARY KEY (queue_id, person_id), 
	CONSTRAINT fk_turn_person_id FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT fk_turn_queue_id FOREIGN KEY(queue_id) REFERENCES queue (id)
);
CREATE TABLE vote (
	id INTEGER NOT NULL, 
	"key" VARCHAR(64) NOT NULL, 
	item_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	replaces INTEGER, 
	answer VARCHAR(200), 
	severity VARCHAR(10), 
	reason TEXT NOT NULL, 
	why TEXT NOT NULL, 
	seconds FLOAT, 
	at VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_vote PRIMARY KEY (id), 
	CONSTRAINT fk_vote_item_id FOREIGN KEY(item_id) REFERENCES item (id), 
	CONSTRAINT fk_vote_person_id FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT fk_vote_replaces FOREIGN KEY(replaces) REFERENCES vote (id), 
	CONSTRAINT uq_vote_key UNIQUE ("key"), 
	CONSTRAINT uq_vote_replaces UNIQUE (replaces)
);
INSERT INTO "vote" VALUES(1,'key 0',1,1,NULL,'correct',NULL,'','',NULL,'2026-11-16T16:54:50.482935Z');
INSERT INTO "vote" VALUES(2,'key 1',1,2,NULL,'wrong',NULL,'','a fox',NULL,'2026-11-16T16:54:50.494632Z');
INSERT INTO "vote" VALUES(3,'key 2',1,2,2,'correct',NULL,'','Ada is right about the tail',NULL,'2026-11-16T16:54:50.518537Z');
INSERT INTO "vote" VALUES(4,'key 3',2,1,NULL,'unclear',NULL,'','',NULL,'2026-11-16T16:54:50.527257Z');
INSERT INTO "vote" VALUES(5,'undo 1',2,1,4,NULL,NULL,'','undone at once',NULL,'2026-11-16T16:54:50.530346Z');
INSERT INTO "vote" VALUES(6,'key 4',3,3,NULL,'fine-grained','major','','',NULL,'2026-11-16T16:54:50.550467Z');
INSERT INTO "vote" VALUES(7,'key 5',4,3,NULL,'cat',NULL,'','',NULL,'2026-11-16T16:54:50.566436Z');
CREATE INDEX ix_item_missing ON item (queue_id, place) WHERE missing > 0;
CREATE INDEX ix_comment_item_id ON comment (item_id);
CREATE INDEX ix_decision_item_id ON decision (item_id);
CREATE INDEX ix_lease_person ON lease (queue_id, person_id);
CREATE INDEX ix_vote_item ON vote (item_id, person_id);
CREATE INDEX ix_vote_person ON vote (person_id, id);
CREATE UNIQUE INDEX uq_vote_first ON vote (item_id, person_id) WHERE replaces IS NULL;
CREATE TRIGGER vote_no_update BEFORE UPDATE ON vote BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER vote_no_delete BEFORE DELETE ON vote BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER comment_no_update BEFORE UPDATE ON comment BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER comment_no_delete BEFORE DELETE ON comment BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER decision_no_update BEFORE UPDATE ON decision BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER decision_no_delete BEFORE DELETE ON decision BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE INDEX ix_guide_entry_class ON guide_entry (class_space, class);
CREATE UNIQUE INDEX uq_guide_entry_first ON guide_entry (class_space, class) WHERE replaces IS NULL;
CREATE TRIGGER guide_entry_no_update BEFORE UPDATE ON guide_entry BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER guide_entry_no_delete BEFORE DELETE ON guide_entry BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER chain_no_update BEFORE UPDATE ON chain BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER chain_no_delete BEFORE DELETE ON chain BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER vote_no_replacement BEFORE INSERT ON vote WHEN EXISTS (SELECT 1 FROM vote WHERE id = NEW.id OR key = NEW.key OR replaces = NEW.replaces OR (NEW.replaces IS NULL AND replaces IS NULL AND item_id = NEW.item_id AND person_id = NEW.person_id)) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER comment_no_replacement BEFORE INSERT ON comment WHEN EXISTS (SELECT 1 FROM comment WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER decision_no_replacement BEFORE INSERT ON decision WHEN EXISTS (SELECT 1 FROM decision WHERE id = NEW.id OR replaces = NEW.replaces) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER guide_entry_no_replacement BEFORE INSERT ON guide_entry WHEN EXISTS (SELECT 1 FROM guide_entry WHERE id = NEW.id OR replaces = NEW.replaces OR (NEW.replaces IS NULL AND replaces IS NULL AND class_space = NEW.class_space AND class = NEW.class)) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE TRIGGER chain_no_replacement BEFORE INSERT ON chain WHEN EXISTS (SELECT 1 FROM chain WHERE position = NEW.position) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END;
CREATE INDEX ix_browser_session_person_id ON browser_session (person_id);
CREATE INDEX ix_sign_in_attempts_last ON sign_in_attempts (last);
CREATE INDEX ix_skip_person ON skip (queue_id, person_id);
CREATE INDEX ix_report_item ON report (item_id, person_id);
COMMIT;
