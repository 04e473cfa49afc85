// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/run_insertion.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/history/packed_text.h"
#include "headroom/record/environment_json.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

SqlValue whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

/// Text as every database takes it: UTF-8 without NUL. The packed record keeps what it was.
std::string storable(const std::string& raw) {
  std::string clean = parse_json(dump_json(raw), "text").string();
  std::erase(clean, '\0');
  return clean;
}

const Environment& environment_of(const Record& record) {
  static const Environment kNone;
  return record.environment ? *record.environment : kNone;
}

/// What makes two records values of the same series.
using SeriesKey = std::tuple<std::string, std::string, std::string>;

/// A record of a run, and whether the run has the same quantity from another runner too.
struct RunRecord {
  const Record& record;
  bool compared;
};

/// Marks what two runners of one run measured: build A beside build B. Elsewhere the runner is left out, or a
/// program that was moved to another folder would begin its history anew.
std::vector<RunRecord> run_records(const std::vector<Record>& records) {
  std::map<std::string, std::set<std::string>> runners;
  std::vector<std::string> identities;
  for (const Record& record : records) {
    identities.push_back(identity(record));
    runners[identities.back()].insert(record.runner);
  }
  std::vector<RunRecord> marked;
  for (std::size_t i = 0; i < records.size(); ++i) {
    marked.push_back({records[i], runners.at(identities[i]).size() > 1});
  }
  return marked;
}

SeriesKey series_key(const RunRecord& of) {
  const Record& record = of.record;
  std::string name = identity(record);
  if (of.compared) {
    Json parts = parse_json(name, "identity");
    parts.push_back(record.runner);
    name = dump_json(parts);
  }
  return {storable(name), storable(environment_of(record).fingerprint), storable(record.metric.unit)};
}

std::string series_name(const RunRecord& of) {
  const Record& record = of.record;
  std::string name = case_name(record);
  for (const std::string& part : {record.model.backend, record.device, record.caches}) {
    if (!part.empty()) name += " " + part;
  }
  if (record.threads > 0) name += fmt::format(" {}t", record.threads);
  if (of.compared) name += " runner=" + record.runner;
  return name;
}

std::int64_t series_id(Database& database, const SeriesKey& key, const RunRecord& of) {
  const Record& record = of.record;
  const std::string& identity = std::get<0>(key);
  const std::string& fingerprint = std::get<1>(key);
  const std::string& unit = std::get<2>(key);
  std::optional<std::int64_t> id;
  const auto look_up = [&] {
    database.execute("SELECT id FROM series WHERE identity = $1 AND fingerprint = $2 AND unit = $3",
                     {identity, fingerprint, unit},
                     [&id](const SqlRow& row) { id = std::get<std::int64_t>(row[0]); });
  };
  look_up();
  if (id) return *id;
  const std::int64_t lower = record.metric.direction == Direction::kLowerIsBetter ? 1 : 0;
  database.execute(
      "INSERT INTO series (identity, fingerprint, unit, name, metric, lower_is_better) "
      "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (identity, fingerprint, unit) DO NOTHING",
      {identity, fingerprint, unit, storable(series_name(of)), storable(record.metric.name), lower});
  look_up();
  return id.value();
}

/// The series of all records, made in the order of their keys: two processes that make the same new ones
/// cannot block each other.
std::map<SeriesKey, std::int64_t> series_ids(Database& database, const std::vector<RunRecord>& records) {
  std::map<SeriesKey, const RunRecord*> keys;
  for (const RunRecord& record : records) keys.try_emplace(series_key(record), &record);
  std::map<SeriesKey, std::int64_t> ids;
  for (const auto& [key, record] : keys) ids[key] = series_id(database, key, *record);
  return ids;
}

void insert_record(Database& database, const Record& record, std::int64_t run, std::size_t position,
                   std::int64_t series, const std::string& content) {
  const bool measured = record.outcome.kind == Outcome::Kind::kMeasured;
  const bool has_interval = record.interval && std::isfinite(record.interval->low) &&
                            std::isfinite(record.interval->high) && measured;
  const auto of_interval = [&](double Interval::*field) {
    return has_interval ? SqlValue((*record.interval).*field) : SqlValue();
  };
  database.execute(
      "INSERT INTO records (run, position, series, time, value, low, high, confidence, samples, content) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
      {run, whole(position), series, whole(environment_of(record).timestamp), stored_value(record),
       of_interval(&Interval::low), of_interval(&Interval::high), of_interval(&Interval::confidence),
       whole(sample_count(record)), Blob{pack_text(content)}});
}

}  // namespace

SqlValue stored_value(const Record& record) {
  const bool measured = record.outcome.kind == Outcome::Kind::kMeasured;
  return measured && std::isfinite(record.metric.value) ? SqlValue(record.metric.value) : SqlValue();
}

RunText run_text(const std::vector<Record>& records) {
  if (records.empty()) throw std::invalid_argument("a run without records");
  const Environment* first = records.front().environment.get();
  RunText result;
  result.environment = dump_json(json_of(environment_of(records.front())));
  for (const Record& record : records) {
    if (record.environment.get() != first) throw std::invalid_argument("a run in two environments");
    result.records.push_back(dump_json(record_json::write_record(record)));
  }
  return result;
}

RunText stored_run_text(Database& database, std::int64_t run) {
  std::string digest;
  database.execute("SELECT digest FROM runs WHERE id = $1", {run},
                   [&](const SqlRow& row) { digest = std::get<std::string>(row[0]); });
  RunText text = shortened_run_text(database, run);
  if (digest.empty() || digest_of(text) == digest) return text;
  throw Error(fmt::format(
      "{}: run {}: damaged: it is not what was stored; headroom history verify tells of all, repair mends it",
      database.name(), run));
}

RunText shortened_run_text(Database& database, std::int64_t run) {
  const std::string where = fmt::format("{}: run {}", database.name(), run);
  const auto unpacked = [&where](const SqlValue& value) {
    return unpack_text(std::get<Blob>(value).bytes, where);
  };
  RunText text;
  database.execute("SELECT content FROM environments WHERE run = $1", {run},
                   [&](const SqlRow& row) { text.environment = unpacked(row[0]); });
  database.execute("SELECT content FROM records WHERE run = $1 ORDER BY position", {run},
                   [&](const SqlRow& row) { text.records.push_back(unpacked(row[0])); });
  return text;
}

std::string digest_of(const RunText& run) {
  return digest_of(run.environment + '\n' + join(run.records, "\n"));
}

std::int64_t insert_run(Database& database, const std::vector<Record>& records, const RunText& text) {
  const Environment& environment = environment_of(records.front());
  std::int64_t run = 0;
  database.execute(
      "INSERT INTO runs (time, fingerprint, git_sha, git_branch, git_repo, headroom_version, command, "
      "records, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
      {whole(environment.timestamp), storable(environment.fingerprint), storable(environment.git_sha),
       storable(environment.git_branch), storable(environment.git_repo),
       storable(environment.headroom_version), storable(join(environment.command, " ")),
       whole(records.size()), digest_of(text)},
      [&run](const SqlRow& row) { run = std::get<std::int64_t>(row[0]); });
  database.execute("INSERT INTO environments (run, content) VALUES ($1, $2)",
                   {run, Blob{pack_text(text.environment)}});
  const std::vector<RunRecord> marked = run_records(records);
  const std::map<SeriesKey, std::int64_t> series = series_ids(database, marked);
  for (std::size_t i = 0; i < records.size(); ++i) {
    insert_record(database, records[i], run, i, series.at(series_key(marked[i])), text.records[i]);
  }
  return run;
}

}  // namespace headroom
