// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/history/database.h"

namespace headroom {

class SqliteConnection final : public Database {
 public:
  /// `uri` and `flags` as for sqlite3_open_v2; `path` is for messages. Throws Error.
  SqliteConnection(const std::filesystem::path& path, const std::string& uri, int flags,
                   const StoreWaiting& waiting);
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;
  ~SqliteConnection() override;

  using Database::execute;
  void execute(const std::string& sql, const SqlRow& parameters,
               const std::function<void(const SqlRow&)>& reader) override;
  /// One writer at a time. Locking at once avoids a deadlock of two readers that want to write.
  void begin(Transaction transaction) override {
    execute(transaction == Transaction::kRead ? "BEGIN" : "BEGIN IMMEDIATE");
  }
  void commit() override { execute("COMMIT"); }
  void rollback() noexcept override;
  void compact() override { execute("VACUUM"); }
  std::vector<std::string> problems() override;
  void rebuild_indexes() override { execute("REINDEX"); }
  void mark_schema(std::int64_t version) override {
    execute(fmt::format("PRAGMA user_version = {}", version));
  }
  std::string make_backup() override;
  const std::string& name() const override { return name_; }

  std::string text(const std::string& sql);

  /// SQLite's extended code of the last failure.
  int code() const { return sqlite3_extended_errcode(handle_); }

  /// Sleeps before retry `tries` while another process holds the file; false: give up.
  bool wait_a_moment(int tries);

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
  StoreWaiting waiting_;
  std::chrono::steady_clock::time_point waits_since_;
  sqlite3* handle_ = nullptr;
  std::unordered_map<std::string, Statement> statements_;
};

namespace {

std::string advice(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "; free space there, or name another place with --store";
    case SQLITE_IOERR:
      return "; is the disk full, or is the size of files limited? Nothing of this run was stored";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "; name a writable place with --store or HEADROOM_STORE";
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

struct Reset {
  sqlite3_stmt* statement;
  ~Reset() {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
};

namespace fs = std::filesystem;

/// "HDRM", in the file's header.
constexpr std::uint32_t kApplicationId = 0x4844524d;
constexpr SqlDialect kSqliteDialect{"INTEGER PRIMARY KEY AUTOINCREMENT", "BLOB"};

/// Whether SQLite itself created it.
bool is_sqlite_internal(const std::string& type, const std::string& name, const std::string& sql) {
  if (type == "index") return name.starts_with("sqlite_autoindex_") && sql.empty();
  return type == "table" && (sql == "CREATE TABLE sqlite_sequence(name,seq)" ||
                             sql == "CREATE TABLE sqlite_stat1(tbl,idx,stat)" ||
                             sql == "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)");
}

std::string text_or_empty(const SqlValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

struct FileHeader {
  enum class Kind { kEmpty, kSqlite, kOther } kind = Kind::kEmpty;
  std::uint32_t application_id = 0;
  std::uint32_t user_version = 0;
};

/// Reads SQLite's file format (section 1.3) without SQLite, which may change a foreign file by opening it (it
/// replays a leftover log).
FileHeader read_header(const fs::path& path) {
  std::array<unsigned char, 100> bytes{};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(fmt::format("cannot read the history {}; check that it is a file and readable",
                            quote(path.string())));
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

/// Runs in a transaction, as another process may do the same.
void make_tables(SqliteConnection& database) {
  TransactionScope transaction(database, Database::Transaction::kAlone);
  if (holds_tables(database)) return;
  for (const std::string& sql : schema_statements(kSqliteDialect)) database.execute(sql);
  database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.mark_schema(kStoreSchema);
  transaction.commit();
}

/// Throws Error unless the schema is known and has exactly its definitions: a trigger or a view would take
/// part in our statements.
void require_own_schema(SqliteConnection& database) {
  const TransactionScope moment(database, Database::Transaction::kRead);
  const std::int64_t version = database.number("PRAGMA user_version");
  require_known_schema(version, database.name());
  std::map<std::string, std::string> missing;
  for (const std::string& sql : schema_statements(kSqliteDialect, version)) {
    constexpr std::string_view kTable = "CREATE TABLE ", kIndex = "CREATE INDEX ";
    if (!sql.starts_with(kTable) && !sql.starts_with(kIndex)) continue;
    const bool is_table = sql.starts_with(kTable);
    const std::size_t start = is_table ? kTable.size() : kIndex.size();
    missing.emplace((is_table ? "table " : "index ") + sql.substr(start, sql.find(' ', start) - start), sql);
  }
  database.execute("SELECT type, name, sql FROM sqlite_master", {}, [&](const SqlRow& row) {
    const std::string type = text_or_empty(row[0]), name = text_or_empty(row[1]), sql = text_or_empty(row[2]);
    const auto ours = missing.find(type + " " + name);
    if (ours != missing.end() && ours->second == sql) {
      missing.erase(ours);
    } else if (ours != missing.end()) {
      refuse_strange_schema(database.name(),
                            fmt::format("its {} {} is defined differently", type, quote(name)));
    } else if (!is_sqlite_internal(type, name, sql)) {
      refuse_strange_schema(
          database.name(), fmt::format("it has the {} {}, which headroom did not create", type, quote(name)));
    }
  });
  if (!missing.empty()) refuse_strange_schema(database.name(), "it lacks the " + missing.begin()->first);
  // A newer program may have changed the schema in the log.
  const std::int64_t stored = database.number("SELECT schema_version FROM headroom_store");
  require_known_schema(stored, database.name());
  if (stored != version)
    refuse_strange_schema(database.name(), fmt::format("its schema is both {} and {}", version, stored));
  database.set_schema(version);
}

/// Readers and a writer then work concurrently. The file keeps the mode. SQLite does not wait here.
void use_write_ahead_log(SqliteConnection& database) {
  for (int tries = 0;; ++tries) {
    try {
      database.text("PRAGMA journal_mode = WAL");
      return;
    } catch (const StoreBusy&) {
      if (!database.wait_a_moment(tries)) throw;
    }
  }
}

void require_ours(const FileHeader& header, const std::string& name) {
  switch (header.kind) {
    case FileHeader::Kind::kEmpty:
      return;
    case FileHeader::Kind::kOther:
      refuse_foreign_database(name, "the file is not an SQLite database");
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

/// Readers need write access for locks and to recover from a killed writer. Without it, the file is complete
/// if no writer left a log.
std::unique_ptr<SqliteConnection> open_for_reading(const fs::path& path, const std::string& uri,
                                                   const StoreWaiting& waiting) {
  try {
    auto database = std::make_unique<SqliteConnection>(path, uri, SQLITE_OPEN_READWRITE, waiting);
    holds_tables(*database);
    return database;
  } catch (const StoreBusy&) {
    throw;
  } catch (const Error&) {
    std::error_code ignored;
    for (const char* suffix : {"-wal", "-journal"}) {
      if (fs::exists(path.string() + suffix, ignored)) throw;
    }
    return std::make_unique<SqliteConnection>(path, uri + "?immutable=1", SQLITE_OPEN_READONLY, waiting);
  }
}

/// Makes a new file readable by its user only; SQLite gives the log the same mode.
void make_private(const fs::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0) ::close(file);
}

[[noreturn]] void refuse_missing(const fs::path& path) {
  throw Error(
      fmt::format("there is no history at {} yet; headroom run adds to it, headroom history import "
                  "fills it from files",
                  quote(path.string())));
}

}  // namespace

SqliteConnection::SqliteConnection(const std::filesystem::path& path, const std::string& uri, int flags,
                                   const StoreWaiting& waiting)
    : name_(path.string()), waiting_(waiting) {
  const int code =
      sqlite3_open_v2(uri.c_str(), &handle_, flags | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) {
    const std::string why = sqlite3_errstr(code);
    sqlite3_close(handle_);
    throw Error(fmt::format("cannot open the history {}: {}{}", quote(name_), why, advice(code)));
  }
  for (const int setting :
       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW})
    sqlite3_db_config(handle_, setting, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_busy_handler(
      handle_,
      [](void* connection, int tries) {
        return static_cast<SqliteConnection*>(connection)->wait_a_moment(tries) ? 1 : 0;
      },
      this);
}

bool SqliteConnection::wait_a_moment(int tries) {
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) waits_since_ = now;
  const auto waited = now - waits_since_;
  if (waited >= waiting_.longest || (waiting_.is_interrupted() && waited >= waiting_.interrupted))
    return false;
  ::usleep(static_cast<useconds_t>(std::min(tries + 1, 20)) * 1000);
  return true;
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
    const auto& problem = std::get<std::string>(row.at(0));
    if (problem != "ok") found.push_back(problem);
  });
  return found;
}

std::string SqliteConnection::make_backup() {
  std::string copy;
  for (int number = 1; copy.empty() || std::filesystem::exists(copy); ++number)
    copy = fmt::format("{}.before-repair-{}", name_, number);
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

std::string SqliteConnection::text(const std::string& sql) {
  std::string result;
  execute(sql, {}, [&result](const SqlRow& row) { result = std::get<std::string>(row.at(0)); });
  return result;
}

void SqliteConnection::fail(int code) const {
  if ((code & 0xff) == SQLITE_BUSY) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - waits_since_;
    throw StoreBusy(fmt::format("the history {} is locked: another process holds it (waited {:.0f} s)",
                                quote(name_), waited.count()));
  }
  throw Error(fmt::format("the history {}: {}{}", quote(name_), sqlite3_errmsg(handle_), advice(code)));
}

sqlite3_stmt* SqliteConnection::prepared(const std::string& sql) {
  if (const auto known = statements_.find(sql); known != statements_.end()) return known->second.get();
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) fail(code);
  return statements_.emplace(sql, Statement(statement)).first->second.get();
}

std::unique_ptr<Database> open_sqlite(const fs::path& asked, StoreAccess access,
                                      const StoreWaiting& waiting) {
  const fs::path path = access == StoreAccess::kRead ? asked : resolve_output_path(asked);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const bool exists = fs::exists(status);
  if (exists && !fs::is_regular_file(status))
    refuse_foreign_database(path.string(), "it is not a regular file");
  const FileHeader header = exists ? read_header(path) : FileHeader{};
  require_ours(header, path.string());
  const std::string uri = "file:" + percent_encoded(fs::absolute(path).string());
  std::unique_ptr<SqliteConnection> database;
  // A killed writer may leave a file without tables.
  if (access == StoreAccess::kRead) {
    if (header.kind == FileHeader::Kind::kEmpty) refuse_missing(path);
    database = open_for_reading(path, uri, waiting);
    if (!holds_tables(*database)) refuse_missing(path);
  } else {
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
    make_private(path);
    database =
        std::make_unique<SqliteConnection>(path, uri, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, waiting);
    if (!holds_tables(*database)) make_tables(*database);
  }
  require_own_schema(*database);
  if (access == StoreAccess::kReadWrite) {
    use_write_ahead_log(*database);
    database->execute("PRAGMA synchronous = FULL");
    database->execute("PRAGMA foreign_keys = ON");
  }
  return database;
}

}  // namespace headroom
