// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/run_text.h"

#include <fmt/format.h>
#include <zstd.h>

#include <array>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/history/stored_rows.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

constexpr int kCompressionLevel = 3;
/// Far above any record; a damaged frame may claim any size.
constexpr unsigned long long kMaxTextBytes = 1ULL << 31;

const Environment& environment_of(const Record& record) {
  static const Environment kNone;
  return record.environment ? *record.environment : kNone;
}

/// Creates missing series in the order of their keys, to avoid a deadlock of two processes.
std::vector<std::int64_t> series_ids(Database& database, const std::vector<Record>& records) {
  const std::vector<SqlRow> rows = series_rows(records);
  std::map<std::array<std::string, 3>, std::int64_t> ids;
  const auto key = [](const SqlRow& row) {
    return std::array{std::get<std::string>(row[0]), std::get<std::string>(row[1]),
                      std::get<std::string>(row[2])};
  };
  std::map<std::array<std::string, 3>, const SqlRow*> keys;
  for (const SqlRow& row : rows) keys.try_emplace(key(row), &row);
  for (const auto& [of, row] : keys) ids[of] = series_id(database, *row);
  std::vector<std::int64_t> found;
  for (const SqlRow& row : rows) found.push_back(ids.at(key(row)));
  return found;
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
  // Includes the markers of an unknown size and of an error.
  if (size > kMaxTextBytes) throw Error(source + ": damaged: not a compressed text");
  std::string text(static_cast<std::size_t>(size), '\0');
  // Creating one takes longer than decompressing a few kilobytes.
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                  ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  const std::size_t read =
      ZSTD_decompressDCtx(context.get(), text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(read) || read != text.size()) {
    const char* why = ZSTD_isError(read) ? ZSTD_getErrorName(read) : "it is shorter than its header says";
    throw Error(fmt::format("{}: damaged: {}", source, why));
  }
  return text;
}

std::string digest_of(std::string_view text) {
  // 128 bits as two words: prime 2^88 + 2^8 + 0x3b, offset basis as in draft-eastlake-fnv.
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
  std::optional<std::string> digest;
  database.execute("SELECT digest FROM runs WHERE id = $1", {run},
                   [&](const SqlRow& row) { digest = std::get<std::string>(row[0]); });
  RunText text = shortened_run_text(database, run);
  if (!digest || digest_of(text) == *digest) return text;
  throw Error(
      fmt::format("{}: run {}: damaged: it does not match its checksum; headroom history verify lists the "
                  "damage, repair fixes it",
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

std::int64_t series_id(Database& database, const SqlRow& columns) {
  std::optional<std::int64_t> id;
  const auto take = [&id](const SqlRow& row) { id = std::get<std::int64_t>(row[0]); };
  const SqlRow key(columns.begin(), columns.begin() + 3);
  const char* const look_up = "SELECT id FROM series WHERE identity = $1 AND fingerprint = $2 AND unit = $3";
  database.execute(look_up, key, take);
  if (id) return *id;
  database.execute(
      "INSERT INTO series (identity, fingerprint, unit, name, metric, lower_is_better, row_check) "
      "VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT (identity, fingerprint, unit) DO NOTHING RETURNING id",
      columns, take);
  if (!id) {
    // Another process created it meanwhile.
    database.execute(look_up, key, take);
    return id.value();
  }
  SqlRow row{*id};
  row.insert(row.end(), columns.begin(), columns.end());
  database.execute("UPDATE series SET row_check = $2 WHERE id = $1", {*id, row_check(row)});
  return *id;
}

void update_run(Database& database, std::int64_t run, const Environment& environment, const RunText& text) {
  SqlRow row = run_row(run, environment, text.records.size(), digest_of(text));
  row.emplace_back(row_check(row));
  database.execute(
      "UPDATE runs SET time = $2, fingerprint = $3, git_sha = $4, git_branch = $5, git_repo = $6, "
      "headroom_version = $7, command = $8, records = $9, digest = $10, row_check = $11 WHERE id = $1",
      row);
}

std::int64_t insert_run(Database& database, const std::vector<Record>& records, const RunText& text) {
  const Environment& environment = environment_of(records.front());
  std::int64_t run = 0;
  // The check needs the id.
  SqlRow row = run_row(0, environment, records.size(), digest_of(text));
  database.execute(
      "INSERT INTO runs (row_check, time, fingerprint, git_sha, git_branch, git_repo, headroom_version, "
      "command, records, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id",
      row, [&run](const SqlRow& made) { run = std::get<std::int64_t>(made[0]); });
  row.front() = run;
  database.execute("UPDATE runs SET row_check = $2 WHERE id = $1", {run, row_check(row)});
  database.execute("INSERT INTO environments (run, content) VALUES ($1, $2)",
                   {run, Blob{pack_text(text.environment)}});
  const std::vector<std::int64_t> series = series_ids(database, records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    SqlRow record = record_row(records[i], environment, run, static_cast<std::int64_t>(i), series[i]);
    const std::int64_t check = row_check(record);
    record.resize(kOwnRecordColumns);
    record.emplace_back(check);
    record.emplace_back(Blob{pack_text(text.records[i])});
    database.execute(
        "INSERT INTO records (run, position, series, time, value, low, high, confidence, samples, row_check, "
        "content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        record);
  }
  return run;
}

}  // namespace headroom
