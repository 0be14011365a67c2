-- Which session's transcript event refers to which artifact. A row is kept as long as its event, or as a kept record or
-- checkpoint holds its digest; a digest without a row may be collected.
CREATE TABLE artifact_ref (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (tenant, session, digest, seq)
) WITHOUT ROWID;

CREATE INDEX artifact_ref_by_digest ON artifact_ref (digest);
