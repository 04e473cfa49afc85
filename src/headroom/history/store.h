// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

class Database;

enum class StoreAccess { kRead, kReadWrite };

/// One run as the list of runs shows it.
struct StoredRun {
  std::int64_t id = 0;
  std::uint64_t time = 0;  ///< seconds since 1970
  std::string fingerprint;
  std::string git_sha, git_branch, git_repo;
  std::string headroom_version;
  std::string command;
  std::size_t records = 0;
};

/// One quantity on one machine in one unit, over time.
struct StoredSeries {
  std::int64_t id = 0;
  /// As record.h's identity(); with the runner as one more part where two runners of one run measured the
  /// same quantity (`headroom run --runner A --runner B`): each has a series of its own then.
  std::string identity;
  std::string fingerprint;
  std::string unit;
  std::string name;  ///< for people: case, backend, device, caches, threads, the runner where it counts
  std::string metric;
  Direction direction = Direction::kLowerIsBetter;
};

struct StoredValue {
  double value = 0;
  std::optional<Interval> interval;
  std::size_t samples = 0;
  std::int64_t run = 0;
  std::uint64_t time = 0;
  std::string git_sha, git_branch;
  std::string headroom_version;
};

/// What tells whether the values of a series are those that they were, without reading each.
struct SeriesMark {
  std::int64_t series = 0;
  std::size_t values = 0;
  std::int64_t first_run = 0, last_run = 0;
  double least = 0, most = 0;  ///< of the values

  bool operator==(const SeriesMark&) const = default;
};

/// What a value was computed from.
struct StoredSamples {
  std::int64_t run = 0;
  std::vector<std::vector<double>> processes;  ///< those after warm-up of each process, in the series' unit
  std::string problem;                         ///< why they cannot be read; empty where they can
};

/// What prune() is to remove; a record goes if either rule says so.
struct PruneRule {
  std::optional<std::size_t> keep_last;     ///< of each series
  std::optional<std::uint64_t> older_than;  ///< seconds since 1970
};

/// Something in a history that is not what was stored there.
struct StoreDamage {
  std::optional<std::int64_t> run;  ///< nothing: of the database as a whole
  std::string what;
};

struct RepairResult {
  std::string copy;  ///< of the database before; empty where the database is no file
  std::size_t runs_removed = 0, records_removed = 0, records_mended = 0;
};

struct PruneResult {
  std::size_t runs = 0;  ///< that are gone altogether
  std::size_t records = 0;
};

/// The history of measurements: runs, and the series that their records form. Several processes may use one
/// at once; a run is there whole or not at all. All functions throw Error, naming the store.
class Store {
 public:
  explicit Store(std::unique_ptr<Database> database);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Stores the records of one run (at least one, all of the same environment; std::invalid_argument
  /// otherwise) and returns its id. Records without an environment are those of an unknown machine at the
  /// beginning of time: give them one.
  std::int64_t append(const std::vector<Record>& records);
  /// The same, unless an equal run is there: then nothing.
  std::optional<std::int64_t> append_if_new(const std::vector<Record>& records);

  /// The newest last; with a limit, only so many of the newest.
  std::vector<StoredRun> runs(std::optional<std::size_t> newest = std::nullopt);
  /// By name, metric and machine.
  std::vector<StoredSeries> series();
  /// In the order of time; what gave no number is left out.
  std::vector<StoredValue> values(std::int64_t series);

  /// Of every series that has a value, by its id.
  std::vector<SeriesMark> marks();
  /// Of the values of a series from `first` to `last`, in the order of values().
  std::vector<StoredSamples> samples(std::int64_t series, const StoredValue& first, const StoredValue& last);
  /// Another one after runs were added, shortened or removed: cheap to ask for often.
  std::string stamp();
  /// What `body` reads is of one moment.
  void at_one_moment(const std::function<void()>& body);

  /// The run that "@last", "@ID" ("@12") or "@git:REV" (a prefix of the revision; its newest run) names.
  std::int64_t find_run(const std::string& reference);
  std::vector<Record> records(std::int64_t run);
  /// Those of several, one after the other, as they all are at one moment.
  std::vector<Record> records(const std::vector<std::int64_t>& runs);
  Environment environment(std::int64_t run);

  PruneResult prune(const PruneRule& rule);

  /// Reads all that is stored and holds it against its digests, and what stands twice against each other.
  std::vector<StoreDamage> verify();
  /// Copies the database, removes what cannot be read (a record, or a run where what is damaged cannot be
  /// told), and writes anew what stands twice. After it verify() finds nothing in the runs.
  RepairResult repair();

  const std::string& name() const;

 private:
  std::unique_ptr<Database> database_;
};

/// Opens a history: a path or sqlite:PATH is a file, postgresql://... a database. See open_sqlite and
/// open_postgresql for what is made and what is refused. kRead throws where there is none yet.
std::unique_ptr<Store> open_store(const std::string& url_or_path,
                                  StoreAccess access = StoreAccess::kReadWrite);

/// HEADROOM_STORE where that is set, else history.sqlite in the user's data folder.
std::string default_store();

}  // namespace headroom
