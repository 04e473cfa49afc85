// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/history/database.h"
#include "headroom/history/run_text.h"
#include "headroom/history/stored_rows.h"
#include "headroom/record/formats.h"
#include "headroom/record/metrics.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

std::int64_t integer(const SqlValue& value) {
  return std::get<std::int64_t>(value);
}
const std::string& text(const SqlValue& value) {
  return std::get<std::string>(value);
}

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
  value.run = integer(row[0]);
  value.time = static_cast<std::uint64_t>(integer(row[3]));
  value.value = std::get<double>(row[4]);
  if (const double* low = std::get_if<double>(&row[5])) {
    const double high = std::get<double>(row[6]);
    if (is_bounded(*low) && is_bounded(high)) value.interval = Interval{*low, high, std::get<double>(row[7])};
  }
  value.samples = static_cast<std::size_t>(integer(row[8]));
  value.git_sha = text(row[9]);
  value.git_branch = text(row[10]);
  value.headroom_version = text(row[11]);
  return value;
}

/// Condition on the rows of records, as is_bounded().
std::string value_is_bounded() {
  return fmt::format("(value = 0 OR ABS(value) BETWEEN {} AND {})", kMinMagnitude, kMaxMagnitude);
}

std::vector<StoredRun> runs_where(Database& database, const std::string& where, const SqlRow& parameters) {
  std::vector<StoredRun> found;
  read_rows(database, kRunRows, where, parameters,
            [&found](const SqlRow& row) { found.push_back(read_run(row)); });
  return found;
}

Environment environment_from(const RunText& stored, const std::string& store, std::int64_t run) {
  if (stored.environment.empty()) {
    throw Error(fmt::format("{}: no run {}; headroom history lists the stored runs", quote(store), run));
  }
  const std::string where = fmt::format("{}: run {}: environment", store, run);
  return json_to<Environment>(parse_json(stored.environment, where), JsonPath(where));
}

std::int64_t newest_run(Database& database) {
  const std::vector<StoredRun> newest = runs_where(database, "ORDER BY time DESC, id DESC LIMIT 1", {});
  if (newest.empty()) throw Error(quote(database.name()) + " holds no run yet; headroom run adds one");
  return newest.front().id;
}

std::int64_t newest_run_of_revision(Database& database, const std::string& revision) {
  constexpr std::size_t kMinDigits = 4;
  if (revision.size() < kMinDigits) {
    throw Error(
        fmt::format("@git:{} is too short; give at least {} digits of the revision", revision, kMinDigits));
  }
  std::set<std::string> revisions;
  std::optional<std::int64_t> newest;
  // All rows, so that a damaged revision is not skipped.
  read_rows(database, kRunRows, "ORDER BY time DESC, id DESC", {}, [&](const SqlRow& row) {
    const StoredRun run = read_run(row);
    if (!run.git_sha.starts_with(revision)) return;
    if (!newest) newest = run.id;
    revisions.insert(run.git_sha);
  });
  if (!newest) {
    throw Error(fmt::format("{} holds no run of the git revision {}; headroom history lists its runs",
                            quote(database.name()), quote(revision)));
  }
  if (revisions.size() > 1) {
    throw Error(fmt::format("@git:{} matches {} revisions, such as {} and {}; give more digits", revision,
                            revisions.size(), *revisions.begin(), *revisions.rbegin()));
  }
  return *newest;
}

std::int64_t count(Database& database, const std::string& table) {
  return database.number("SELECT COUNT(*) FROM " + table);
}

/// Lets an export of runs that lost records still match on import.
void refresh_shortened_runs(Database& database) {
  std::vector<std::int64_t> shortened;
  database.execute(
      "SELECT id FROM runs WHERE records <> (SELECT COUNT(*) FROM records WHERE records.run = runs.id)", {},
      [&shortened](const SqlRow& row) { shortened.push_back(std::get<std::int64_t>(row[0])); });
  for (const std::int64_t run : shortened) {
    const RunText text = shortened_run_text(database, run);
    update_run(database, run, environment_from(text, database.name(), run), text);
  }
}

namespace fs = std::filesystem;

std::string path_of(const std::string& store) {
  constexpr std::string_view kSqlite = "sqlite:";
  return store.starts_with(kSqlite) ? store.substr(kSqlite.size()) : store;
}

/// Folder named by the store's name without password, or its absolute path.
fs::path outbox_of(const std::string& store) {
  const std::string name =
      is_remote(store) ? redact_secrets(store) : fs::weakly_canonical(path_of(store)).string();
  return user_data_folder() / "outbox" / digest_of(name).substr(0, 16);
}

struct StoredRecord {
  SqlRow row;           ///< of kRecordRows
  std::string problem;  ///< why it cannot be read, or empty
  std::string text;
  // Computed from the content if it and the environment can be read:
  SqlRow expected;  ///< `row`, without the check
  SqlRow series;    ///< the row of its series, without the id
};

struct StoredContent {
  SqlRow row;  ///< of kRunRows
  bool row_holds = true;
  std::string environment_problem;  ///< why it cannot be read, or empty
  std::string environment_text;
  Environment environment;
  std::vector<StoredRecord> records;
  std::size_t unreadable = 0;

  std::int64_t run() const { return integer(row.front()); }
};

/// `columns`: the content, then those of kRecordRows.
StoredRecord stored_record(const SqlRow& columns, const std::string& where, std::vector<Record>& records) {
  StoredRecord stored{SqlRow(columns.begin() + 1, columns.end()), {}, {}, {}, {}};
  try {
    const auto* position = std::get_if<std::int64_t>(&stored.row[1]);
    const auto* content = std::get_if<Blob>(&columns.front());
    if (position == nullptr) throw Error(where + ": damaged: a record has no position");
    const std::string what = fmt::format("{}: record {}", where, *position);
    if (content == nullptr) throw Error(what + ": damaged: not a compressed text");
    stored.text = unpack_text(content->bytes, what);
    JsonReader stream(stored.text, what);
    records.push_back(record_json::read_record(stream, what).record);
  } catch (const Error& error) {
    stored.problem = error.what();
  }
  return stored;
}

StoredContent read_content(Database& database, std::int64_t run) {
  StoredContent content;
  const std::string where = fmt::format("run {}", run);
  visit_checked_rows(database, kRunRows, "WHERE id = $1", {run}, [&content](const SqlRow& row, bool holds) {
    content.row = row;
    content.row_holds = holds;
  });
  if (content.row.empty()) throw Error(where + ": damaged: its row is listed, but cannot be found");
  content.environment_problem = where + ": its environment is missing";
  database.execute("SELECT content FROM environments WHERE run = $1", {run}, [&](const SqlRow& row) {
    try {
      const auto* packed = std::get_if<Blob>(&row[0]);
      if (packed == nullptr) throw Error(where + ": environment: damaged: not a compressed text");
      content.environment_text = unpack_text(packed->bytes, where + ": environment");
      content.environment =
          json_to<Environment>(parse_json(content.environment_text, where), JsonPath(where));
      content.environment_problem.clear();
    } catch (const Error& error) {
      content.environment_problem = error.what();
    }
  });
  std::vector<Record> records;
  database.execute(fmt::format("SELECT r.content, {}, {} FROM {} WHERE r.run = $1 ORDER BY r.position",
                               kRecordRows.columns, database.schema() > 1 ? kRecordRows.check : "NULL",
                               kRecordRows.tables),
                   {run}, [&](const SqlRow& row) {
                     content.records.push_back(stored_record(row, where, records));
                     content.unreadable += content.records.back().problem.empty() ? 0 : 1;
                   });
  if (!content.environment_problem.empty()) return content;
  const auto environment = std::make_shared<const Environment>(content.environment);
  for (Record& record : records) record.environment = environment;
  std::vector<SqlRow> series = series_rows(records);
  std::size_t at = 0;
  for (StoredRecord& stored : content.records) {
    if (!stored.problem.empty()) continue;
    stored.expected = record_row(records[at], *environment, run, stored.row[1], 0);
    stored.expected[2] = stored.row[2];
    std::copy(stored.expected.begin() + kOwnRecordColumns, stored.expected.end(),
              stored.row.begin() + kOwnRecordColumns);
    stored.series = std::move(series[at++]);
  }
  return content;
}

RunText readable_text(const StoredContent& content) {
  RunText text{content.environment_text, {}};
  for (const StoredRecord& stored : content.records) {
    if (stored.problem.empty()) text.records.push_back(stored.text);
  }
  return text;
}

/// Needs a readable environment.
SqlRow row_for(const StoredContent& content, const RunText& text) {
  return run_row(content.run(), content.environment, text.records.size(), digest_of(text));
}

/// Uses the digest or, if that is damaged, the row's check.
bool is_intact(const StoredContent& content, const SqlRow& expected) {
  if (content.unreadable > 0) return false;
  const auto* digest = std::get_if<std::string>(&content.row[9]);
  const auto* check = std::get_if<std::int64_t>(&content.row.back());
  return (digest != nullptr && *digest == text(expected[9])) ||
         (check != nullptr && *check == row_check(expected));
}

/// All series, and whether they agree with their records.
class SeriesRows {
 public:
  explicit SeriesRows(Database& database) {
    visit_checked_rows(database, kSeriesRows, "", {}, [this](const SqlRow& row, bool holds) {
      rows_[integer(row.front())] = {row, holds, false, false, false};
    });
  }

  /// Whether the record's series exists and matches its machine, unit and metric.
  bool take(const StoredRecord& stored) {
    const auto* id = std::get_if<std::int64_t>(&stored.row[2]);
    const auto found = id == nullptr ? rows_.end() : rows_.find(*id);
    if (found == rows_.end()) return false;
    Known& known = found->second;
    known.has_records = true;
    if (stored.series.empty() || !known.holds) return true;
    const auto is_own = [&](std::size_t column) {
      const auto* stored_text = std::get_if<std::string>(&known.row[column + 1]);
      return stored_text != nullptr && *stored_text == text(stored.series[column]);
    };
    // The first record's direction; it may be gone, and others may not know it.
    const auto* lower = std::get_if<std::int64_t>(&known.row[6]);
    const std::int64_t own = integer(stored.series[5]);
    (lower != nullptr && (*lower == own || *lower < 0 || own < 0) ? known.agrees : known.disagrees) = true;
    return is_own(1) && is_own(2) && is_own(4);
  }

  /// Returns series without records, or whose row fails its check or matches no record.
  std::vector<std::int64_t> damaged() const {
    std::vector<std::int64_t> ids;
    for (const auto& [id, known] : rows_) {
      if (!known.holds || !known.has_records || (known.disagrees && !known.agrees)) ids.push_back(id);
    }
    return ids;
  }
  bool has_records(std::int64_t id) const { return rows_.at(id).has_records; }

 private:
  struct Known {
    SqlRow row;
    bool holds = false, has_records = false, agrees = false, disagrees = false;
  };
  std::map<std::int64_t, Known> rows_;
};

std::vector<std::int64_t> all_runs(Database& database) {
  std::vector<std::int64_t> runs;
  database.execute("SELECT id FROM runs ORDER BY id", {},
                   [&runs](const SqlRow& row) { runs.push_back(std::get<std::int64_t>(row[0])); });
  return runs;
}

void remove_run(Database& database, std::int64_t run) {
  for (const char* from : {"records WHERE run", "environments WHERE run", "runs WHERE id"})
    database.execute(fmt::format("DELETE FROM {} = $1", from), {run});
}

constexpr const char* kTablesOfRuns[] = {"records", "environments"};
std::string orphan_rows_sql(const std::string& table) {
  return fmt::format(" FROM {0} WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = {0}.run)", table);
}

/// Rewrites damaged rows from their first records and returns their number. Removes series without records.
std::size_t mend_series(Database& database) {
  SeriesRows series(database);
  std::map<std::int64_t, SqlRow> first;
  for (const std::int64_t run : all_runs(database)) {
    for (StoredRecord& stored : read_content(database, run).records) {
      series.take(stored);
      const auto* id = std::get_if<std::int64_t>(&stored.row[2]);
      if (id != nullptr && !stored.series.empty()) first.try_emplace(*id, std::move(stored.series));
    }
  }
  const std::vector<std::int64_t> damaged = series.damaged();
  for (const std::int64_t id : damaged) {
    const auto columns = first.find(id);
    if (columns == first.end()) {
      if (!series.has_records(id)) database.execute("DELETE FROM series WHERE id = $1", {id});
      continue;
    }
    SqlRow row{id};
    std::ranges::copy(columns->second, std::back_inserter(row));
    std::optional<std::int64_t> other;
    database.execute(
        "SELECT id FROM series WHERE identity = $2 AND fingerprint = $3 AND unit = $4 AND id <> $1",
        {row[0], row[1], row[2], row[3]}, [&other](const SqlRow& found) { other = integer(found[0]); });
    if (other) {
      // Rows of its records then fail their check and are rewritten.
      database.execute("UPDATE records SET series = $2 WHERE series = $1", {id, *other});
      continue;
    }
    row.emplace_back(row_check(row));
    database.execute(
        "UPDATE series SET identity = $2, fingerprint = $3, unit = $4, name = $5, metric = $6, "
        "lower_is_better = $7, row_check = $8 WHERE id = $1",
        row);
  }
  return damaged.size();
}

void mend_record(Database& database, const StoredRecord& stored, std::int64_t id) {
  SqlRow row = stored.expected;
  row[2] = id;
  const std::int64_t check = row_check(row);
  row.resize(kOwnRecordColumns);
  row.emplace_back(check);
  database.execute(
      "UPDATE records SET series = $3, time = $4, value = $5, low = $6, high = $7, confidence = $8, samples "
      "= $9, "
      "row_check = $10 WHERE run = $1 AND position = $2",
      row);
}

void find_damage(const StoredContent& content, SeriesRows& series, std::vector<StoreDamage>& damages) {
  const std::int64_t run = content.run();
  const auto add = [&](std::string what) { damages.push_back({run, std::move(what)}); };
  if (!content.environment_problem.empty()) add(content.environment_problem);
  for (const StoredRecord& stored : content.records) {
    const bool has_series = series.take(stored);
    if (!stored.problem.empty()) {
      add(stored.problem);
    } else if (!has_series || (!stored.expected.empty() && !is_row(stored.row, stored.expected))) {
      const auto* value = std::get_if<double>(&stored.row[4]);
      add(fmt::format("run {}: record {}: {}", run, integer(stored.row[1]),
                      value != nullptr && !is_bounded(*value)
                          ? fmt::format("{:g} is no measurement", *value)
                          : "the series shows a different value than the record"));
    }
  }
  if (!content.environment_problem.empty()) return;
  const SqlRow expected = row_for(content, readable_text(content));
  if (content.unreadable == 0 && !is_intact(content, expected)) {
    add(fmt::format("run {}: it does not match its checksum, though it is readable", run));
  } else if (content.unreadable == 0 ? !is_row(content.row, expected) : !content.row_holds) {
    add(fmt::format("run {}: the list of runs does not match the run", run));
  }
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
  TransactionScope transaction(*database_, Database::Transaction::kAppendOnce);
  bool known = false;
  database_->execute("SELECT id FROM runs WHERE digest = $1", {digest_of(text)},
                     [&known](const SqlRow&) { known = true; });
  if (known) return std::nullopt;
  const std::int64_t run = insert_run(*database_, records, text);
  transaction.commit();
  return run;
}

std::vector<StoredRun> Store::runs(std::optional<std::size_t> newest) {
  const std::string limit = newest ? fmt::format(" LIMIT {}", *newest) : "";
  std::vector<StoredRun> found = runs_where(*database_, "ORDER BY time DESC, id DESC" + limit, {});
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<StoredSeries> Store::series() {
  std::vector<StoredSeries> found;
  read_rows(*database_, kSeriesRows, "ORDER BY name, metric, fingerprint, id", {},
            [&found](const SqlRow& row) {
              found.push_back({integer(row[0]), text(row[1]), text(row[2]), text(row[3]), text(row[4]),
                               text(row[5]), direction_of_column(integer(row[6]))});
            });
  return found;
}

std::vector<StoredValue> Store::values(std::int64_t series) {
  std::vector<StoredValue> found;
  read_rows(*database_, kRecordRows, "WHERE r.series = $1 ORDER BY r.time, r.run, r.position", {series},
            [&found](const SqlRow& row) {
              const double* value = std::get_if<double>(&row[4]);
              if (value != nullptr && is_bounded(*value)) found.push_back(read_value(row));
            });
  return found;
}

std::vector<SeriesDigest> Store::series_digests() {
  std::vector<SeriesDigest> found;
  database_->execute(
      fmt::format("SELECT series, COUNT(*), MIN(run), MAX(run), MIN(value), MAX(value) FROM records "
                  "WHERE {} GROUP BY series ORDER BY series",
                  value_is_bounded()),
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
      const std::string text = unpack_text(std::get<Blob>(row[1]).bytes, where);
      JsonReader stream(text, where);
      for (const ProcessSamples& process : record_json::read_record(stream, where).record.samples) {
        const std::span<const double> values = steady(process);
        one.processes.emplace_back(values.begin(), values.end());
      }
    } catch (const Error& error) {
      one.problem = error.what();
    }
  };
  database_->execute(
      fmt::format("SELECT run, content FROM records WHERE series = $1 AND {} "
                  "AND (time, run) >= ($2, $3) AND (time, run) <= ($4, $5) ORDER BY time, run, position",
                  value_is_bounded()),
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

void Store::read_snapshot(const std::function<void()>& body) {
  const TransactionScope moment(*database_, Database::Transaction::kRead);
  body();
}

std::vector<Record> Store::records(std::int64_t run) {
  const RunText stored = stored_run_text(*database_, run);
  auto environment = std::make_shared<const Environment>(environment_from(stored, name(), run));
  std::vector<Record> found;
  for (const std::string& content : stored.records) {
    const std::string where = fmt::format("{}: run {}: record {}", name(), run, found.size());
    JsonReader stream(content, where);
    found.push_back(record_json::read_record(stream, where).record);
    found.back().environment = environment;
  }
  return found;
}

std::vector<std::int64_t> Store::run_ids() {
  std::vector<std::int64_t> found;
  read_rows(*database_, kRunRows, "ORDER BY time, id", {},
            [&found](const SqlRow& row) { found.push_back(integer(row[0])); });
  return found;
}

Environment Store::environment(std::int64_t run) {
  RunText stored;
  database_->execute("SELECT content FROM environments WHERE run = $1", {run}, [&](const SqlRow& row) {
    stored.environment = unpack_text(std::get<Blob>(row[0]).bytes, fmt::format("{}: run {}", name(), run));
  });
  return environment_from(stored, name(), run);
}

std::int64_t Store::find_run(const std::string& reference) {
  constexpr std::string_view kGit = "@git:";
  if (reference == "@last") return newest_run(*database_);
  if (reference.starts_with(kGit)) return newest_run_of_revision(*database_, reference.substr(kGit.size()));
  const std::optional<std::int64_t> id =
      reference.starts_with('@') ? to_integer(std::string_view(reference).substr(1)) : std::nullopt;
  if (!id) {
    throw Error(
        fmt::format("{} is not a run: use @last, @ID (such as @12) or @git:REVISION", quote(reference)));
  }
  if (runs_where(*database_, "WHERE id = $1", {*id}).empty()) {
    throw Error(fmt::format("{} holds no run {}; headroom history lists its runs", quote(name()), *id));
  }
  return *id;
}

PruneResult Store::prune(const PruneRule& rule) {
  TransactionScope transaction(*database_, Database::Transaction::kAlone);
  // Verifies the rows that select records to remove.
  read_rows(*database_, kRecordRows, "", {}, [](const SqlRow&) {});
  const std::int64_t runs_before = count(*database_, "runs"), records_before = count(*database_, "records");
  if (rule.older_than) {
    database_->execute("DELETE FROM records WHERE time < $1", {static_cast<std::int64_t>(*rule.older_than)});
  }
  if (rule.keep_last) {
    database_->execute(
        "DELETE FROM records WHERE (run, position) IN (SELECT run, position FROM (SELECT run, position, "
        "ROW_NUMBER() OVER (PARTITION BY series ORDER BY time DESC, run DESC, position DESC) AS place "
        "FROM records) ranked WHERE place > $1)",
        {static_cast<std::int64_t>(*rule.keep_last)});
  }
  refresh_shortened_runs(*database_);
  database_->execute("DELETE FROM environments WHERE run IN (SELECT id FROM runs WHERE records = 0)");
  database_->execute("DELETE FROM runs WHERE records = 0");
  database_->execute(
      "DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.series = series.id)");
  const PruneResult result{static_cast<std::size_t>(runs_before - count(*database_, "runs")),
                           static_cast<std::size_t>(records_before - count(*database_, "records"))};
  transaction.commit();
  if (result.records > 0) database_->compact();
  return result;
}

void Store::write_views(const std::vector<StoredChange>& changes) {
  TransactionScope transaction(*database_, Database::Transaction::kAppendOnce);
  // Another role's tables may have triggers, which would run with our rights.
  if (database_->number("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'headroom_views' AND nspowner <> "
                        "(SELECT oid FROM pg_roles WHERE rolname = current_user)") > 0)
    throw Error(quote(name()) + ": the schema headroom_views belongs to another role; connect as that role");
  for (std::size_t begin = 0, end = 0; (end = kViewsSql.find(";\n", begin)) != std::string_view::npos;
       begin = end + 2)
    database_->execute(std::string(kViewsSql.substr(begin, end - begin)));
  database_->execute("DELETE FROM headroom_views.change_points");
  for (const StoredChange& change : changes) {
    const auto& [series, run, ratio, interval] = change;
    database_->execute(
        "INSERT INTO headroom_views.change_points VALUES ($1, $2, $3, $4, $5)",
        {series, run, ratio ? SqlValue(*ratio) : SqlValue(), interval ? SqlValue(interval->low) : SqlValue(),
         interval ? SqlValue(interval->high) : SqlValue()});
  }
  transaction.commit();
}

std::unique_ptr<Store> open_store(const std::string& url_or_path, StoreAccess access,
                                  const StoreWaiting& waiting) {
  const auto current = [access](std::unique_ptr<Database> database) {
    if (access == StoreAccess::kReadWrite && database->schema() < kStoreSchema) migrate(*database);
    return std::make_unique<Store>(std::move(database));
  };
  if (is_remote(url_or_path)) return current(open_postgresql(url_or_path, access, waiting));
  const std::string path = path_of(url_or_path);
  if (const std::size_t scheme = path.find("://"); scheme != std::string::npos) {
    throw Error("unknown kind of history " + quote(path.substr(0, scheme)) +
                "; give a file, or a database as postgresql://USER@HOST/NAME");
  }
  if (path.empty()) throw Error("an empty name for the history; give a file or postgresql://USER@HOST/NAME");
  return current(open_sqlite(path, access, waiting));
}

std::string default_store() {
  const char* place = std::getenv("HEADROOM_STORE");
  if (place != nullptr && place[0] != '\0') return place;
  return (user_data_folder() / "history.sqlite").string();
}

bool is_remote(const std::string& store) {
  return store.starts_with("postgresql://") || store.starts_with("postgres://");
}

std::string put_into_outbox(const std::vector<Record>& records, const std::string& store) {
  const fs::path folder = outbox_of(store);
  std::error_code error;
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  if (error) throw Error("cannot make " + quote(folder.string()) + ": " + error.message());
  // Storing a run twice yields one file.
  const fs::path file = folder / (digest_of(run_text(records)) + ".json");
  write_file_atomically(file.string(), to_json_text(records));
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, error);
  return file.string();
}

std::vector<std::string> deliver_outbox(Store& store) {
  std::vector<std::string> problems;
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(outbox_of(store.name()), error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json" && fs::is_regular_file(entry->symlink_status(error)))
      files.push_back(entry->path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::vector<Record> records;
    try {
      records = read_records(file.string());
    } catch (const Error& problem) {
      problems.push_back(fmt::format("cannot read a run that waits to be stored: {}", problem.what()));
      continue;
    }
    if (!records.empty()) store.append_if_new(records);
    fs::remove(file, error);
  }
  return problems;
}

std::vector<StoreDamage> Store::verify() {
  std::vector<StoreDamage> damages;
  // Others may write meanwhile.
  const TransactionScope moment(*database_, Database::Transaction::kRead);
  // An unreadable part must not hide the rest.
  const auto note = [&damages](std::optional<std::int64_t> run, const auto& look) {
    try {
      look();
    } catch (const Error& error) {
      damages.push_back({run, error.what()});
    }
  };
  note(std::nullopt, [&] {
    for (const std::string& problem : database_->problems()) damages.push_back({std::nullopt, problem});
  });
  for (const char* table : kTablesOfRuns) {
    note(std::nullopt, [&] {
      const std::int64_t lost = database_->number("SELECT COUNT(*)" + orphan_rows_sql(table));
      if (lost > 0)
        damages.push_back({std::nullopt, fmt::format("{} rows of {} belong to no run", lost, table)});
    });
  }
  note(std::nullopt, [&] {
    SeriesRows series(*database_);
    for (const std::int64_t run : all_runs(*database_))
      note(run, [&] { find_damage(read_content(*database_, run), series, damages); });
    for (const std::int64_t id : series.damaged())
      damages.push_back({std::nullopt, fmt::format("series {}: its row does not match its results", id)});
  });
  return damages;
}

RepairResult Store::repair() {
  RepairResult result;
  result.copy = database_->make_backup();
  TransactionScope transaction(*database_, Database::Transaction::kAlone);
  const bool is_sound = database_->problems().empty();
  if (!is_sound) database_->rebuild_indexes();
  for (const char* table : kTablesOfRuns) database_->execute("DELETE" + orphan_rows_sql(table));
  result.series_mended = mend_series(*database_);
  SeriesRows series(*database_);
  for (const std::int64_t run : all_runs(*database_)) {
    const StoredContent content = read_content(*database_, run);
    const RunText readable = readable_text(content);
    const auto* records = std::get_if<std::int64_t>(&content.row[8]);
    const bool is_short = records != nullptr && *records > static_cast<std::int64_t>(content.records.size());
    bool is_lost = !content.environment_problem.empty() || readable.records.empty();
    // If all records are readable, the altered one is unknown.
    if (!is_lost && content.unreadable == 0 && !is_short)
      is_lost = !is_intact(content, row_for(content, readable));
    if (is_lost) {
      remove_run(*database_, run);
      ++result.runs_removed;
      result.records_removed += content.records.size();
      continue;
    }
    for (const StoredRecord& stored : content.records) {
      if (!stored.problem.empty()) {
        database_->execute("DELETE FROM records WHERE run = $1 AND position = $2", {run, stored.row[1]});
        ++result.records_removed;
        continue;
      }
      const bool has_series = series.take(stored);
      if (has_series && is_row(stored.row, stored.expected)) continue;
      // A damaged series' record has the check of another series.
      const bool is_of_series =
          has_series && std::get<std::int64_t>(stored.row.back()) == row_check(stored.expected);
      mend_record(*database_, stored,
                  is_of_series ? integer(stored.row[2]) : series_id(*database_, stored.series));
      ++result.records_mended;
    }
    if (!is_row(content.row, row_for(content, readable))) {
      update_run(*database_, run, content.environment, readable);
      result.runs_mended += content.row_holds ? 0 : 1;
    }
  }
  database_->execute(
      "DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.series = series.id)");
  if (!is_sound) {
    const std::vector<std::string> left = database_->problems();
    if (!left.empty()) {
      throw Error(
          fmt::format("{}: the file is damaged beyond repair and was not changed: {}; restore it from a "
                      "copy, or move the readable runs to a new one with `headroom history export FILE @ID`",
                      quote(name()), left.back()));
    }
  }
  transaction.commit();
  return result;
}

}  // namespace headroom
