-- SPDX-License-Identifier: Apache-2.0
-- Views of a history in PostgreSQL for Grafana and other readers. Created by `headroom history views`, which fills change_points.
-- Columns are only ever added, at the end.
CREATE SCHEMA IF NOT EXISTS headroom_views;

CREATE TABLE IF NOT EXISTS headroom_views.change_points (
  series BIGINT NOT NULL, run BIGINT NOT NULL, ratio DOUBLE PRECISION, low DOUBLE PRECISION, high DOUBLE PRECISION);

-- identity is a JSON array with the backend at 3. PostgreSQL refuses some escapes (\u0000).
CREATE OR REPLACE VIEW headroom_views.series AS
SELECT id AS series, fingerprint AS machine, name AS case_name,
  CASE WHEN strpos(identity, '\u') = 0 THEN identity::json ->> 3 ELSE '' END AS backend, metric, unit,
  CASE lower_is_better WHEN 1 THEN 'lower' WHEN 0 THEN 'higher' ELSE 'unknown' END AS better
FROM headroom.series;

-- A run without a known time is at 1970.
CREATE OR REPLACE VIEW headroom_views.runs AS
SELECT id AS run, to_timestamp(LEAST(GREATEST(time, 0), 253402300799)) AS time, fingerprint AS machine, git_sha AS commit,
  git_branch AS branch, headroom_version
FROM headroom.runs;

CREATE OR REPLACE VIEW headroom_views.results AS
SELECT u.time, s.machine, s.case_name, s.backend, s.metric, s.unit, r.value, r.low, r.high, r.run, u.commit, u.branch, r.series, s.better
FROM headroom.records r JOIN headroom_views.series s USING (series) JOIN headroom_views.runs u USING (run)
WHERE r.value IS NOT NULL;

-- ratio: the level after the change to the level before; low and high are its 95 % interval.
CREATE OR REPLACE VIEW headroom_views.changes AS
SELECT u.time, s.machine, s.case_name, s.backend, s.metric, s.unit, c.ratio, c.low, c.high, c.run, u.commit, u.branch, c.series,
  CASE WHEN c.ratio IS NULL OR s.better = 'unknown' THEN 'changed' WHEN (c.ratio > 1) = (s.better = 'lower') THEN 'worse' ELSE 'better'
  END AS verdict
FROM headroom_views.change_points c JOIN headroom_views.series s USING (series) JOIN headroom_views.runs u USING (run);
