-- Every table leads with tenant and session, so that sessions can be spread over servers.

-- The head: small, because it is rewritten on every arrival and every commit. The record lives apart.
CREATE TABLE session (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active',
    epoch INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    seq INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    owner_name TEXT,
    prior_owner TEXT,
    lease_until REAL,
    due REAL,
    tail INTEGER NOT NULL DEFAULT 0,
    prior_tail INTEGER NOT NULL DEFAULT 0,
    run_id TEXT NOT NULL DEFAULT '',
    last_turn TEXT NOT NULL DEFAULT '',
    attempt INTEGER NOT NULL DEFAULT 0,
    attempt_pos INTEGER NOT NULL DEFAULT 0,
    attempt_error TEXT NOT NULL DEFAULT '',
    reply_route BLOB,
    turns INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    cost REAL NOT NULL DEFAULT 0,
    seconds REAL NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    PRIMARY KEY (tenant, session)
) WITHOUT ROWID;

CREATE INDEX session_due ON session (tenant, due, updated_at) WHERE due IS NOT NULL;
CREATE INDEX session_updated ON session (updated_at);

-- The newest record, whole; older ones are folded from a checkpoint and the transcript.
CREATE TABLE record (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    checksum TEXT NOT NULL,
    PRIMARY KEY (tenant, session)
) WITHOUT ROWID;

CREATE TABLE checkpoint (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    turn_id TEXT NOT NULL,
    at REAL NOT NULL,
    body BLOB NOT NULL,
    checksum TEXT NOT NULL,
    PRIMARY KEY (tenant, session, seq)
) WITHOUT ROWID;

CREATE TABLE transcript (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    type TEXT NOT NULL,
    schema INTEGER NOT NULL DEFAULT 1,
    at REAL NOT NULL,
    turn_id TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, session, seq)
) WITHOUT ROWID;

-- The first arrival of an id and where it was routed: what makes a second arrival harmless.
CREATE TABLE received (
    tenant TEXT NOT NULL,
    source TEXT NOT NULL,
    event_id TEXT NOT NULL,
    session TEXT NOT NULL,
    body_hash BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (tenant, source, event_id)
) WITHOUT ROWID;

-- A position is never used twice, not even after its row is gone: turn ids and effect ids are derived from it.
CREATE TABLE inbox (
    pos INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    source TEXT NOT NULL,
    event_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    rank INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'queued',
    due REAL NOT NULL,
    received_at REAL NOT NULL,
    settled_at REAL,
    turn_id TEXT,
    reason TEXT,
    body BLOB
);

CREATE UNIQUE INDEX inbox_identity ON inbox (tenant, session, source, event_id);
CREATE INDEX inbox_queued ON inbox (tenant, session, rank, pos) WHERE status = 'queued';
CREATE INDEX inbox_received ON inbox (received_at);

-- A turn that began and has not closed: what it was pinned to, and its recorded steps.
CREATE TABLE journal (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    members BLOB NOT NULL,
    agent_version TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (tenant, session)
) WITHOUT ROWID;

CREATE TABLE step (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    key TEXT NOT NULL,
    args_hash TEXT NOT NULL,
    result BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (tenant, session, turn_id, key)
) WITHOUT ROWID;

-- `blocks`: it holds its lane. `head`: it is the first that does. Both are kept in the transactions that change them.
CREATE TABLE outbox (
    pos INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    lane TEXT NOT NULL,
    adapter TEXT NOT NULL,
    target BLOB NOT NULL,
    body BLOB NOT NULL,
    summary TEXT NOT NULL,
    then_name TEXT NOT NULL,
    binds BLOB,
    approval TEXT NOT NULL,
    route BLOB,
    on_unknown TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    blocks INTEGER NOT NULL DEFAULT 1,
    head INTEGER NOT NULL,
    due REAL,
    expires_at REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    checks INTEGER NOT NULL DEFAULT 0,
    claim TEXT,
    claim_until REAL,
    external_id TEXT NOT NULL DEFAULT '',
    receipt TEXT NOT NULL DEFAULT '',
    result BLOB,
    error TEXT NOT NULL DEFAULT '',
    unwanted INTEGER NOT NULL DEFAULT 0,
    possible_duplicate INTEGER NOT NULL DEFAULT 0,
    absorbed INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    sent_at REAL,
    settled_at REAL
);

CREATE UNIQUE INDEX outbox_effect ON outbox (effect_id);
CREATE INDEX outbox_session ON outbox (tenant, session, pos);
CREATE INDEX outbox_lane ON outbox (tenant, session, lane, pos) WHERE blocks = 1;
CREATE INDEX outbox_due ON outbox (due) WHERE head = 1 AND due IS NOT NULL AND state IN ('pending', 'retry');
CREATE INDEX outbox_unknown ON outbox (due) WHERE state = 'unknown' AND due IS NOT NULL;
CREATE INDEX outbox_claim ON outbox (claim_until) WHERE claim IS NOT NULL;
CREATE INDEX outbox_receipt ON outbox (tenant, session)
    WHERE absorbed = 0 AND state IN ('delivered', 'failed', 'expired', 'cancelled');
CREATE INDEX outbox_created ON outbox (created_at);

-- Questions and timers; `due` is when a timer fires or a question expires.
CREATE TABLE wait (
    wait_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    turn_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    then_name TEXT NOT NULL,
    question TEXT NOT NULL,
    options BLOB NOT NULL,
    binds BLOB NOT NULL,
    data BLOB NOT NULL,
    priority INTEGER NOT NULL,
    route BLOB,
    due REAL,
    status TEXT NOT NULL DEFAULT 'open',
    answer BLOB,
    answered_by TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    asked_at REAL NOT NULL,
    ended_at REAL
) WITHOUT ROWID;

CREATE INDEX wait_due ON wait (due) WHERE status = 'open' AND due IS NOT NULL;
CREATE INDEX wait_session ON wait (tenant, session, asked_at);
CREATE INDEX wait_open ON wait (asked_at) WHERE status = 'open';

CREATE TABLE cron (
    tenant TEXT NOT NULL,
    job TEXT NOT NULL,
    agent TEXT NOT NULL,
    handler TEXT NOT NULL,
    session TEXT NOT NULL,
    schedule TEXT NOT NULL,
    tz TEXT NOT NULL,
    misfire TEXT NOT NULL,
    overlap TEXT NOT NULL,
    grace_s REAL NOT NULL,
    data BLOB NOT NULL,
    next_due REAL,
    last_nominal REAL,
    paused INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (tenant, job)
) WITHOUT ROWID;

CREATE TABLE cron_fire (
    tenant TEXT NOT NULL,
    job TEXT NOT NULL,
    nominal TEXT NOT NULL,
    at REAL NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (tenant, job, nominal)
) WITHOUT ROWID;

CREATE TABLE dead (
    dead_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    source TEXT NOT NULL,
    event_id TEXT NOT NULL,
    pos INTEGER,
    reason TEXT NOT NULL,
    raw BLOB NOT NULL,
    at REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'dead'
) WITHOUT ROWID;

-- What was accepted and intended, counted in the transactions that did it: a deleted or doubled row shows.
CREATE TABLE counter (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    hour INTEGER NOT NULL,
    writer TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (tenant, name, hour, writer)
) WITHOUT ROWID;

CREATE TABLE audit_trail (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    tenant TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    detail TEXT NOT NULL
);
