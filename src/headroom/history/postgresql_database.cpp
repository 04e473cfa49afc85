// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/postgresql_database.h"

#include <fmt/format.h>
#include <poll.h>

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
#include "headroom/history/libpq.h"
#include "headroom/history/schema.h"

namespace headroom {
namespace {

constexpr SqlDialect kPostgresqlDialect{"BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA"};

/// Of PostgreSQL's catalog pg_type: fixed numbers of the built-in types.
constexpr Oid kBytea = 17, kInt8 = 20, kText = 25, kFloat8 = 701;
constexpr int kTextFormat = 0, kBinaryFormat = 1;
/// Any number that no other program takes for its own advisory locks: "HDRM".
constexpr std::int64_t kLockOfSchema = 0x4844524d;

std::string without_trailing_newline(const char* message) {
  return std::string(trimmed(message));
}

/// Bytes from "\x0a1b...", the form in which PostgreSQL shows them.
Blob from_hex(std::string_view shown) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Blob blob;
  blob.bytes.reserve(shown.size() / 2);
  for (std::size_t i = 2; i + 1 < shown.size(); i += 2) {
    blob.bytes += static_cast<char>(digit(shown[i]) * 16 + digit(shown[i + 1]));
  }
  return blob;
}

/// The parameters of a statement in the form that libpq takes; points into `values`.
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

/// How long a server may say nothing while something is asked of it.
std::chrono::milliseconds patience() {
  constexpr std::chrono::milliseconds kPatience{30'000};
  const char* text = std::getenv("HEADROOM_STORE_TIMEOUT");
  if (text == nullptr || *text == '\0') return kPatience;
  return std::chrono::milliseconds(std::llround(parse_time_ns(text) / 1e6));
}

class PostgresqlDatabase final : public Database {
 public:
  explicit PostgresqlDatabase(const std::string& url)
      : pq_(libpq()), name_(without_secrets(url)), patience_(patience()) {
    const std::array<const char*, 4> keys{"client_encoding", "dbname", "fallback_application_name", nullptr};
    const std::array<const char*, 4> values{"UTF8", url.c_str(), "headroom", nullptr};
    connection_ = pq_.start_connecting(keys.data(), values.data(), 1);
    try {
      connect();
    } catch (const Error& error) {
      pq_.finish(connection_);
      throw Error(fmt::format("cannot open the history {}: {}", in_quotes(name_), error.what()));
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
    // Every append inserts into runs, which this lock keeps waiting; readers go on.
    if (transaction == Transaction::kAlone) execute("LOCK TABLE runs IN EXCLUSIVE MODE");
  }
  void commit() override { execute("COMMIT"); }
  void rollback() noexcept override {
    // A server that fell silent rolls back by itself when the connection ends.
    if (is_lost_) return;
    try {
      execute("ROLLBACK");
    } catch (const Error&) {
      is_lost_ = true;
    }
  }
  /// The server's autovacuum does it.
  void compact() override {}
  const std::string& name() const override { return name_; }

 private:
  /// Waits for the server, which may say nothing for patience_ at most. A signal that this program heeds
  /// (Ctrl-C) ends the wait. Throws Error; the connection is of no more use then.
  void await(short events) {
    pollfd file{pq_.socket(connection_), events, 0};
    const int ready = ::poll(&file, 1, static_cast<int>(patience_.count()));
    if (ready > 0) return;
    is_lost_ = true;
    if (ready < 0 && errno == EINTR) throw Error("interrupted while waiting for the server");
    throw Error(fmt::format(
        "the server did not answer within {:g} s (HEADROOM_STORE_TIMEOUT says how long it may take)",
        std::chrono::duration<double>(patience_).count()));
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

  /// The result of what was just sent.
  Result answer(int was_sent) {
    try {
      if (was_sent == 0) throw Error(without_trailing_newline(pq_.error_message(connection_)));
      for (int left = 0; (left = pq_.flush(connection_)) != 0;) {
        if (left < 0) throw Error(without_trailing_newline(pq_.error_message(connection_)));
        await(POLLIN | POLLOUT);
        consume();
      }
      Result last(nullptr, pq_.clear);
      // One statement has one result, and then there is none.
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
      throw Error(fmt::format("the history {}: {}", in_quotes(name_), error.what()));
    }
  }

  void consume() {
    if (pq_.consume_input(connection_) != 0) return;
    is_lost_ = true;
    throw Error(without_trailing_newline(pq_.error_message(connection_)));
  }

  /// The types are told once and for all, as the database would guess some of them wrong; a NULL fits any.
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
    throw Error(fmt::format("the history {}: {}", in_quotes(name_),
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
  std::chrono::milliseconds patience_;
  PGconn* connection_ = nullptr;
  bool is_lost_ = false;
  std::map<std::string, std::string> statements_;
};

std::int64_t number(Database& database, const std::string& sql) {
  std::int64_t result = 0;
  database.execute(sql, {}, [&result](const SqlRow& row) { result = std::get<std::int64_t>(row.at(0)); });
  return result;
}

enum class Contents { kNothing, kOurs, kOther };

Contents contents(Database& database) {
  const std::string tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'headroom'";
  if (number(database, tables) == 0) return Contents::kNothing;
  const bool ours = number(database, tables + " AND tablename = 'headroom_store'") == 1;
  return ours ? Contents::kOurs : Contents::kOther;
}

/// Two processes that find nothing at the same time wait for each other here.
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

}  // namespace

std::unique_ptr<Database> open_postgresql(const std::string& url, StoreAccess access) {
  auto database = std::make_unique<PostgresqlDatabase>(url);
  Contents found = contents(*database);
  if (found == Contents::kNothing) {
    if (access == StoreAccess::kRead) {
      throw Error(
          fmt::format("there is no history in {} yet; headroom run adds to it, headroom history import "
                      "fills it from files",
                      in_quotes(database->name())));
    }
    make_tables(*database);
    found = contents(*database);
  }
  if (found == Contents::kOther) {
    refuse_foreign_database(database->name(), "its schema 'headroom' holds other tables");
  }
  database->execute("SET search_path TO headroom");
  require_known_schema(number(*database, "SELECT schema_version FROM headroom_store"), database->name());
  return database;
}

}  // namespace headroom
