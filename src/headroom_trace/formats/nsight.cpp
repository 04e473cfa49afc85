// SPDX-License-Identifier: Apache-2.0
// Reads `nsys export --type sqlite`, by its "SQLite Export Schema Reference"; versions vary.

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/files/byte_source.h"
#include "headroom_trace/formats/formats.h"
#include "headroom_trace/json/json_text.h"

namespace headroom::trace::readers {
namespace {

/// An untrusted database: read-only, executes nothing in it.
class NsightDatabase {
 public:
  /// Throws Error if damaged.
  explicit NsightDatabase(const std::filesystem::path& path);
  explicit NsightDatabase(ByteSource& bytes);

  bool has_table(std::string_view table) const { return std::ranges::find(tables_, table) != tables_.end(); }
  const std::vector<std::string>& tables() const { return tables_; }

  /// In order; missing columns are null.
  class Rows {
   public:
    Rows(const NsightDatabase& database, const std::string& table,
         const std::vector<std::string_view>& columns);
    /// Returns false at the end or at damage().
    bool next();
    const std::string& damage() const { return damage_; }

    bool is_null(int column) const;
    std::int64_t whole(int column, std::int64_t absent = -1) const;
    /// Valid until next().
    std::string_view text(int column) const;

   private:
    struct Finalize {
      void operator()(sqlite3_stmt* statement) const;
    };
    sqlite3* database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::uint64_t left_;  ///< damage guard: at most one row per byte
    std::string damage_;
  };

 private:
  void prepare() {
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_exec(database_.get(), "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
    read_tables();
  }
  void read_tables();

  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::string bytes_;  ///< in memory
  std::unique_ptr<sqlite3, Close> database_;
  std::uint64_t size_ = 0;
  std::vector<std::string> tables_;
};

[[noreturn]] void fail(sqlite3* database, const char* what) {
  throw Error(fmt::format("{}: {}; export the report again", what, sqlite3_errmsg(database)));
}

std::string identifier(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

/// Opens as immutable: no lock, no journal file.
std::string uri_of(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || contains("/._-", {&c, 1});
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

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
  // Not copied.
  if (sqlite3_deserialize(database, "main", reinterpret_cast<unsigned char*>(bytes_.data()),
                          static_cast<sqlite3_int64>(size_), static_cast<sqlite3_int64>(size_),
                          SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    fail(database, "it cannot be opened");
  prepare();
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
    damage_ = status == SQLITE_ROW ? "its pages form a loop" : sqlite3_errmsg(database_);
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

using Rows = NsightDatabase::Rows;

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::array kWork{"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                           "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"};

/// ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND, ENUM_CUPTI_SYNC_TYPE as in Kineto.
std::string_view copy_kind(std::int64_t kind) {
  constexpr std::array<std::string_view, 14> kNames{"Unknown", "HtoD", "DtoH", "HtoA", "AtoH",
                                                    "AtoA",    "AtoD", "DtoA", "DtoD", "HtoH",
                                                    "PtoP",    "HtoD", "DtoH", "DtoD"};
  return kNames[kind >= 0 && kind < 14 ? static_cast<std::size_t>(kind) : 0];
}
std::string_view memory_kind(std::int64_t kind) {
  constexpr std::array<std::string_view, 7> kNames{"Pageable", "Pinned",        "Device",        "Array",
                                                   "Managed",  "Device Static", "Managed Static"};
  return kind >= 0 && kind < 7 ? kNames[static_cast<std::size_t>(kind)] : "Unknown";
}
std::string_view sync_kind(std::int64_t kind) {
  constexpr std::array<std::string_view, 5> kNames{"Unknown", "Event Sync", "Stream Wait Event",
                                                   "Stream Sync", "Context Sync"};
  return kNames[kind >= 0 && kind < 5 ? static_cast<std::size_t>(kind) : 0];
}

/// globalTid: process in bits 24 to 47, thread in the lowest 24.
constexpr std::int64_t kIdMask = 0xFFFFFF;
struct HostThread {
  std::string pid, tid;
  explicit HostThread(std::int64_t global)
      : pid(std::to_string(global >> 24 & kIdMask)), tid(std::to_string(global & kIdMask)) {}
  Place place() const { return {pid, tid}; }
};

class NsightReader {
 public:
  NsightReader(NsightDatabase& database, EventSink& events) : database_(database), events_(events) {}

  void read() {
    read_texts();
    read_devices();
    read_names();
    read_kernels();
    read_graphs();
    read_copies();
    read_sets();
    read_calls();
    read_syncs();
    read_ranges();
  }

 private:
  /// Problems are located by row number.
  template <typename Take>
  void each_row(const char* table, const std::vector<std::string_view>& columns, Take take) {
    if (!database_.has_table(table)) return;
    Rows rows(database_, table, columns);
    constexpr std::uint64_t kReport = 1 << 13;
    for (row_ = 0; rows.next();) {
      if (++row_ % kReport == 0) events_.progress(0, 0);
      arguments_.clear();
      take(rows);
    }
    if (!rows.damage().empty())
      events_.cut_off(row_, fmt::format("the table {} is damaged: {}", table, rows.damage()));
  }
  void read_texts();
  void read_devices();
  void read_kernels();
  void read_graphs();
  void read_copies();
  void read_sets();
  void read_calls();
  void read_syncs();
  void read_ranges();
  void read_names();

  std::string_view text(std::int64_t id) const {
    const auto found = texts_.find(id);
    return found == texts_.end() ? std::string_view{} : std::string_view(found->second);
  }

  /// Columns: start, end, device, stream, correlation.
  void add_work(Category category, std::string_view name, const Rows& rows) {
    if (!has_time(rows)) return;
    const std::string device = std::to_string(rows.whole(2)), stream = std::to_string(rows.whole(3));
    if (named_.insert(device).second) events_.name_process(device, "CUDA", "GPU " + device);
    if (named_.insert(device + ' ' + stream).second)
      events_.name_thread({device, stream}, "stream " + stream);
    arguments_.add(Argument::kDevice, rows.whole(2));
    arguments_.add(Argument::kStream, rows.whole(3));
    if (!rows.is_null(4)) arguments_.add(Argument::kCorrelation, rows.whole(4));
    events_.add({.category = category,
                 .name = name,
                 .place = {device, stream},
                 .start_ns = rows.whole(0),
                 .duration_ns = rows.whole(1) - rows.whole(0),
                 .arguments = arguments_,
                 .offset = row_});
  }

  void add_host(Category category, std::string_view name, std::int64_t global, const Rows& rows) {
    if (!has_time(rows)) return;
    const HostThread thread(global);
    events_.add({.category = category,
                 .name = name,
                 .place = thread.place(),
                 .start_ns = rows.whole(0),
                 .duration_ns = rows.whole(1) - rows.whole(0),
                 .arguments = arguments_,
                 .offset = row_});
  }

  bool has_time(const Rows& rows) {
    const bool is_sound = !rows.is_null(0) && !rows.is_null(1) && rows.whole(0) >= -kMaxNs &&
                          rows.whole(0) <= kMaxNs && rows.whole(1) >= rows.whole(0) &&
                          rows.whole(1) <= kMaxNs;
    if (!is_sound) events_.skip(row_, "an event with an invalid start or end");
    return is_sound;
  }

  NsightDatabase& database_;
  EventSink& events_;
  std::unordered_map<std::int64_t, std::string> texts_;
  std::unordered_set<std::string> named_;
  EventArguments arguments_;
  std::uint64_t row_ = 0;
};

void NsightReader::read_texts() {
  each_row("StringIds", {"id", "value"},
           [&](const Rows& rows) { texts_.emplace(rows.whole(0), rows.text(1)); });
}

/// CUDA's device numbers, if known.
void NsightReader::read_devices() {
  std::unordered_map<std::int64_t, std::int64_t> numbers;
  each_row("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId"},
           [&](const Rows& rows) { numbers.emplace(rows.whole(0), rows.whole(1)); });
  Json list = Json::array();
  each_row("TARGET_INFO_GPU", {"id", "name", "totalMemory", "smCount", "maxWarpsPerSm", "threadsPerWarp"},
           [&](const Rows& rows) {
             const std::int64_t id = rows.whole(0);
             const auto number = numbers.find(id);
             Json device = {{"id", number == numbers.end() ? id : number->second},
                            {"name", rows.text(1)},
                            {"totalGlobalMem", rows.whole(2, 0)},
                            {"numSms", rows.whole(3, 0)}};
             const std::int64_t warp = rows.whole(5, 32), warps = rows.whole(4, 0);
             if (warp > 0 && warp <= 1024 && warps > 0 && warps <= 1024)
               device["maxThreadsPerMultiprocessor"] = warp * warps;
             device["warpSize"] = warp;
             list.push_back(std::move(device));
           });
  if (!list.empty()) events_.member("deviceProperties", list, 0);
}

void NsightReader::read_names() {
  each_row("PROCESSES", {"pid", "name"}, [&](const Rows& rows) {
    events_.name_process(std::to_string(rows.whole(0)), rows.text(1), "CPU");
  });
  each_row("ThreadNames", {"globalTid", "nameId"}, [&](const Rows& rows) {
    if (const std::string_view name = text(rows.whole(1)); !name.empty())
      events_.name_thread(HostThread(rows.whole(0)).place(), name);
  });
}

void NsightReader::read_kernels() {
  each_row("CUPTI_ACTIVITY_KIND_KERNEL",
           {"start", "end", "deviceId", "streamId", "correlationId", "demangledName", "shortName", "gridX",
            "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread"},
           [&](const Rows& rows) {
             if (!rows.is_null(7))
               arguments_.add(Argument::kGrid, {rows.whole(7), rows.whole(8), rows.whole(9)});
             if (!rows.is_null(10))
               arguments_.add(Argument::kBlock, {rows.whole(10), rows.whole(11), rows.whole(12)});
             if (!rows.is_null(13)) arguments_.add(Argument::kRegisters, rows.whole(13));
             std::string_view name = text(rows.whole(5));
             if (name.empty()) name = text(rows.whole(6));
             if (name.empty()) events_.problem(row_, "a kernel whose name is not in StringIds");
             add_work(Category::kKernel, name, rows);
           });
}

/// Graphs of --cuda-graph-trace=graph.
void NsightReader::read_graphs() {
  each_row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
           {"start", "end", "deviceId", "streamId", "correlationId", "graphId"}, [&](const Rows& rows) {
             add_work(Category::kKernel, fmt::format("CUDA graph {}", rows.whole(5)), rows);
           });
}

void NsightReader::read_copies() {
  each_row(
      "CUPTI_ACTIVITY_KIND_MEMCPY",
      {"start", "end", "deviceId", "streamId", "correlationId", "bytes", "copyKind", "srcKind", "dstKind"},
      [&](const Rows& rows) {
        const std::int64_t bytes = rows.whole(5);
        if (bytes >= 0) arguments_.add(Argument::kBytes, bytes);
        const double length = static_cast<double>(rows.whole(1)) - static_cast<double>(rows.whole(0));
        if (bytes >= 0 && length > 0)
          arguments_.add(Argument::kBandwidth, static_cast<double>(bytes) / length);
        std::string name = fmt::format("Memcpy {}", copy_kind(rows.whole(6)));
        if (!rows.is_null(7))
          name += fmt::format(" ({} -> {})", memory_kind(rows.whole(7)), memory_kind(rows.whole(8)));
        add_work(Category::kGpuMemcpy, name, rows);
      });
}

void NsightReader::read_sets() {
  each_row(
      "CUPTI_ACTIVITY_KIND_MEMSET",
      {"start", "end", "deviceId", "streamId", "correlationId", "bytes", "memKind"}, [&](const Rows& rows) {
        if (!rows.is_null(5)) arguments_.add(Argument::kBytes, rows.whole(5));
        add_work(Category::kGpuMemset,
                 rows.is_null(6) ? "Memset" : fmt::format("Memset ({})", memory_kind(rows.whole(6))), rows);
      });
}

/// Names end with a version: cudaLaunchKernel_v7000.
void NsightReader::read_calls() {
  if (!events_.wants(Category::kRuntime)) {
    return each_row("CUPTI_ACTIVITY_KIND_RUNTIME", {"start"}, [&](const Rows&) { events_.count_unneeded(); });
  }
  each_row("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"},
           [&](const Rows& rows) {
             std::string_view name = text(rows.whole(4));
             const std::size_t version = name.rfind("_v");
             if (version != name.npos && version + 2 < name.size() &&
                 name.find_first_not_of("0123456789", version + 2) == name.npos)
               name = name.substr(0, version);
             if (!rows.is_null(3)) arguments_.add(Argument::kCorrelation, rows.whole(3));
             const bool is_driver = name.starts_with("cu") && !name.starts_with("cuda");
             add_host(is_driver ? Category::kDriver : Category::kRuntime, name, rows.whole(2, 0), rows);
           });
}

void NsightReader::read_syncs() {
  if (!events_.wants(Category::kGpuSync)) {
    return each_row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"start"},
                    [&](const Rows&) { events_.count_unneeded(); });
  }
  each_row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
           {"start", "end", "deviceId", "streamId", "correlationId", "syncType"}, [&](const Rows& rows) {
             const std::string_view kind = sync_kind(rows.whole(5));
             arguments_.add(Argument::kSyncKind, kind);
             add_work(Category::kGpuSync, kind, rows);
           });
}

/// Text of torch.autograd.profiler.emit_nvtx: "aten::mm, seq = 5, sizes = [...]".
std::string_view take_operator(std::string_view name, EventArguments& arguments) {
  const std::size_t comma = name.find(", ");
  const std::string_view own = name.substr(0, comma);
  if (!contains(own, "::") || contains(own, " ")) return {};
  constexpr std::string_view kSequence = "seq = ";
  if (const std::size_t at = name.find(kSequence); at != name.npos) {
    std::int64_t number = -1;
    std::from_chars(name.data() + at + kSequence.size(), name.data() + name.size(), number);
    if (number >= 0) arguments.add(Argument::kSequence, number);
  }
  return own;
}

void NsightReader::read_ranges() {
  constexpr std::int64_t kMark = 34, kPushPop = 59, kStartEnd = 60;
  each_row("NVTX_EVENTS", {"start", "end", "globalTid", "eventType", "text", "textId"},
           [&](const Rows& rows) {
             const std::int64_t type = rows.whole(3, kPushPop);
             if (type == kMark) return events_.count_without_columns();
             if (type != kPushPop && type != kStartEnd) return;  // names
             const std::string_view name = rows.is_null(4) ? text(rows.whole(5)) : rows.text(4);
             if (rows.is_null(1))
               return events_.skip(row_, fmt::format("the range {} has no end", quote(name)));
             if (const std::string_view op = take_operator(name, arguments_); !op.empty())
               return add_host(Category::kCpuOp, op, rows.whole(2, 0), rows);
             add_host(Category::kUserAnnotation, name, rows.whole(2, 0), rows);
           });
}

bool is_report(const NsightDatabase& database) {
  return database.has_table("StringIds") &&
         std::ranges::any_of(kWork, [&](const char* table) { return database.has_table(table); });
}

[[noreturn]] void refuse_other_kind(const NsightDatabase& database) {
  std::vector<std::string> tables = database.tables();
  if (std::ranges::any_of(tables, [](const std::string& table) { return table.starts_with("rocpd_"); }))
    throw Error(
        "databases of rocprofv3 (rocpd) are not supported; record with `rocprofv3 --output-format pftrace` "
        "or json, or convert it with `rocpd convert`");
  constexpr std::size_t kShown = 8;
  if (tables.size() > kShown) tables.resize(kShown);
  for (std::string& table : tables) table = quote(table);
  throw Error(
      fmt::format("not an Nsight Systems export but a SQLite database with {}; give the output of `nsys "
                  "export --type sqlite REPORT.nsys-rep`",
                  tables.empty() ? "no tables" : "the tables " + join(tables, ", ")));
}

void read_nsight(FormatInput& input, EventSink& events) {
  const bool is_plain = !input.path.empty() && open_file(input.path)->size() == input.bytes.size() &&
                        PeekedSource(open_file(input.path), kMagic.size()).first() == kMagic && input.again;
  NsightDatabase database = is_plain ? NsightDatabase(input.path) : NsightDatabase(input.bytes);
  if (!is_report(database)) refuse_other_kind(database);
  NsightReader(database, events).read();
  events.finish(input.bytes.size());
}

bool is_nsight(std::string_view first) {
  return first.starts_with(kMagic);
}

}  // namespace

namespace format {

extern const FileFormat nsight{"a SQLite export of Nsight Systems", is_nsight, read_nsight, Writer::kNsight};

}  // namespace format

}  // namespace headroom::trace::readers
