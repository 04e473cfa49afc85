// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "headroom/history/store.h"

namespace headroom {

/// Version of the tables, stored in the table headroom_store. In version 2 rows have a check
/// (history/stored_rows.h).
inline constexpr std::int64_t kStoreSchema = 2;

/// Binary data.
struct Blob {
  std::string bytes;
};

/// A value of a column or parameter; monostate is NULL.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;
using SqlRow = std::vector<SqlValue>;

/// Calls `reader` with a row. Throws Error naming the database if `reader` finds a column of an unexpected
/// type.
void read_row(const std::string& database, const SqlRow& row,
              const std::function<void(const SqlRow&)>& reader);

/// A connection to a database with a history. SQL is the same for all kinds of database; parameters are $1,
/// $2, ... All functions throw Error naming the database.
class Database {
 public:
  enum class Transaction {
    kAppend,  ///< concurrent with other appends if the database can
    kAlone,   ///< no concurrent writer
    kRead     ///< reads see one snapshot
  };

  virtual ~Database() = default;

  /// Runs one statement and calls `reader` with each row of the result.
  virtual void execute(const std::string& sql, const SqlRow& parameters,
                       const std::function<void(const SqlRow&)>& reader) = 0;
  void execute(const std::string& sql, const SqlRow& parameters = {}) {
    execute(sql, parameters, [](const SqlRow&) {});
  }

  /// Returns the result of a statement that is one whole number.
  std::int64_t number(const std::string& sql);

  virtual void begin(Transaction transaction) = 0;
  virtual void commit() = 0;
  /// Never throws; the database itself rolls back what remains.
  virtual void rollback() noexcept = 0;

  /// Frees the space of deleted rows, unless the database does so by itself.
  virtual void compact() = 0;
  /// Returns problems of the database itself, one sentence each; empty if there are none or the server checks
  /// itself.
  virtual std::vector<std::string> problems() { return {}; }
  /// Builds the indexes anew, if problems() can be of them.
  virtual void rebuild_indexes() {}
  /// Notes the version of the tables wherever else than in a table the database keeps it.
  virtual void mark_schema(std::int64_t) {}
  /// Copies the whole database to a new file beside it and returns its name; empty if the database is not a
  /// file.
  virtual std::string copy_beside() { return {}; }
  /// Returns the name for messages, without any password.
  virtual const std::string& name() const = 0;

  /// Version of its tables; one of an older version is only read.
  std::int64_t schema() const { return schema_; }
  void set_schema(std::int64_t version) { schema_ = version; }

 private:
  std::int64_t schema_ = kStoreSchema;
};

/// Rolls the transaction back unless it was committed.
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

/// SQL that differs between the kinds of database.
struct SqlDialect {
  const char* new_id;  ///< type of a generated key, never reused after a row was deleted
  const char* blob;
};

/// Returns the statements that create the tables in an empty database and store the schema version.
std::vector<std::string> schema_statements(const SqlDialect& dialect, std::int64_t version = kStoreSchema);

/// Brings the tables of an older version to this one, unless another process just did. The result has the
/// same definitions as a new database.
void migrate(Database& database);

/// Throws Error for a history with a table, view, trigger or the like that headroom did not make; `what`
/// names it.
[[noreturn]] void refuse_strange_schema(const std::string& database, const std::string& what);

/// Throws Error unless this program can read and write that schema version.
void require_known_schema(std::int64_t version, const std::string& database);

/// Throws Error for a database that holds something else.
[[noreturn]] void refuse_foreign_database(const std::string& database, const std::string& what_it_holds);

/// Opens a history in a file. Nothing that a stranger put into the file runs: no trigger, view or function.
/// A missing or empty file becomes a history, unless opened read-only. Refuses any
/// other content or a newer history without changing a byte. Commits survive a kill and a power failure.
/// Writers wait for each other; readers never wait.
std::unique_ptr<Database> open_sqlite(const std::filesystem::path& path, StoreAccess access,
                                      const StoreWaiting& waiting = {});

/// Opens a history in the schema `headroom` of a PostgreSQL database; `url` is as in libpq. Creates a missing
/// schema, unless opened read-only. Refuses a foreign or newer schema.
std::unique_ptr<Database> open_postgresql(const std::string& url, StoreAccess access,
                                          const StoreWaiting& waiting = {});

}  // namespace headroom
