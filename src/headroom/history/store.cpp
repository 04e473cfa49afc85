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
#include "headroom/record/formats.h"
#include "headroom/record/record_json.h"

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

std::optional<std::int64_t> first_id(Database& database, const std::string& sql, const SqlRow& parameters) {
  std::optional<std::int64_t> id;
  database.execute(sql, parameters, [&id](const SqlRow& row) {
    if (!id) id = std::get<std::int64_t>(row[0]);
  });
  return id;
}

std::int64_t newest_run(Database& database) {
  const auto id = first_id(database, "SELECT id FROM runs ORDER BY time DESC, id DESC LIMIT 1", {});
  if (!id) throw Error(in_quotes(database.name()) + " holds no run yet; headroom run adds one");
  return *id;
}

std::int64_t newest_run_of_revision(Database& database, const std::string& revision) {
  constexpr std::size_t kShortest = 4;
  if (revision.size() < kShortest) {
    throw Error(
        fmt::format("@git:{} is too short; give at least {} digits of the revision", revision, kShortest));
  }
  std::set<std::string> revisions;
  std::optional<std::int64_t> newest;
  database.execute(
      "SELECT id, git_sha FROM runs WHERE substr(git_sha, 1, length($1)) = $1 ORDER BY time DESC, id DESC",
      {revision}, [&](const SqlRow& row) {
        if (!newest) newest = std::get<std::int64_t>(row[0]);
        revisions.insert(std::get<std::string>(row[1]));
      });
  if (!newest) {
    throw Error(fmt::format("{} holds no run of the git revision {}; headroom history lists its runs",
                            in_quotes(database.name()), in_quotes(revision)));
  }
  if (revisions.size() > 1) {
    throw Error(fmt::format("@git:{} fits {} revisions, {} and {} among them; give more digits", revision,
                            revisions.size(), *revisions.begin(), *revisions.rbegin()));
  }
  return *newest;
}

std::int64_t count(Database& database, const std::string& table) {
  std::int64_t rows = 0;
  database.execute("SELECT COUNT(*) FROM " + table, {},
                   [&rows](const SqlRow& row) { rows = std::get<std::int64_t>(row[0]); });
  return rows;
}

/// Updates counts and digests of runs that lost records to match an export of them, so that importing it
/// finds them equal.
void refresh_shortened_runs(Database& database) {
  std::vector<std::int64_t> shortened;
  database.execute(
      "SELECT id FROM runs WHERE records <> (SELECT COUNT(*) FROM records WHERE records.run = runs.id)", {},
      [&shortened](const SqlRow& row) { shortened.push_back(std::get<std::int64_t>(row[0])); });
  for (const std::int64_t run : shortened) {
    const RunText text = shortened_run_text(database, run);
    database.execute("UPDATE runs SET records = $1, digest = $2 WHERE id = $3",
                     {static_cast<std::int64_t>(text.records.size()), digest_of(text), run});
  }
}

namespace fs = std::filesystem;

/// Returns the outbox of one history, by its name without a password.
fs::path outbox_of(const std::string& name) {
  return user_data_folder() / "outbox" / digest_of(name).substr(0, 16);
}

/// Columns that duplicate a record's content.
struct RecordColumns {
  SqlValue value, samples;
};

bool same(const SqlValue& a, const SqlValue& b) {
  if (a.index() != b.index()) return false;
  if (const double* number = std::get_if<double>(&a)) return *number == std::get<double>(b);
  if (const auto* whole = std::get_if<std::int64_t>(&a)) return *whole == std::get<std::int64_t>(b);
  return true;
}

RecordColumns columns_of(const Record& record) {
  return {stored_value(record), static_cast<std::int64_t>(sample_count(record))};
}

/// A run as stored in the database.
struct StoredContent {
  std::string environment_problem;                  ///< why it cannot be read; empty if it can
  std::map<std::int64_t, std::string> unreadable;   ///< position of a record -> why
  std::map<std::int64_t, RecordColumns> different;  ///< position -> expected columns
  RunText text;                                     ///< of all that can be read
  std::int64_t records = 0;                         ///< as counted in the run
  std::string digest;
};

StoredContent read_content(Database& database, std::int64_t run) {
  StoredContent content;
  const std::string where = fmt::format("run {}", run);
  content.environment_problem = where + ": its environment is missing";
  database.execute("SELECT records, digest FROM runs WHERE id = $1", {run}, [&](const SqlRow& row) {
    content.records = std::get<std::int64_t>(row[0]);
    content.digest = std::get<std::string>(row[1]);
  });
  database.execute("SELECT content FROM environments WHERE run = $1", {run}, [&](const SqlRow& row) {
    try {
      content.text.environment = unpack_text(std::get<Blob>(row[0]).bytes, where + ": environment");
      json_to<Environment>(parse_json(content.text.environment, where), JsonPath(where));
      content.environment_problem.clear();
    } catch (const Error& error) {
      content.environment_problem = error.what();
    }
  });
  database.execute("SELECT position, content, value, samples FROM records WHERE run = $1 ORDER BY position",
                   {run}, [&](const SqlRow& row) {
                     const auto position = std::get<std::int64_t>(row[0]);
                     const std::string what = fmt::format("{}: record {}", where, position);
                     try {
                       std::string packed = unpack_text(std::get<Blob>(row[1]).bytes, what);
                       const PaddedText padded(packed);
                       JsonStream stream(padded, what);
                       const RecordColumns columns =
                           columns_of(record_json::read_record(stream, what).record);
                       if (!same(columns.value, row[2]) || !same(columns.samples, row[3]))
                         content.different.emplace(position, columns);
                       content.text.records.push_back(std::move(packed));
                     } catch (const Error& error) {
                       content.unreadable.emplace(position, error.what());
                     }
                   });
  return content;
}

bool has_its_digest(const StoredContent& content) {
  return content.unreadable.empty() && digest_of(content.text) == content.digest;
}

std::vector<std::int64_t> all_runs(Database& database) {
  std::vector<std::int64_t> runs;
  database.execute("SELECT id FROM runs ORDER BY id", {},
                   [&runs](const SqlRow& row) { runs.push_back(std::get<std::int64_t>(row[0])); });
  return runs;
}

void remove_record(Database& database, std::int64_t run, std::int64_t position) {
  database.execute("DELETE FROM records WHERE run = $1 AND position = $2", {run, position});
}

void remove_run(Database& database, std::int64_t run) {
  for (const char* from : {"records WHERE run", "environments WHERE run", "runs WHERE id"})
    database.execute(fmt::format("DELETE FROM {} = $1", from), {run});
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
                         text(row[5]), direction_of_column(integer(row[6]))});
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

std::int64_t Store::find_run(const std::string& reference) {
  constexpr std::string_view kGit = "@git:";
  if (reference == "@last") return newest_run(*database_);
  if (reference.starts_with(kGit)) return newest_run_of_revision(*database_, reference.substr(kGit.size()));
  const std::optional<std::int64_t> id =
      reference.starts_with('@') ? to_integer(std::string_view(reference).substr(1)) : std::nullopt;
  if (!id) {
    throw Error(
        fmt::format("{} names no run: it is @last, @ID as in @12, or @git:REVISION", in_quotes(reference)));
  }
  if (!first_id(*database_, "SELECT id FROM runs WHERE id = $1", {*id})) {
    throw Error(fmt::format("{} holds no run {}; headroom history lists its runs", in_quotes(name()), *id));
  }
  return *id;
}

PruneResult Store::prune(const PruneRule& rule) {
  TransactionScope transaction(*database_, Database::Transaction::kAlone);
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

std::unique_ptr<Store> open_store(const std::string& url_or_path, StoreAccess access) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (is_remote(url_or_path)) {
    return std::make_unique<Store>(open_postgresql(url_or_path, access));
  }
  const std::string path =
      url_or_path.starts_with(kSqlite) ? url_or_path.substr(kSqlite.size()) : url_or_path;
  if (const std::size_t scheme = path.find("://"); scheme != std::string::npos) {
    throw Error("no kind of history " + in_quotes(path.substr(0, scheme)) +
                "; give a file, or a database as postgresql://USER@HOST/NAME");
  }
  if (path.empty()) throw Error("an empty name for the history; give a file or postgresql://USER@HOST/NAME");
  return std::make_unique<Store>(open_sqlite(path, access));
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
  const fs::path folder = outbox_of(without_secrets(store));
  std::error_code error;
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  if (error) throw Error("cannot make " + in_quotes(folder.string()) + ": " + error.message());
  // The same run is stored only once.
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
    if (entry->path().extension() == ".json") files.push_back(entry->path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::vector<Record> records;
    try {
      records = read_records(file.string());
    } catch (const Error& problem) {
      problems.push_back(fmt::format("a run that waits for the history cannot be read: {}", problem.what()));
      continue;
    }
    if (!records.empty()) store.append_if_new(records);
    fs::remove(file, error);
  }
  return problems;
}

std::vector<StoreDamage> Store::verify() {
  std::vector<StoreDamage> damages;
  for (const std::string& problem : database_->problems()) damages.push_back({std::nullopt, problem});
  for (const std::int64_t run : all_runs(*database_)) {
    const StoredContent content = read_content(*database_, run);
    const auto add = [&](std::string what) { damages.push_back({run, std::move(what)}); };
    if (!content.environment_problem.empty()) add(content.environment_problem);
    for (const auto& [position, why] : content.unreadable) add(why);
    for (const auto& [position, columns] : content.different)
      add(fmt::format("run {}: record {}: the series shows another value than the record has", run,
                      position));
    if (content.environment_problem.empty() && content.unreadable.empty() && !has_its_digest(content))
      add(fmt::format("run {}: it is not what was stored, though all of it can be read", run));
  }
  return damages;
}

RepairResult Store::repair() {
  RepairResult result;
  result.copy = database_->copy_beside();
  TransactionScope transaction(*database_, Database::Transaction::kAlone);
  for (const std::int64_t run : all_runs(*database_)) {
    const StoredContent content = read_content(*database_, run);
    const auto readable = static_cast<std::int64_t>(content.text.records.size());
    const auto unreadable = static_cast<std::int64_t>(content.unreadable.size());
    // If all records are there and readable, the altered one cannot be identified.
    const bool is_altered = unreadable == 0 && readable == content.records && !has_its_digest(content);
    if (!content.environment_problem.empty() || is_altered || readable == 0) {
      remove_run(*database_, run);
      ++result.runs_removed;
      result.records_removed += static_cast<std::size_t>(readable + unreadable);
      continue;
    }
    for (const auto& [position, why] : content.unreadable) remove_record(*database_, run, position);
    for (const auto& [position, columns] : content.different) {
      database_->execute("UPDATE records SET value = $1, samples = $2 WHERE run = $3 AND position = $4",
                         {columns.value, columns.samples, run, position});
    }
    result.records_removed += content.unreadable.size();
    result.records_mended += content.different.size();
    if (!has_its_digest(content)) {
      database_->execute("UPDATE runs SET records = $1, digest = $2 WHERE id = $3",
                         {readable, digest_of(content.text), run});
    }
  }
  database_->execute(
      "DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.series = series.id)");
  transaction.commit();
  return result;
}

}  // namespace headroom
