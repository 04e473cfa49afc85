// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <utility>

#include "headroom/history/database.h"

namespace headroom {

/// How long one waits for a file that others write to. Eight processes that write a thousand runs each wait
/// for each other far less than this.
inline constexpr std::chrono::milliseconds kSqliteBusyTimeout{60000};

/// A connection to an SQLite file, whatever is in it; sqlite_database.h opens those that hold a history.
class SqliteConnection final : public Database {
 public:
  /// `uri` as SQLite reads it, `flags` those of sqlite3_open_v2; `path` is its name in messages. Throws
  /// Error.
  SqliteConnection(const std::filesystem::path& path, const std::string& uri, int flags);
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;
  ~SqliteConnection() override;

  using Database::execute;
  void execute(const std::string& sql, const SqlRow& parameters,
               const std::function<void(const SqlRow&)>& reader) override;
  /// SQLite has one writer at a time; taking its place at once avoids that two readers wait for each other.
  void begin(Transaction transaction) override {
    execute(transaction == Transaction::kRead ? "BEGIN" : "BEGIN IMMEDIATE");
  }
  void commit() override { execute("COMMIT"); }
  void rollback() noexcept override;
  void compact() override { execute("VACUUM"); }
  std::vector<std::string> problems() override;
  std::string copy_beside() override;
  const std::string& name() const override { return name_; }

  /// What a statement gives whose result is one number, or one text.
  std::int64_t number(const std::string& sql);
  std::string text(const std::string& sql);

  /// SQLite's extended code of the last failure.
  int code() const { return sqlite3_extended_errcode(handle_); }

 private:
  class Statement {
   public:
    explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
    Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    Statement& operator=(Statement&&) = delete;
    ~Statement() { sqlite3_finalize(handle_); }
    sqlite3_stmt* get() const { return handle_; }

   private:
    sqlite3_stmt* handle_;
  };

  sqlite3_stmt* prepared(const std::string& sql);
  [[noreturn]] void fail(int code) const;

  std::string name_;
  sqlite3* handle_ = nullptr;
  std::unordered_map<std::string, Statement> statements_;
};

}  // namespace headroom
