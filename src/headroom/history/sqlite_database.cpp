// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/sqlite_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <string_view>
#include <thread>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/history/schema.h"
#include "headroom/history/sqlite_connection.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// Marks the file as ours in its header, where `file` and we can read it: "HDRM".
constexpr std::uint32_t kApplicationId = 0x4844524d;
constexpr SqlDialect kSqliteDialect{"INTEGER PRIMARY KEY AUTOINCREMENT", "BLOB"};

/// What the first bytes of a file say.
struct FileHeader {
  enum class Kind { kEmpty, kSqlite, kOther } kind = Kind::kEmpty;
  std::uint32_t application_id = 0;
  std::uint32_t user_version = 0;
};

/// SQLite's file format, section 1.3: the magic text, user version at 60, application id at 68. Read without
/// SQLite, which might change the file of somebody else by opening it (a log left behind is played back).
FileHeader read_header(const fs::path& path) {
  std::array<unsigned char, 100> bytes{};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(
        fmt::format("cannot read the history {}; is it a file that you may read?", in_quotes(path.string())));
  file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  if (file.gcount() == 0) return {};
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (file.gcount() < 100 || std::string_view(reinterpret_cast<char*>(bytes.data()), 16) != kMagic) {
    return {FileHeader::Kind::kOther, 0, 0};
  }
  const auto number = [&bytes](std::size_t at) {
    return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
           std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]};
  };
  return {FileHeader::Kind::kSqlite, number(68), number(60)};
}

bool holds_tables(SqliteConnection& database) {
  return database.number("SELECT COUNT(*) FROM sqlite_master") > 0;
}

/// Within a transaction: another process may have made the tables since the header was read. All of them, and
/// the marks in the header, come into the file at once.
void make_tables(SqliteConnection& database) {
  TransactionScope transaction(database, Database::Transaction::kAlone);
  if (holds_tables(database)) return;
  for (const std::string& sql : schema_statements(kSqliteDialect)) database.execute(sql);
  database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.execute(fmt::format("PRAGMA user_version = {}", kStoreSchema));
  transaction.commit();
}

/// The log lets readers and a writer work at once. The mode is kept in the file, so that only the first
/// process switches; SQLite does not wait by itself here while others are just opening the file.
void use_write_ahead_log(SqliteConnection& database) {
  const auto deadline = std::chrono::steady_clock::now() + kSqliteBusyTimeout;
  for (;;) {
    try {
      database.text("PRAGMA journal_mode = WAL");
      return;
    } catch (const Error&) {
      if ((database.code() & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void require_ours(const FileHeader& header, const std::string& name) {
  switch (header.kind) {
    case FileHeader::Kind::kEmpty:
      return;
    case FileHeader::Kind::kOther:
      refuse_foreign_database(name, "the file holds something else");
    case FileHeader::Kind::kSqlite:
      if (header.application_id != kApplicationId) {
        refuse_foreign_database(name, "it is an SQLite database of another program");
      }
      require_known_schema(header.user_version, name);
  }
}

std::string percent_encoded(const std::string& path) {
  std::string encoded;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      encoded += c;
    }
  }
  return encoded;
}

/// Readers need to write beside the file to take part in its locking, and to put right what a killed writer
/// left. Where they may not, and no writer has left anything, the file itself is the whole truth.
std::unique_ptr<SqliteConnection> open_for_reading(const fs::path& path, const std::string& uri) {
  try {
    auto database = std::make_unique<SqliteConnection>(path, uri, SQLITE_OPEN_READWRITE);
    holds_tables(*database);
    return database;
  } catch (const Error&) {
    std::error_code ignored;
    for (const char* left_behind : {"-wal", "-journal"}) {
      if (fs::exists(path.string() + left_behind, ignored)) throw;
    }
    return std::make_unique<SqliteConnection>(path, uri + "?immutable=1", SQLITE_OPEN_READONLY);
  }
}

/// A history is its user's own: SQLite would make a file that all may read, and gives those beside it (the
/// log) the mode of the file. One that is there keeps the mode that it was given.
void make_private(const fs::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0) ::close(file);
}

[[noreturn]] void refuse_missing(const fs::path& path) {
  throw Error(
      fmt::format("there is no history at {} yet; headroom run adds to it, headroom history import "
                  "fills it from files",
                  in_quotes(path.string())));
}

}  // namespace

std::unique_ptr<Database> open_sqlite(const fs::path& path, StoreAccess access) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const bool exists = fs::exists(status);
  if (exists && !fs::is_regular_file(status)) refuse_foreign_database(path.string(), "it is no regular file");
  const FileHeader header = exists ? read_header(path) : FileHeader{};
  require_ours(header, path.string());
  const std::string uri = "file:" + percent_encoded(fs::absolute(path).string());
  std::unique_ptr<SqliteConnection> database;
  // A writer that was killed while it made the tables leaves a file that turns out empty when opened.
  if (access == StoreAccess::kRead) {
    if (header.kind == FileHeader::Kind::kEmpty) refuse_missing(path);
    database = open_for_reading(path, uri);
    if (!holds_tables(*database)) refuse_missing(path);
  } else {
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
    make_private(path);
    database = std::make_unique<SqliteConnection>(path, uri, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (!holds_tables(*database)) make_tables(*database);
  }
  // A newer program may have changed the schema in a log that is not in the file yet.
  require_known_schema(database->number("SELECT schema_version FROM headroom_store"), path.string());
  if (access == StoreAccess::kReadWrite) {
    use_write_ahead_log(*database);
    database->execute("PRAGMA synchronous = FULL");
    database->execute("PRAGMA foreign_keys = ON");
  }
  return database;
}

}  // namespace headroom
