// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>

#include "headroom/base/error.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/history/database.h"

namespace headroom {
namespace {

/// libpq depends on some thirty other libraries, so it is loaded with the first database.
struct Libpq {
  decltype(&PQconnectStartParams) start_connecting;
  decltype(&PQconnectPoll) go_on_connecting;
  decltype(&PQsocket) socket;
  decltype(&PQsetnonblocking) set_nonblocking;
  decltype(&PQflush) flush;
  decltype(&PQconsumeInput) consume_input;
  decltype(&PQisBusy) is_busy;
  decltype(&PQgetResult) next_result;
  decltype(&PQfinish) finish;
  decltype(&PQstatus) status;
  decltype(&PQerrorMessage) error_message;
  decltype(&PQsetNoticeProcessor) set_notice_processor;
  decltype(&PQsendPrepare) send_prepare;
  decltype(&PQsendQueryPrepared) send_prepared;
  decltype(&PQresultStatus) result_status;
  decltype(&PQresultErrorMessage) result_error;
  decltype(&PQresultErrorField) result_error_field;
  decltype(&PQclear) clear;
  decltype(&PQntuples) row_count;
  decltype(&PQnfields) column_count;
  decltype(&PQftype) column_type;
  decltype(&PQgetisnull) is_null;
  decltype(&PQgetvalue) value;
  decltype(&PQgetlength) length;
};

constexpr const char* kLibrary = "libpq.so.5";

template <typename Function>
void find(void* library, const char* name, Function& function) {
  void* symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw Error(fmt::format("{} has no {}: it is too old for headroom", kLibrary, name));
  function = reinterpret_cast<Function>(symbol);
}

Libpq load() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(
        fmt::format("a history in PostgreSQL needs {}, which was not found ({}); install it (Debian: "
                    "libpq5), or keep the history in a file",
                    kLibrary, ::dlerror()));
  }
  Libpq functions{};
  find(library, "PQconnectStartParams", functions.start_connecting);
  find(library, "PQconnectPoll", functions.go_on_connecting);
  find(library, "PQsocket", functions.socket);
  find(library, "PQsetnonblocking", functions.set_nonblocking);
  find(library, "PQflush", functions.flush);
  find(library, "PQconsumeInput", functions.consume_input);
  find(library, "PQisBusy", functions.is_busy);
  find(library, "PQgetResult", functions.next_result);
  find(library, "PQfinish", functions.finish);
  find(library, "PQstatus", functions.status);
  find(library, "PQerrorMessage", functions.error_message);
  find(library, "PQsetNoticeProcessor", functions.set_notice_processor);
  find(library, "PQsendPrepare", functions.send_prepare);
  find(library, "PQsendQueryPrepared", functions.send_prepared);
  find(library, "PQresultStatus", functions.result_status);
  find(library, "PQresultErrorMessage", functions.result_error);
  find(library, "PQresultErrorField", functions.result_error_field);
  find(library, "PQclear", functions.clear);
  find(library, "PQntuples", functions.row_count);
  find(library, "PQnfields", functions.column_count);
  find(library, "PQftype", functions.column_type);
  find(library, "PQgetisnull", functions.is_null);
  find(library, "PQgetvalue", functions.value);
  find(library, "PQgetlength", functions.length);
  return functions;
}

constexpr SqlDialect kPostgresqlDialect{"BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA"};

/// Fixed ids in PostgreSQL's catalog pg_type.
constexpr Oid kBytea = 17, kInt8 = 20, kText = 25, kFloat8 = 701;
constexpr int kTextFormat = 0, kBinaryFormat = 1;
/// "HDRM", and the next.
constexpr std::int64_t kLockOfSchema = 0x4844524d;
/// Unlike a lock on a table, it needs no right to change rows.
constexpr std::int64_t kLockOfAppends = kLockOfSchema + 1;

std::string without_trailing_newline(const char* message) {
  return std::string(trimmed(message));
}

/// "\x0a1b...", PostgreSQL's text form.
Blob from_hex(std::string_view shown) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Blob blob;
  blob.bytes.reserve(shown.size() / 2);
  for (std::size_t i = 2; i + 1 < shown.size(); i += 2) {
    blob.bytes += static_cast<char>(digit(shown[i]) * 16 + digit(shown[i + 1]));
  }
  return blob;
}

/// Points into `values`.
class Parameters {
 public:
  explicit Parameters(const SqlRow& values) : texts_(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) add(values[i], texts_[i]);
  }
  int count() const { return static_cast<int>(pointers_.size()); }
  const Oid* types() const { return types_.data(); }
  const char* const* values() const { return pointers_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  void add(const SqlValue& value, std::string& text) {
    if (std::holds_alternative<std::monostate>(value)) return add(0, nullptr, 0, kTextFormat);
    if (const auto* blob = std::get_if<Blob>(&value)) {
      return add(kBytea, blob->bytes.data(), static_cast<int>(blob->bytes.size()), kBinaryFormat);
    }
    if (const auto* string = std::get_if<std::string>(&value))
      return add(kText, string->c_str(), 0, kTextFormat);
    const auto* number = std::get_if<double>(&value);
    text = number != nullptr ? fmt::format("{}", *number) : fmt::format("{}", std::get<std::int64_t>(value));
    add(number != nullptr ? kFloat8 : kInt8, text.c_str(), 0, kTextFormat);
  }
  void add(Oid type, const char* pointer, int length, int format) {
    types_.push_back(type);
    pointers_.push_back(pointer);
    lengths_.push_back(length);
    formats_.push_back(format);
  }

  std::vector<std::string> texts_;
  std::vector<Oid> types_;
  std::vector<const char*> pointers_;
  std::vector<int> lengths_, formats_;
};

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

/// Longest silence of the server during a request.
std::chrono::milliseconds statement_timeout() {
  constexpr std::chrono::milliseconds kServerTimeout{30'000};
  const char* text = std::getenv("HEADROOM_STORE_TIMEOUT");
  if (text == nullptr || *text == '\0') return kServerTimeout;
  return std::chrono::milliseconds(std::llround(parse_time_ns(text) / 1e6));
}

/// Throws Error if the library is missing.
const Libpq& libpq() {
  static const Libpq functions = load();
  return functions;
}

class PostgresqlDatabase final : public Database {
 public:
  PostgresqlDatabase(const std::string& url, const StoreWaiting& waiting)
      : pq_(libpq()), name_(redact_secrets(url)), timeout_(statement_timeout()), waiting_(waiting) {
    const std::array<const char*, 4> keys{"client_encoding", "dbname", "fallback_application_name", nullptr};
    const std::array<const char*, 4> values{"UTF8", url.c_str(), "headroom", nullptr};
    connection_ = pq_.start_connecting(keys.data(), values.data(), 1);
    try {
      connect();
    } catch (const Error& error) {
      pq_.finish(connection_);
      throw Error(fmt::format("cannot open the history {}: {}", quote(name_), error.what()));
    }
    pq_.set_notice_processor(
        connection_, [](void*, const char*) {}, nullptr);
  }
  PostgresqlDatabase(const PostgresqlDatabase&) = delete;
  PostgresqlDatabase& operator=(const PostgresqlDatabase&) = delete;
  ~PostgresqlDatabase() override { pq_.finish(connection_); }

  using Database::execute;
  void execute(const std::string& sql, const SqlRow& values,
               const std::function<void(const SqlRow&)>& reader) override {
    const Parameters parameters(values);
    const std::string& statement = prepared(sql, parameters);
    const Result result =
        answer(pq_.send_prepared(connection_, statement.c_str(), parameters.count(), parameters.values(),
                                 parameters.lengths(), parameters.formats(), kTextFormat));
    require_success(result);
    SqlRow row(static_cast<std::size_t>(pq_.column_count(result.get())));
    const int rows = pq_.row_count(result.get());
    for (int i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < row.size(); ++j) row[j] = cell(result.get(), i, static_cast<int>(j));
      read_row(name_, row, reader);
    }
  }

  void begin(Transaction transaction) override {
    execute(transaction == Transaction::kRead ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN");
    // Blocks appends, which insert into runs, but not readers.
    if (transaction == Transaction::kAlone) execute("LOCK TABLE runs IN EXCLUSIVE MODE");
    if (transaction == Transaction::kAppend || transaction == Transaction::kAppendOnce)
      execute(fmt::format("SELECT pg_advisory_xact_lock{}({})::text",
                          transaction == Transaction::kAppend ? "_shared" : "", kLockOfAppends));
  }
  void commit() override { execute("COMMIT"); }
  void rollback() noexcept override {
    if (is_lost_) return;
    try {
      execute("ROLLBACK");
    } catch (const Error&) {
      is_lost_ = true;
    }
  }
  /// Done by autovacuum.
  void compact() override {}
  const std::string& name() const override { return name_; }

 private:
  /// Waits at most patience_; a handled signal (Ctrl-C) ends the wait. Throws Error; the connection is then
  /// unusable.
  void await(short events) {
    pollfd file{pq_.socket(connection_), events, 0};
    const auto longest = waiting_.is_interrupted() ? std::min(timeout_, waiting_.interrupted) : timeout_;
    const int ready = ::poll(&file, 1, static_cast<int>(longest.count()));
    if (ready > 0) return;
    is_lost_ = true;
    if (ready < 0 && errno == EINTR) throw Error("interrupted while waiting for the server");
    throw Error(
        fmt::format("the server did not answer within {:g} s (HEADROOM_STORE_TIMEOUT sets this limit)",
                    std::chrono::duration<double>(longest).count()));
  }

  void connect() {
    for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;
         next = pq_.go_on_connecting(connection_)) {
      if (next == PGRES_POLLING_FAILED || pq_.status(connection_) == CONNECTION_BAD)
        throw Error(without_trailing_newline(pq_.error_message(connection_)));
      await(next == PGRES_POLLING_READING ? POLLIN : POLLOUT);
    }
    if (pq_.set_nonblocking(connection_, 1) != 0)
      throw Error(without_trailing_newline(pq_.error_message(connection_)));
  }

  Result answer(int was_sent) {
    try {
      if (was_sent == 0) throw Error(without_trailing_newline(pq_.error_message(connection_)));
      for (int left = 0; (left = pq_.flush(connection_)) != 0;) {
        if (left < 0) throw Error(without_trailing_newline(pq_.error_message(connection_)));
        await(POLLIN | POLLOUT);
        consume();
      }
      Result last(nullptr, pq_.clear);
      // A null result ends the results of a statement.
      for (;;) {
        while (pq_.is_busy(connection_) != 0) {
          await(POLLIN);
          consume();
        }
        Result next(pq_.next_result(connection_), pq_.clear);
        if (!next) return last;
        last = std::move(next);
      }
    } catch (const Error& error) {
      throw Error(fmt::format("the history {}: {}", quote(name_), error.what()));
    }
  }

  void consume() {
    if (pq_.consume_input(connection_) != 0) return;
    is_lost_ = true;
    throw Error(without_trailing_newline(pq_.error_message(connection_)));
  }

  /// Has explicit types, as the database would guess some wrong; NULL fits any.
  const std::string& prepared(const std::string& sql, const Parameters& parameters) {
    std::string key = sql;
    for (int i = 0; i < parameters.count(); ++i) key += fmt::format(" {}", parameters.types()[i]);
    const auto [known, is_new] = statements_.try_emplace(key, fmt::format("s{}", statements_.size()));
    if (is_new) {
      try {
        require_success(answer(pq_.send_prepare(connection_, known->second.c_str(), sql.c_str(),
                                                parameters.count(), parameters.types())));
      } catch (...) {
        statements_.erase(known);
        throw;
      }
    }
    return known->second;
  }

  void require_success(const Result& result) const {
    const ExecStatusType status = pq_.result_status(result.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
    const char* why = pq_.result_error(result.get());
    throw Error(fmt::format("the history {}: {}", quote(name_),
                            without_trailing_newline(*why != '\0' ? why : pq_.error_message(connection_))));
  }

  SqlValue cell(const PGresult* result, int row, int column) const {
    if (pq_.is_null(result, row, column) != 0) return {};
    const std::string_view shown(pq_.value(result, row, column),
                                 static_cast<std::size_t>(pq_.length(result, row, column)));
    switch (pq_.column_type(result, column)) {
      case kInt8:
        return to_integer(shown).value();
      case kFloat8:
        return to_number(shown).value();
      case kBytea:
        return from_hex(shown);
      default:
        return std::string(shown);
    }
  }

  const Libpq& pq_;
  std::string name_;
  std::chrono::milliseconds timeout_;
  StoreWaiting waiting_;
  PGconn* connection_ = nullptr;
  bool is_lost_ = false;
  std::map<std::string, std::string> statements_;
};

enum class Contents { kNothing, kOurs, kOther };

Contents contents(Database& database) {
  const std::string tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'headroom'";
  if (database.number(tables) == 0) return Contents::kNothing;
  const bool ours = database.number(tables + " AND tablename = 'headroom_store'") == 1;
  return ours ? Contents::kOurs : Contents::kOther;
}

/// Serialises processes that find an empty database.
void make_tables(Database& database) {
  database.execute("BEGIN");
  try {
    database.execute(fmt::format("SELECT pg_advisory_xact_lock({})::text", kLockOfSchema));
    if (contents(database) == Contents::kNothing) {
      database.execute("CREATE SCHEMA IF NOT EXISTS headroom");
      database.execute("SET LOCAL search_path TO headroom");
      for (const std::string& sql : schema_statements(kPostgresqlDialect)) database.execute(sql);
    }
    database.commit();
  } catch (...) {
    database.rollback();
    throw;
  }
}

/// Throws Error for a view, trigger or rule, which would take part in our statements.
void require_own_schema(Database& database) {
  constexpr const char* kStrange =
      "SELECT 'relation ' || relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
      "WHERE nspname = 'headroom' AND relkind NOT IN ('r', 'i', 'S') "
      "UNION ALL SELECT 'trigger ' || tgname::text FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid "
      "JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'headroom' AND NOT tgisinternal "
      "UNION ALL SELECT 'rule ' || rulename::text FROM pg_rules WHERE schemaname = 'headroom'";
  database.execute(kStrange, {}, [&database](const SqlRow& row) {
    refuse_strange_schema(database.name(), fmt::format("it has the {}, which headroom did not create",
                                                       std::get<std::string>(row[0])));
  });
}

}  // namespace

std::unique_ptr<Database> open_postgresql(const std::string& url, StoreAccess access,
                                          const StoreWaiting& waiting) {
  auto database = std::make_unique<PostgresqlDatabase>(url, waiting);
  Contents found = contents(*database);
  if (found == Contents::kNothing) {
    if (access == StoreAccess::kRead) {
      throw Error(
          fmt::format("there is no history in {} yet; headroom run adds to it, headroom history import "
                      "fills it from files",
                      quote(database->name())));
    }
    make_tables(*database);
    found = contents(*database);
  }
  if (found == Contents::kOther) {
    refuse_foreign_database(database->name(), "its schema 'headroom' holds other tables");
  }
  database->execute("SET search_path TO headroom");
  require_own_schema(*database);
  const std::int64_t version = database->number("SELECT schema_version FROM headroom_store");
  require_known_schema(version, database->name());
  database->set_schema(version);
  return database;
}

}  // namespace headroom
