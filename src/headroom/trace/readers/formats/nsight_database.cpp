// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/formats/nsight_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <system_error>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::trace::readers {
namespace {

[[noreturn]] void fail(sqlite3* database, const char* what) {
  throw Error(fmt::format("{}: {}; export the report again", what, sqlite3_errmsg(database)));
}

std::string identifier(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

/// As a URI that says that nobody writes it meanwhile: no lock is taken, no file made beside it.
std::string uri_of(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || contains("/._-", {&c, 1});
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

}  // namespace

void NsightDatabase::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}

void NsightDatabase::Rows::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

NsightDatabase::NsightDatabase(const std::filesystem::path& path) {
  sqlite3* database = nullptr;
  const int status =
      sqlite3_open_v2(uri_of(path).c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  database_.reset(database);
  if (status != SQLITE_OK) fail(database, "it cannot be opened");
  std::error_code ignored;
  size_ = std::filesystem::file_size(path, ignored);
  prepare();
}

NsightDatabase::NsightDatabase(ByteSource& bytes) {
  std::string block(std::size_t{1} << 20, '\0');
  for (std::size_t got = 0; (got = bytes.read(block.data(), block.size())) > 0;) bytes_.append(block, 0, got);
  size_ = bytes_.size();
  sqlite3* database = nullptr;
  const int status = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, nullptr);
  database_.reset(database);
  if (status != SQLITE_OK) fail(database, "it cannot be opened");
  // Neither copied nor freed by it.
  if (sqlite3_deserialize(database, "main", reinterpret_cast<unsigned char*>(bytes_.data()),
                          static_cast<sqlite3_int64>(size_), static_cast<sqlite3_int64>(size_),
                          SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    fail(database, "it cannot be opened");
  prepare();
}

/// Views, triggers and functions of a file could do more than give rows.
void NsightDatabase::prepare() {
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_exec(database_.get(), "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
  read_tables();
}

void NsightDatabase::read_tables() {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database_.get(), "SELECT name FROM sqlite_master WHERE type='table'", -1, &raw,
                         nullptr) != SQLITE_OK)
    fail(database_.get(), "its list of tables cannot be read");
  int status = SQLITE_ROW;
  for (; (status = sqlite3_step(raw)) == SQLITE_ROW;) {
    const auto* const name = reinterpret_cast<const char*>(sqlite3_column_text(raw, 0));
    if (name != nullptr) tables_.emplace_back(name);
  }
  sqlite3_finalize(raw);
  if (status != SQLITE_DONE) fail(database_.get(), "its list of tables cannot be read");
}

bool NsightDatabase::has_table(std::string_view table) const {
  return std::ranges::find(tables_, table) != tables_.end();
}

NsightDatabase::Rows::Rows(const NsightDatabase& database, const std::string& table,
                           const std::vector<std::string_view>& columns)
    : database_(database.database_.get()), left_(database.size_) {
  const auto has = [&](std::string_view column) {
    return sqlite3_table_column_metadata(database_, "main", table.c_str(), std::string(column).c_str(),
                                         nullptr, nullptr, nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  std::string list;
  for (const std::string_view column : columns)
    list += (list.empty() ? "" : ",") + (has(column) ? identifier(column) : std::string("NULL"));
  const std::string query = fmt::format("SELECT {} FROM main.{}", list, identifier(table));
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database_, query.c_str(), -1, &raw, nullptr) != SQLITE_OK)
    damage_ = sqlite3_errmsg(database_);
  statement_.reset(raw);
}

bool NsightDatabase::Rows::next() {
  if (!statement_) return false;
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW && left_-- > 0) return true;
  if (status != SQLITE_DONE)
    damage_ = status == SQLITE_ROW ? "its pages go round in a circle" : sqlite3_errmsg(database_);
  statement_.reset();
  return false;
}

bool NsightDatabase::Rows::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t NsightDatabase::Rows::whole(int column, std::int64_t absent) const {
  return is_null(column) ? absent : sqlite3_column_int64(statement_.get(), column);
}

std::string_view NsightDatabase::Rows::text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

}  // namespace headroom::trace::readers
