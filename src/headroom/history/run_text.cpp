// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/run_text.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cmath>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

constexpr int kCompressionLevel = 3;
/// Far above any record; a damaged frame may claim any size.
constexpr unsigned long long kLargestText = 1ULL << 31;

SqlValue whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

/// Makes text valid for every database: UTF-8 without NUL. The packed record keeps the original.
std::string storable(const std::string& raw) {
  std::string clean = parse_json(dump_json(raw), "text").string();
  std::erase(clean, '\0');
  return clean;
}

const Environment& environment_of(const Record& record) {
  static const Environment kNone;
  return record.environment ? *record.environment : kNone;
}

/// Equal for records of the same series.
using SeriesKey = std::tuple<std::string, std::string, std::string>;

/// A record, and whether the run has the same quantity from another runner.
struct RunRecord {
  const Record& record;
  bool compared;
};

/// Marks quantities that two runners of one run measured, such as two builds. Otherwise the runner is left
/// out, so that a program keeps its history when it moves to another directory.
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
  const std::int64_t lower = lower_column(record.metric.direction);
  database.execute(
      "INSERT INTO series (identity, fingerprint, unit, name, metric, lower_is_better) "
      "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (identity, fingerprint, unit) DO NOTHING",
      {identity, fingerprint, unit, storable(series_name(of)), storable(record.metric.name), lower});
  look_up();
  return id.value();
}

/// Creates the series of all records in the order of their keys, so that two processes creating the same ones
/// cannot deadlock.
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

std::string pack_text(std::string_view text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), packed.data(), packed.size(), text.data(), text.size());
  if (ZSTD_isError(size)) throw Error(fmt::format("cannot compress: {}", ZSTD_getErrorName(size)));
  packed.resize(size);
  return packed;
}

std::string unpack_text(std::string_view packed, const std::string& source) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  // The markers of an unknown size and of an error exceed every allowed size.
  if (size > kLargestText) throw Error(source + ": damaged: not a compressed text");
  std::string text(static_cast<std::size_t>(size), '\0');
  // Reused: creating one takes longer than decompressing a few kilobytes.
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                  ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  const std::size_t read =
      ZSTD_decompressDCtx(context.get(), text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(read) || read != text.size()) {
    const char* why = ZSTD_isError(read) ? ZSTD_getErrorName(read) : "it is shorter than it says";
    throw Error(fmt::format("{}: damaged: {}", source, why));
  }
  return text;
}

std::string digest_of(std::string_view text) {
  // The 128 bits as two words: prime 2^88 + 2^8 + 0x3b, offset basis as in draft-eastlake-fnv.
  std::uint64_t high = 0x6c62272e07bb0142, low = 0x62b821756295c58d;
  for (const char c : text) {
    low ^= static_cast<unsigned char>(c);
    constexpr std::uint64_t kPrimeLow = 0x13b;
    const std::uint64_t bottom = (low & 0xffffffff) * kPrimeLow;
    const std::uint64_t top = (low >> 32) * kPrimeLow + (bottom >> 32);
    high = high * kPrimeLow + (top >> 32) + (low << 24);
    low = (top << 32) | (bottom & 0xffffffff);
  }
  return fmt::format("{:016x}{:016x}", high, low);
}

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

std::int64_t lower_column(Direction direction) {
  if (direction == Direction::kUnknown) return -1;
  return direction == Direction::kLowerIsBetter ? 1 : 0;
}

Direction direction_of_column(std::int64_t lower) {
  if (lower < 0) return Direction::kUnknown;
  return lower > 0 ? Direction::kLowerIsBetter : Direction::kHigherIsBetter;
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
