// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/history/database.h"
#include "headroom/history/packed_text.h"
#include "headroom/history/run_insertion.h"
#include "headroom/record/environment_json.h"
#include "headroom/record/record_stream.h"

namespace headroom {
namespace {

std::int64_t integer(const SqlValue& value) {
  return std::get<std::int64_t>(value);
}
const std::string& text(const SqlValue& value) {
  return std::get<std::string>(value);
}
constexpr const char* kRunColumns =
    "id, time, fingerprint, git_sha, git_branch, git_repo, headroom_version, command, records";

StoredRun read_run(const SqlRow& row) {
  return {integer(row[0]),
          static_cast<std::uint64_t>(integer(row[1])),
          text(row[2]),
          text(row[3]),
          text(row[4]),
          text(row[5]),
          text(row[6]),
          text(row[7]),
          static_cast<std::size_t>(integer(row[8]))};
}

StoredValue read_value(const SqlRow& row) {
  StoredValue value;
  value.value = std::get<double>(row[0]);
  if (const double* low = std::get_if<double>(&row[1])) {
    value.interval = Interval{*low, std::get<double>(row[2]), std::get<double>(row[3])};
  }
  value.samples = static_cast<std::size_t>(integer(row[4]));
  value.run = integer(row[5]);
  value.time = static_cast<std::uint64_t>(integer(row[6]));
  value.git_sha = text(row[7]);
  value.git_branch = text(row[8]);
  value.headroom_version = text(row[9]);
  return value;
}

Environment environment_from(const RunText& stored, const std::string& store, std::int64_t run) {
  if (stored.environment.empty()) {
    throw Error(
        fmt::format("{}: no run {}; headroom history lists those that are there", in_quotes(store), run));
  }
  const std::string where = fmt::format("{}: run {}: environment", store, run);
  return json_to<Environment>(parse_json(stored.environment, where), JsonPath(where));
}

}  // namespace

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::~Store() = default;

const std::string& Store::name() const {
  return database_->name();
}

std::int64_t Store::append(const std::vector<Record>& records) {
  const RunText text = run_text(records);
  TransactionScope transaction(*database_, Database::Transaction::kAppend);
  const std::int64_t run = insert_run(*database_, records, text);
  transaction.commit();
  return run;
}

std::optional<std::int64_t> Store::append_if_new(const std::vector<Record>& records) {
  const RunText text = run_text(records);
  TransactionScope transaction(*database_, Database::Transaction::kAlone);
  bool known = false;
  database_->execute("SELECT id FROM runs WHERE digest = $1", {digest_of(text)},
                     [&known](const SqlRow&) { known = true; });
  if (known) return std::nullopt;
  const std::int64_t run = insert_run(*database_, records, text);
  transaction.commit();
  return run;
}

std::vector<StoredRun> Store::runs(std::optional<std::size_t> newest) {
  std::vector<StoredRun> found;
  const std::string limit = newest ? fmt::format(" LIMIT {}", *newest) : "";
  database_->execute(fmt::format("SELECT {} FROM runs ORDER BY time DESC, id DESC{}", kRunColumns, limit), {},
                     [&found](const SqlRow& row) { found.push_back(read_run(row)); });
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<StoredSeries> Store::series() {
  std::vector<StoredSeries> found;
  database_->execute(
      "SELECT id, identity, fingerprint, unit, name, metric, lower_is_better FROM series "
      "ORDER BY name, metric, fingerprint, id",
      {}, [&found](const SqlRow& row) {
        found.push_back({integer(row[0]), text(row[1]), text(row[2]), text(row[3]), text(row[4]),
                         text(row[5]),
                         integer(row[6]) != 0 ? Direction::kLowerIsBetter : Direction::kHigherIsBetter});
      });
  return found;
}

std::vector<StoredValue> Store::values(std::int64_t series) {
  std::vector<StoredValue> found;
  database_->execute(
      "SELECT r.value, r.low, r.high, r.confidence, r.samples, r.run, r.time, runs.git_sha, runs.git_branch, "
      "runs.headroom_version FROM records r JOIN runs ON runs.id = r.run "
      "WHERE r.series = $1 AND r.value IS NOT NULL ORDER BY r.time, r.run, r.position",
      {series}, [&found](const SqlRow& row) { found.push_back(read_value(row)); });
  return found;
}

std::vector<SeriesMark> Store::marks() {
  std::vector<SeriesMark> found;
  database_->execute(
      "SELECT series, COUNT(*), MIN(run), MAX(run), MIN(value), MAX(value) FROM records "
      "WHERE value IS NOT NULL GROUP BY series ORDER BY series",
      {}, [&found](const SqlRow& row) {
        found.push_back({integer(row[0]), static_cast<std::size_t>(integer(row[1])), integer(row[2]),
                         integer(row[3]), std::get<double>(row[4]), std::get<double>(row[5])});
      });
  return found;
}

std::vector<StoredSamples> Store::samples(std::int64_t series, const StoredValue& first,
                                          const StoredValue& last) {
  std::vector<StoredSamples> found;
  const auto take = [&](const SqlRow& row) {
    StoredSamples& one = found.emplace_back(StoredSamples{integer(row[0]), {}, {}});
    try {
      const std::string where = fmt::format("{}: run {}", name(), one.run);
      const PaddedText text(unpack_text(std::get<Blob>(row[1]).bytes, where));
      JsonStream stream(text, where);
      for (const ProcessSamples& process : record_json::read_record(stream, where).record.samples) {
        const std::span<const double> values = steady(process);
        one.processes.emplace_back(values.begin(), values.end());
      }
    } catch (const Error& error) {
      one.problem = error.what();
    }
  };
  database_->execute(
      "SELECT run, content FROM records WHERE series = $1 AND value IS NOT NULL "
      "AND (time, run) >= ($2, $3) AND (time, run) <= ($4, $5) ORDER BY time, run, position",
      {series, static_cast<std::int64_t>(first.time), first.run, static_cast<std::int64_t>(last.time),
       last.run},
      take);
  return found;
}

std::string Store::stamp() {
  std::string stamp;
  database_->execute(
      "SELECT COUNT(*), COALESCE(MAX(id), 0), CAST(COALESCE(SUM(records), 0) AS BIGINT) FROM runs", {},
      [&stamp](const SqlRow& row) {
        stamp = fmt::format("{} {} {}", integer(row[0]), integer(row[1]), integer(row[2]));
      });
  return stamp;
}

void Store::at_one_moment(const std::function<void()>& body) {
  const TransactionScope moment(*database_, Database::Transaction::kRead);
  body();
}

std::vector<Record> Store::records(std::int64_t run) {
  const RunText stored = stored_run_text(*database_, run);
  auto environment = std::make_shared<const Environment>(environment_from(stored, name(), run));
  std::vector<Record> found;
  for (const std::string& content : stored.records) {
    const std::string where = fmt::format("{}: run {}: record {}", name(), run, found.size());
    const PaddedText text(content);
    JsonStream stream(text, where);
    found.push_back(record_json::read_record(stream, where).record);
    found.back().environment = environment;
  }
  return found;
}

std::vector<Record> Store::records(const std::vector<std::int64_t>& runs) {
  TransactionScope moment(*database_, Database::Transaction::kRead);
  std::vector<Record> found;
  for (const std::int64_t run : runs) std::ranges::move(records(run), std::back_inserter(found));
  return found;
}

Environment Store::environment(std::int64_t run) {
  RunText stored;
  database_->execute("SELECT content FROM environments WHERE run = $1", {run}, [&](const SqlRow& row) {
    stored.environment = unpack_text(std::get<Blob>(row[0]).bytes, fmt::format("{}: run {}", name(), run));
  });
  return environment_from(stored, name(), run);
}

}  // namespace headroom
