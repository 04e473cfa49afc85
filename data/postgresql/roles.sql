-- SPDX-License-Identifier: Apache-2.0
-- Roles with least rights for a history in PostgreSQL. Run as its owner, with the right to create roles, after
-- `headroom history views`; running it again does no harm. Then give each login its role, for example:
--   CREATE ROLE ci LOGIN PASSWORD '...' IN ROLE headroom_writer;
--   CREATE ROLE grafana LOGIN PASSWORD '...' IN ROLE headroom_reader;
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'headroom_writer') THEN CREATE ROLE headroom_writer NOLOGIN; END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'headroom_reader') THEN CREATE ROLE headroom_reader NOLOGIN; END IF;
END $$;

-- The writer adds runs and calls `headroom history gate`. It cannot read command lines, environments, repositories or samples of others,
-- nor change or remove a value. Checksums of rows are written after their row, which is why it may update them.
GRANT USAGE ON SCHEMA headroom TO headroom_writer;
GRANT SELECT ON headroom.headroom_store, headroom.series TO headroom_writer;
GRANT SELECT (id, time, git_sha, git_branch, headroom_version, digest), INSERT, UPDATE (row_check) ON headroom.runs TO headroom_writer;
GRANT INSERT, UPDATE (row_check) ON headroom.series TO headroom_writer;
GRANT INSERT ON headroom.environments TO headroom_writer;
GRANT SELECT (run, position, series, time, value, low, high, confidence, samples, row_check), INSERT ON headroom.records
  TO headroom_writer;

-- The reader sees the views, and no table.
GRANT USAGE ON SCHEMA headroom_views TO headroom_reader;
GRANT SELECT ON headroom_views.series, headroom_views.runs, headroom_views.results, headroom_views.changes TO headroom_reader;
