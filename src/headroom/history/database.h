// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace headroom {

/// Bytes that are no text.
struct Blob {
  std::string bytes;
};

/// What goes into a database and comes out of it; monostate is NULL.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;
using SqlRow = std::vector<SqlValue>;

/// Calls `reader` with a row; throws Error, naming the database, where that finds another type in a column
/// than was written there.
void read_row(const std::string& database, const SqlRow& row,
              const std::function<void(const SqlRow&)>& reader);

/// One connection to a database that holds a history. The statements are the same for every kind of
/// database: parameters are $1, $2, ... All functions throw Error, naming the database.
class Database {
 public:
  enum class Transaction {
    kAppend,  ///< beside other appends, as far as the database can
    kAlone,   ///< nobody else writes while it lasts
    kRead     ///< what is read is of one moment
  };

  virtual ~Database() = default;

  /// Runs one statement and hands each row of its result to `reader`.
  virtual void execute(const std::string& sql, const SqlRow& parameters,
                       const std::function<void(const SqlRow&)>& reader) = 0;
  void execute(const std::string& sql, const SqlRow& parameters = {}) {
    execute(sql, parameters, [](const SqlRow&) {});
  }

  virtual void begin(Transaction transaction) = 0;
  virtual void commit() = 0;
  /// Never throws: the database undoes on its own what cannot be undone in time.
  virtual void rollback() noexcept = 0;

  /// Gives back the space of what was deleted, where the database does not do that by itself.
  virtual void compact() = 0;
  /// What is wrong with the database itself, a sentence each; empty where it is well, or looks after itself.
  virtual std::vector<std::string> problems() { return {}; }
  /// Copies all of it into a new file beside it and returns its name; empty where it is no file.
  virtual std::string copy_beside() { return {}; }
  /// How it is called in messages; never with a password.
  virtual const std::string& name() const = 0;
};

/// A transaction that is undone unless it was committed.
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

}  // namespace headroom
