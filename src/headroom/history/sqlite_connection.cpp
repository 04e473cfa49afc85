// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/sqlite_connection.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <variant>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

std::string advice(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "; free space there, or name another place with --store";
    case SQLITE_IOERR:
      return "; is the disk full, or is there a limit on the size of files? Nothing of this run was stored";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "; name a place that you may write to with --store or HEADROOM_STORE";
    case SQLITE_BUSY:
      return fmt::format(": another process held it for {} s", kSqliteBusyTimeout.count() / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "; restore it from a copy, or name another place with --store";
    default:
      return "";
  }
}

int bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
  struct Binder {
    sqlite3_stmt* statement;
    int index;
    int operator()(std::monostate) const { return sqlite3_bind_null(statement, index); }
    int operator()(std::int64_t number) const { return sqlite3_bind_int64(statement, index, number); }
    int operator()(double number) const { return sqlite3_bind_double(statement, index, number); }
    int operator()(const std::string& text) const {
      return sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    }
    int operator()(const Blob& blob) const {
      return sqlite3_bind_blob64(statement, index, blob.bytes.data(), blob.bytes.size(), SQLITE_STATIC);
    }
  };
  return std::visit(Binder{statement, index}, value);
}

SqlValue column(sqlite3_stmt* statement, int index) {
  const auto bytes = [&](const void* data) {
    return std::string(static_cast<const char*>(data), sqlite3_column_bytes(statement, index));
  };
  switch (sqlite3_column_type(statement, index)) {
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(statement, index));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, index);
    case SQLITE_TEXT:
      return bytes(sqlite3_column_text(statement, index));
    case SQLITE_BLOB:
      return Blob{bytes(sqlite3_column_blob(statement, index))};
    default:
      return {};
  }
}

/// Makes a statement ready for its next use.
struct Reset {
  sqlite3_stmt* statement;
  ~Reset() {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
};

}  // namespace

SqliteConnection::SqliteConnection(const std::filesystem::path& path, const std::string& uri, int flags)
    : name_(path.string()) {
  const int code =
      sqlite3_open_v2(uri.c_str(), &handle_, flags | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) {
    const std::string why = sqlite3_errstr(code);
    sqlite3_close(handle_);
    throw Error(fmt::format("cannot open the history {}: {}{}", in_quotes(name_), why, advice(code)));
  }
  sqlite3_busy_timeout(handle_, static_cast<int>(kSqliteBusyTimeout.count()));
}

SqliteConnection::~SqliteConnection() {
  statements_.clear();
  sqlite3_close(handle_);
}

void SqliteConnection::execute(const std::string& sql, const SqlRow& parameters,
                               const std::function<void(const SqlRow&)>& reader) {
  sqlite3_stmt* statement = prepared(sql);
  const Reset reset{statement};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const int index = sqlite3_bind_parameter_index(statement, fmt::format("${}", i + 1).c_str());
    if (index > 0 && bind(statement, index, parameters[i]) != SQLITE_OK) fail(this->code());
  }
  SqlRow row(static_cast<std::size_t>(sqlite3_column_count(statement)));
  int code = 0;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = column(statement, static_cast<int>(i));
    read_row(name_, row, reader);
  }
  if (code != SQLITE_DONE) fail(code);
}

void SqliteConnection::rollback() noexcept {
  if (sqlite3_get_autocommit(handle_) == 0) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

std::vector<std::string> SqliteConnection::problems() {
  std::vector<std::string> found;
  execute("PRAGMA integrity_check(20)", {}, [&found](const SqlRow& row) {
    const auto& told = std::get<std::string>(row.at(0));
    if (told != "ok") found.push_back(told);
  });
  return found;
}

std::string SqliteConnection::copy_beside() {
  std::string copy;
  for (int number = 1; copy.empty() || std::filesystem::exists(copy); ++number)
    copy = fmt::format("{}.before-repair-{}", name_, number);
  // As private as the history itself.
  const mode_t before = ::umask(0077);
  try {
    execute("VACUUM INTO $1", {copy});
  } catch (...) {
    ::umask(before);
    throw;
  }
  ::umask(before);
  return copy;
}

std::int64_t SqliteConnection::number(const std::string& sql) {
  std::int64_t result = 0;
  execute(sql, {}, [&result](const SqlRow& row) { result = std::get<std::int64_t>(row.at(0)); });
  return result;
}

std::string SqliteConnection::text(const std::string& sql) {
  std::string result;
  execute(sql, {}, [&result](const SqlRow& row) { result = std::get<std::string>(row.at(0)); });
  return result;
}

void SqliteConnection::fail(int code) const {
  throw Error(fmt::format("the history {}: {}{}", in_quotes(name_), sqlite3_errmsg(handle_), advice(code)));
}

sqlite3_stmt* SqliteConnection::prepared(const std::string& sql) {
  if (const auto known = statements_.find(sql); known != statements_.end()) return known->second.get();
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) fail(code);
  return statements_.emplace(sql, Statement(statement)).first->second.get();
}

}  // namespace headroom
