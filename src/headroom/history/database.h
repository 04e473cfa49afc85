// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headroom/history/store.h"

namespace headroom {

/// Version of the tables. Since version 2 rows have a check (history/stored_rows.h).
inline constexpr std::int64_t kStoreSchema = 2;

struct Blob {
  std::string bytes;
};

/// monostate is NULL.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;
using SqlRow = std::vector<SqlValue>;

/// Throws Error naming the database for a column of an unexpected type.
void read_row(const std::string& database, const SqlRow& row,
              const std::function<void(const SqlRow&)>& reader);

/// The SQL is portable; parameters are $1, $2, ... All functions throw Error naming the database.
class Database {
 public:
  enum class Transaction {
    kAppend,      ///< concurrent with other appends if the database can
    kAppendOnce,  ///< no concurrent append
    kAlone,       ///< no concurrent writer
    kRead         ///< reads see one snapshot
  };

  virtual ~Database() = default;

  /// `reader` gets each row.
  virtual void execute(const std::string& sql, const SqlRow& parameters,
                       const std::function<void(const SqlRow&)>& reader) = 0;
  void execute(const std::string& sql, const SqlRow& parameters = {}) {
    execute(sql, parameters, [](const SqlRow&) {});
  }

  /// Returns the one whole number that a statement yields.
  std::int64_t number(const std::string& sql);

  virtual void begin(Transaction transaction) = 0;
  virtual void commit() = 0;
  /// Never throws.
  virtual void rollback() noexcept = 0;

  /// Frees the space of deleted rows.
  virtual void compact() = 0;
  /// Returns a sentence for each problem of the database.
  virtual std::vector<std::string> problems() { return {}; }
  virtual void rebuild_indexes() {}
  /// Stores it outside the tables too, where the database can.
  virtual void mark_schema(std::int64_t) {}
  /// Returns the copy, in the same folder; empty if the database is not a file.
  virtual std::string make_backup() { return {}; }
  /// Name for messages, without any password.
  virtual const std::string& name() const = 0;

  /// Older schemas are read-only.
  std::int64_t schema() const { return schema_; }
  void set_schema(std::int64_t version) { schema_ = version; }

 private:
  std::int64_t schema_ = kStoreSchema;
};

class TransactionScope {
 public:
  TransactionScope(Database& database, Database::Transaction transaction) : database_(database) {
    database_.begin(transaction);
  }
  TransactionScope(const TransactionScope&) = delete;
  TransactionScope& operator=(const TransactionScope&) = delete;
  ~TransactionScope() {
    if (!committed_) database_.rollback();
  }
  void commit() {
    database_.commit();
    committed_ = true;
  }

 private:
  Database& database_;
  bool committed_ = false;
};

/// data/postgresql/views.sql: each statement ends with ";" and a line break.
extern const std::string_view kViewsSql;

struct SqlDialect {
  const char* new_id;  ///< type of a generated key, never reused
  const char* blob;
};

/// Returns statements that create the tables and store the version.
std::vector<std::string> schema_statements(const SqlDialect& dialect, std::int64_t version = kStoreSchema);

/// Upgrades to the definitions of a new database.
void migrate(Database& database);

/// `what`: a table, view, trigger or similar that headroom did not create.
[[noreturn]] void refuse_strange_schema(const std::string& database, const std::string& what);

/// Throws Error for an unknown version.
void require_known_schema(std::int64_t version, const std::string& database);

[[noreturn]] void refuse_foreign_database(const std::string& database, const std::string& contents_text);

/// Opens a file. Runs no trigger, view or function stored in it. Creates a missing or empty one unless
/// read-only; refuses other content or a newer history without changing a byte. Commits survive a kill and a
/// power failure. Writers wait for each other, readers never.
std::unique_ptr<Database> open_sqlite(const std::filesystem::path& path, StoreAccess access,
                                      const StoreWaiting& waiting = {});

/// Opens the schema `headroom` of a PostgreSQL database; `url` as in libpq. Creates a missing one unless
/// read-only. Refuses a foreign or newer one.
std::unique_ptr<Database> open_postgresql(const std::string& url, StoreAccess access,
                                          const StoreWaiting& waiting = {});

}  // namespace headroom
