// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/record/record.h"

namespace headroom {

class Database;

enum class StoreAccess { kRead, kReadWrite };

/// For a history that another process holds.
struct StoreWaiting {
  std::chrono::milliseconds longest{60'000};  ///< of a file; HEADROOM_STORE_TIMEOUT applies to a server
  /// When true, waiting ends after `interrupted`.
  std::function<bool()> is_interrupted = [] { return false; };
  std::chrono::milliseconds interrupted{1'000};
};

class StoreBusy : public Error {
 public:
  using Error::Error;
};

struct StoredRun {
  std::int64_t id = 0;
  std::uint64_t time = 0;  ///< in s since 1970
  std::string fingerprint;
  std::string git_sha, git_branch, git_repo;
  std::string headroom_version;
  std::string command;
  std::size_t records = 0;
};

/// A quantity on one machine in one unit, over time.
struct StoredSeries {
  std::int64_t id = 0;
  /// identity(), with the runner if two runners of a run measured the same quantity.
  std::string identity;
  std::string fingerprint;
  std::string unit;
  std::string name;  ///< for display
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

/// Shows whether a series' values changed.
struct SeriesDigest {
  std::int64_t series = 0;
  std::size_t values = 0;
  std::int64_t first_run = 0, last_run = 0;
  double least = 0, most = 0;

  bool operator==(const SeriesDigest&) const = default;
};

/// Change of a level, for write_views().
struct StoredChange {
  std::int64_t series = 0;
  std::int64_t run = 0;         ///< of the first value after it
  std::optional<double> ratio;  ///< after to before
  std::optional<Interval> interval;
};

struct StoredSamples {
  std::int64_t run = 0;
  std::vector<std::vector<double>> processes;  ///< of each process, without warm-up, in the series' unit
  std::string problem;                         ///< why they cannot be read, or empty
};

/// A record matching either rule is removed.
struct PruneRule {
  std::optional<std::size_t> keep_last;     ///< of each series
  std::optional<std::uint64_t> older_than;  ///< s since 1970
};

/// Stored data that differs from the data written.
struct StoreDamage {
  std::optional<std::int64_t> run;  ///< nothing: the whole database
  std::string what;
};

struct RepairResult {
  std::string copy;  ///< the old database, if a file
  std::size_t runs_removed = 0, records_removed = 0;
  std::size_t runs_mended = 0, records_mended = 0, series_mended = 0;  ///< rows rewritten
};

struct PruneResult {
  std::size_t runs = 0;
  std::size_t records = 0;
};

/// Runs, and the series of their records. Safe to use from several processes; runs are stored atomically. All
/// functions throw Error naming the store.
class Store {
 public:
  explicit Store(std::unique_ptr<Database> database);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Stores a run and returns its id. Throws std::invalid_argument without records or if their environments
  /// differ. No environment: an unknown machine at time 0.
  std::int64_t append(const std::vector<Record>& records);
  /// Nothing if an equal run is stored.
  std::optional<std::int64_t> append_if_new(const std::vector<Record>& records);

  /// Oldest first; a limit keeps the newest.
  std::vector<StoredRun> runs(std::optional<std::size_t> newest = std::nullopt);
  /// Sorted by name, metric and machine.
  std::vector<StoredSeries> series();
  /// By time, without runs that gave no number.
  std::vector<StoredValue> values(std::int64_t series);

  /// One per series with a value, sorted by id.
  std::vector<SeriesDigest> series_digests();
  /// Samples of the values from `first` to `last`, in their order.
  std::vector<StoredSamples> samples(std::int64_t series, const StoredValue& first, const StoredValue& last);
  /// Changes when runs are added, shortened or removed. Cheap to poll.
  std::string stamp();
  /// Reads of `body` see one snapshot.
  void read_snapshot(const std::function<void()>& body);

  /// Finds "@last", "@ID" ("@12") or "@git:REV" (the newest run whose revision has this prefix).
  std::int64_t find_run(const std::string& reference);
  std::vector<Record> records(std::int64_t run);
  /// Oldest first.
  std::vector<std::int64_t> run_ids();
  Environment environment(std::int64_t run);

  PruneResult prune(const PruneRule& rule);

  /// Creates or updates the views for Grafana (data/postgresql/views.sql). Only in PostgreSQL, and for the
  /// owner of the history.
  void write_views(const std::vector<StoredChange>& changes);

  /// Checks all data against the digests of runs and the checks of rows.
  std::vector<StoreDamage> verify();
  /// Copies the database, removes unreadable records (or the run, if the damaged part is unknown), and
  /// rewrites rows from the packed runs. verify() then finds no damage in runs and series.
  RepairResult repair();

  const std::string& name() const;

 private:
  std::unique_ptr<Database> database_;
};

/// A path or sqlite:PATH is a file, postgresql://... a database. kRead throws if it does not exist. See
/// open_sqlite and open_postgresql.
std::unique_ptr<Store> open_store(const std::string& url_or_path,
                                  StoreAccess access = StoreAccess::kReadWrite,
                                  const StoreWaiting& waiting = {});

/// HEADROOM_STORE, or history.sqlite in the user's data directory.
std::string default_store();

bool is_remote(const std::string& store);

/// Saves a run for later delivery (mode 0600, in the user's data directory); returns the file. Throws Error.
std::string put_into_outbox(const std::vector<Record>& records, const std::string& store);

/// Appends the waiting runs, each once, and removes their files. Returns a sentence per failure. Throws Error
/// if the history cannot be written.
std::vector<std::string> deliver_outbox(Store& store);

}  // namespace headroom
