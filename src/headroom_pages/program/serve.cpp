// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom/process/loaded_library.h"
#include "headroom/record/record_json.h"
#include "headroom/results/run_journal.h"
#include "headroom_pages/page.h"
#include "headroom_pages/program/pages.h"
#include "headroom_pages/site/site.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCases = 200;
constexpr int kShareOfCpu = 20;

std::string case_of(const Record& record) {
  std::string name = case_name(record);
  if (!record.model.backend.empty()) name += " " + record.model.backend;
  return name;
}

/// Returns the headline metric of each case, or all if there is no headline.
std::vector<const Record*> visible_records(const std::vector<Record>& records) {
  std::set<std::string> with_headline;
  for (const Record& record : records) {
    if (record.metric.headline) with_headline.insert(case_of(record));
  }
  std::vector<const Record*> shown;
  for (const Record& record : records) {
    if (record.outcome.kind != Outcome::Kind::kMeasured) continue;
    if (record.metric.headline || !with_headline.contains(case_of(record))) shown.push_back(&record);
  }
  return shown;
}

Json run_json(const UnfinishedRun& run) {
  const std::vector<Record> records = run.records();
  const std::vector<const Record*> shown = visible_records(records);
  // The newest belong to the running group.
  const std::size_t first = shown.size() - std::min(shown.size(), kCases);
  Json cases = Json::array();
  for (std::size_t i = first; i < shown.size(); ++i) {
    const Record& record = *shown[i];
    cases.push_back({{"case", visible(case_of(record))},
                     {"metric", visible(record.metric.name)},
                     {"unit", visible(record.metric.unit)},
                     {"value", record.metric.value},
                     {"low", low_of(record.interval)},
                     {"high", high_of(record.interval)},
                     {"samples", sample_count(record)}});
  }
  return {{"command", visible(join(run.environment.command, " "))},
          {"time", run.environment.timestamp},
          {"finished", run.finished.size()},
          {"title", visible(run.title)},
          {"cases", std::move(cases)},
          {"left_out", first},
          {"problem", ""}};
}

Json live_run_json(const fs::path& path) {
  try {
    return run_json(read_run_journal(path));
  } catch (const Error& error) {
    return {{"command", path.filename().string()},
            {"time", 0},
            {"finished", 0},
            {"title", ""},
            {"cases", Json::array()},
            {"left_out", 0},
            {"problem", visible(error.what())}};
  }
}

constexpr const char* kLibrary = "libmicrohttpd.so.12";
/// A browser opens six per page.
constexpr unsigned kConnections = 256;
/// Limit on silence of a connection, in s.
constexpr unsigned kIdleSeconds = 10;
/// From opening the connection, or the previous answer, to the end of the headers.
constexpr std::chrono::seconds kHeaderTime{10};
/// The same if half of the connections are in use.
constexpr std::chrono::seconds kHeaderTimeInACrowd{1};
/// From the headers to the end of the answer.
constexpr std::chrono::seconds kAnswerTime{60};
/// Bytes per connection, for its request and headers.
constexpr std::size_t kMemory = std::size_t{16} << 10;
/// An unresponsive history blocks one of them.
constexpr unsigned kThreads = 4;

/// Functions of libmicrohttpd, loaded by the server only, as it depends on a dozen libraries.
struct Functions {
  LoadedLibrary library;
  decltype(&MHD_start_daemon) start;
  decltype(&MHD_stop_daemon) stop;
  decltype(&MHD_get_connection_values) values;
  decltype(&MHD_create_response_from_buffer) response;
  decltype(&MHD_add_response_header) add_header;
  decltype(&MHD_queue_response) queue;
  decltype(&MHD_destroy_response) destroy;
  decltype(&MHD_get_connection_info) connection_info;

  Functions()
      : library(kLibrary),
        start(find<decltype(MHD_start_daemon)>("MHD_start_daemon")),
        stop(find<decltype(MHD_stop_daemon)>("MHD_stop_daemon")),
        values(find<decltype(MHD_get_connection_values)>("MHD_get_connection_values")),
        response(find<decltype(MHD_create_response_from_buffer)>("MHD_create_response_from_buffer")),
        add_header(find<decltype(MHD_add_response_header)>("MHD_add_response_header")),
        queue(find<decltype(MHD_queue_response)>("MHD_queue_response")),
        destroy(find<decltype(MHD_destroy_response)>("MHD_destroy_response")),
        connection_info(find<decltype(MHD_get_connection_info)>("MHD_get_connection_info")) {
    library.keep();  // its dependencies do not support unloading
  }

 private:
  template <typename Function>
  Function* find(const char* name) const {
    if (Function* function = library.function<Function>(name)) return function;
    throw Error(fmt::format("{} has no {}: it is too old for headroom", kLibrary, name));
  }
};

std::unique_ptr<Functions> load() {
  try {
    return std::make_unique<Functions>();
  } catch (const Error& error) {
    throw Error(
        fmt::format("headroom serve needs {}, which was not found ({}); install it (Debian: "
                    "libmicrohttpd12, from 13 on libmicrohttpd12t64), or write pages with headroom "
                    "history --site",
                    kLibrary, error.what()));
  }
}

[[noreturn]] void cannot_listen(std::uint16_t port) {
  const int reason = errno;
  const char* advice = "";
  if (reason == EADDRINUSE) advice = "; another program uses it: choose another with --port, or use --port 0";
  if (reason == EACCES) advice = "; ports below 1024 are reserved: choose another with --port";
  throw Error(fmt::format("cannot listen on 127.0.0.1:{}: {}{}", port,
                          std::generic_category().message(reason), advice));
}

int listening_socket(std::uint16_t port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) cannot_listen(port);
  // Otherwise the port stays in use for a minute after a server ended.
  const int yes = 1;
  ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(file, static_cast<int>(kConnections)) != 0) {
    const int reason = errno;
    ::close(file);
    errno = reason;
    cannot_listen(port);
  }
  return file;
}

std::uint16_t port_of(int file) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(file, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

struct HttpResponse {
  int status = 200;
  std::string type;  ///< "text/html; charset=utf-8"
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
};

HttpResponse plain(int status, const std::string& text) {
  return {status, "text/plain; charset=utf-8", text + "\n"};
}

/// Keeps signals from threads created meanwhile.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// The user's running measurements, from their journals. Reading takes at most a twentieth of a CPU. Not
/// thread-safe.
class LiveRuns {
 public:
  /// [{"command", "time": seconds since 1970, "finished": groups, "title": of the running group,
  ///     "cases": [{"case", "metric", "unit", "value", "low", "high", "samples"}], "left_out": count,
  ///     "problem": why it cannot be read, or empty}]
  Json now() {
    std::map<fs::path, CachedRun> seen;
    Json runs = Json::array();
    for (const fs::path& path : journals_of_running()) {
      CachedRun one;
      if (const auto known = cached_runs_.find(path); known != cached_runs_.end())
        one = std::move(known->second);
      std::error_code error;
      const std::uintmax_t size = fs::file_size(path, error);
      const auto start = std::chrono::steady_clock::now();
      if (!error && size != one.size && start >= one.not_before) {
        one.size = size;
        one.told = live_run_json(path);
        const auto end = std::chrono::steady_clock::now();
        one.not_before = end + kShareOfCpu * (end - start);
      }
      if (!one.told.is_null()) runs.push_back(one.told);
      seen.emplace(path, std::move(one));
    }
    cached_runs_ = std::move(seen);
    return runs;
  }

 private:
  struct CachedRun {
    std::uintmax_t size = 0;
    std::chrono::steady_clock::time_point not_before;
    Json told;
  };
  std::map<std::filesystem::path, CachedRun> cached_runs_;
};

/// When the state of each open connection began: the library never closes a client that sends or reads a byte
/// now and then. Thread-safe.
class OpenConnections {
 public:
  void set_reading_headers(int socket) { note(socket, false); }
  void set_answering(int socket) { note(socket, true); }
  void closed(int socket) {
    const std::lock_guard lock(mutex_);
    open_.erase(socket);
  }
  void end_slow() {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto header_time = open_.size() > kConnections / 2 ? kHeaderTimeInACrowd : kHeaderTime;
    for (const auto& [socket, state] : open_) {
      // The library then closes it and removes it from open_.
      if (now - state.since > (state.has_headers ? kAnswerTime : header_time)) ::shutdown(socket, SHUT_RDWR);
    }
  }

 private:
  struct State {
    std::chrono::steady_clock::time_point since;
    bool has_headers;
  };
  void note(int socket, bool has_headers) {
    const std::lock_guard lock(mutex_);
    open_[socket] = {std::chrono::steady_clock::now(), has_headers};
  }

  std::mutex mutex_;
  std::map<int, State> open_;
};

/// Serves this machine: listens on 127.0.0.1 with several threads, answers GET and HEAD (others: 405) to
/// names of this machine (others: 421, against DNS rebinding). Limits headers, connections and times
/// (OpenConnections).
class HttpServer {
 public:
  /// `path`: "/series/7.html", without the query. Called by several threads at once. An exception becomes
  /// status 500.
  using Handler = std::function<HttpResponse(const std::string& path)>;

  /// Port 0: any free port. Throws Error if the port is in use or not allowed, or the library is missing.
  HttpServer(std::uint16_t port, Handler handler)
      : socket_{listening_socket(port)},
        port_(port_of(socket_.file)),
        functions_(load()),
        handler_(std::move(handler)),
        hosts_{fmt::format("127.0.0.1:{}", port_), fmt::format("localhost:{}", port_)} {
    if (port_ == 80) hosts_.insert(hosts_.end(), {"127.0.0.1", "localhost"});
    const SignalsBlocked blocked;
    daemon_ = functions_->start(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, nullptr, nullptr, &HttpServer::on_request, this,
        MHD_OPTION_LISTEN_SOCKET, socket_.file, MHD_OPTION_THREAD_POOL_SIZE, kThreads,
        MHD_OPTION_CONNECTION_LIMIT, kConnections, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMemory, MHD_OPTION_UNESCAPE_CALLBACK, &HttpServer::leave_escaped,
        nullptr, MHD_OPTION_NOTIFY_CONNECTION, &HttpServer::on_connection, this, MHD_OPTION_NOTIFY_COMPLETED,
        &HttpServer::on_completed, this, MHD_OPTION_END);
    if (daemon_ == nullptr)
      throw Error("cannot start the server on 127.0.0.1; check free memory and the limit of threads");
    socket_.file = -1;  // the daemon closes it
  }
  ~HttpServer() { functions_->stop(daemon_); }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// Call several times per second.
  void end_slow_connections() { connections_.end_slow(); }

 private:
  int socket_of(MHD_Connection* connection) const {
    return functions_->connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  }
  static void on_connection(void* self, MHD_Connection* connection, void**,
                            MHD_ConnectionNotificationCode code) {
    auto& daemon = *static_cast<HttpServer*>(self);
    const int socket = daemon.socket_of(connection);
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
      daemon.connections_.set_reading_headers(socket);
    else
      daemon.connections_.closed(socket);
  }
  static void on_completed(void* self, MHD_Connection* connection, void**, MHD_RequestTerminationCode) {
    auto& daemon = *static_cast<HttpServer*>(self);
    daemon.connections_.set_reading_headers(daemon.socket_of(connection));
  }

  /// Leaves the URL escaped: no valid path has escapes.
  static std::size_t leave_escaped(void*, MHD_Connection*, char* text) { return std::strlen(text); }

  /// Called with the headers, then with the body, then for the answer.
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                               const char*, const char*, std::size_t* upload_size, void** request) {
    static char seen;
    auto& daemon = *static_cast<HttpServer*>(self);
    const std::string_view verb(method);
    if (*request == nullptr) {
      daemon.connections_.set_answering(daemon.socket_of(connection));
      *request = &seen;
      if (verb == "GET" || verb == "HEAD") return MHD_YES;
      // Without waiting for the body.
      HttpResponse refusal = plain(405, "only GET and HEAD are supported");
      refusal.headers.emplace_back("Allow", "GET, HEAD");
      return daemon.send(connection, refusal);
    }
    if (*upload_size != 0) {
      *upload_size = 0;
      return MHD_YES;
    }
    return daemon.send(connection, daemon.answer(connection, url));
  }

  HttpResponse answer(MHD_Connection* connection, const char* url) const {
    std::vector<std::string> hosts;
    functions_->values(connection, MHD_HEADER_KIND, &HttpServer::collect_hosts, &hosts);
    if (hosts.size() != 1 || std::ranges::find(hosts_, hosts.front()) == hosts_.end())
      return plain(421, "this server answers requests for " + hosts_.front() + " only");
    try {
      return handler_(url);
    } catch (const std::exception& error) {
      return plain(500, error.what());
    }
  }

  static MHD_Result collect_hosts(void* hosts, MHD_ValueKind, const char* key, const char* value) {
    std::string name(key);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (name == "host")
      static_cast<std::vector<std::string>*>(hosts)->emplace_back(value == nullptr ? "" : value);
    return MHD_YES;
  }

  MHD_Result send(MHD_Connection* connection, const HttpResponse& answer) const {
    // The library takes a mutable pointer but only copies.
    MHD_Response* response = functions_->response(answer.body.size(), const_cast<char*>(answer.body.data()),
                                                  MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    functions_->add_header(response, "Content-Type", answer.type.c_str());
    functions_->add_header(response, "X-Content-Type-Options", "nosniff");
    functions_->add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    functions_->add_header(response, "Referrer-Policy", "no-referrer");
    functions_->add_header(
        response, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src "
        "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    bool says_caching = false;
    for (const auto& [name, value] : answer.headers) {
      functions_->add_header(response, name.c_str(), value.c_str());
      says_caching = says_caching || name == "Cache-Control";
    }
    if (!says_caching) functions_->add_header(response, "Cache-Control", "no-store");
    const MHD_Result result = functions_->queue(connection, static_cast<unsigned>(answer.status), response);
    functions_->destroy(response);
    return result;
  }

  struct Socket {
    int file;
    ~Socket() {
      if (file >= 0) ::close(file);
    }
  } socket_;
  std::uint16_t port_;
  std::unique_ptr<Functions> functions_;
  Handler handler_;
  std::vector<std::string> hosts_;
  OpenConnections connections_;
  MHD_Daemon* daemon_ = nullptr;
};

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kText = "text/plain; charset=utf-8";
/// Reads the history at most once per interval, and a twentieth of the time.
constexpr std::chrono::seconds kBetweenRefreshes{1};
constexpr int kShareOfTime = 20;
constexpr std::chrono::seconds kHistoryPatience{5};

std::optional<HttpResponse> asset(std::string_view path) {
  for (const PageFile& file : page_files()) {
    if (path != "/" + file.name) continue;
    const bool is_style = file.name.ends_with(".css");
    // The name contains a hash of the content.
    return HttpResponse{200,
                        is_style ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8",
                        std::string(file.content),
                        {{"Cache-Control", "private, max-age=31536000, immutable"}}};
  }
  return std::nullopt;
}

/// Returns the number in "/series/7.html".
std::optional<std::string> series_of(std::string_view path) {
  constexpr std::string_view kBefore = "/series/", kAfter = ".html";
  if (!path.starts_with(kBefore) || !path.ends_with(kAfter)) return std::nullopt;
  if (path.size() <= kBefore.size() + kAfter.size()) return std::nullopt;
  return std::string(path.substr(kBefore.size(), path.size() - kBefore.size() - kAfter.size()));
}

HttpResponse not_found() {
  return {404, kText, "no such page; start at /\n"};
}

constexpr ConstantHelp kServeExamples[] = {
    {"headroom serve", "http://127.0.0.1:8425/"},
    {"headroom serve --port 0", "on any free port"},
    {"headroom serve --store postgresql://ci@db/perf", "the history of a team"},
};

constexpr const char* kServeDetails[] = {
    "Serves the pages of `headroom history --site` and running measurements; open pages stay up to date. "
    "Answers browsers of all users on this machine only; from elsewhere: ssh -L 8425:127.0.0.1:8425 HOST. "
    "Ctrl-C ends it.",
};

/// Reports a locked history before the browser gives up.
constexpr std::chrono::seconds kLockPatience{3};

class ServedHistory {
 public:
  /// Throws Error if the history cannot be read.
  ServedHistory(const std::string& store, double least)
      : site_(store, least, {kLockPatience, was_interrupted, std::chrono::seconds(0)}) {
    site_.refresh();
    take_snapshot();
  }

  /// Thread-safe. An unresponsive history blocks one thread; others answer with the last snapshot and the
  /// problem.
  HttpResponse answer(const std::string& path) {
    if (path == "/" || path == "/index.html") {
      refresh_if_due();
      return {200, kHtml, snapshot()->index};
    }
    if (path == "/feed.xml") {
      refresh_if_due();
      return {200, "application/atom+xml; charset=utf-8", snapshot()->feed};
    }
    if (path == "/live.json") return live();
    if (const auto number = series_of(path)) return series(*number);
    return asset(path).value_or(not_found());
  }

 private:
  struct Snapshot {
    std::string tag, index, feed;
  };

  void refresh_if_due() {
    const std::unique_lock lock(site_mutex_, std::try_to_lock);
    const auto start = std::chrono::steady_clock::now();
    if (!lock || start < next_refresh_) return;
    std::string problem;
    try {
      if (site_.refresh()) take_snapshot();
    } catch (const Error& error) {
      problem = error.what();
    }
    const auto end = std::chrono::steady_clock::now();
    next_refresh_ = end + kBetweenRefreshes;
    // Waiting for an unresponsive history puts no load on it.
    if (problem.empty()) next_refresh_ = std::max(next_refresh_, end + kShareOfTime * (end - start));
    const std::lock_guard told(snapshot_mutex_);
    problem_ = std::move(problem);
  }

  /// The tag is unique, across restarts too.
  void take_snapshot() {
    auto made = std::make_shared<Snapshot>();
    made->tag =
        fmt::format("{:x}-{}", std::chrono::system_clock::now().time_since_epoch().count(), ++refreshes_);
    Page page = site_.index();
    page.live = made->tag;
    page.sections.insert(page.sections.begin(),
                         {"running", "Running measurements", {{"runs", Json::array()}}});
    made->index = linked_page_html(page, "");
    made->feed = site_.feed();
    const std::lock_guard lock(snapshot_mutex_);
    snapshot_ = std::move(made);
  }

  std::shared_ptr<const Snapshot> snapshot() {
    const std::lock_guard lock(snapshot_mutex_);
    return snapshot_;
  }

  HttpResponse live() {
    refresh_if_due();
    Json running = Json::array();
    {
      const std::lock_guard lock(runs_mutex_);
      running = runs_.now();
    }
    const std::lock_guard lock(snapshot_mutex_);
    return {200, "application/json",
            dump_json(
                {{"tag", snapshot_->tag}, {"problem", visible(problem_)}, {"running", std::move(running)}})};
  }

  HttpResponse series(const std::string& number) {
    const std::optional<std::int64_t> id = to_integer(number);
    if (!id || number != fmt::format("{}", *id)) return not_found();
    const std::unique_lock lock(site_mutex_, kHistoryPatience);
    if (!lock) return {503, kText, "the history is busy; try again\n"};
    try {
      std::optional<Page> page = site_.series_page(*id);
      if (!page) return not_found();
      page->live = snapshot()->tag;
      return {200, kHtml, linked_page_html(*page, "../")};
    } catch (const Error& error) {
      return {503, kText, fmt::format("cannot read the history: {}\n", visible(error.what()))};
    }
  }

  std::timed_mutex site_mutex_;  ///< guards reading the history
  LiveSite site_;
  std::chrono::steady_clock::time_point next_refresh_;
  std::size_t refreshes_ = 0;

  std::mutex snapshot_mutex_;  ///< guards snapshot_ and problem_; never held while reading the history
  std::shared_ptr<const Snapshot> snapshot_;
  std::string problem_;

  std::mutex runs_mutex_;
  LiveRuns runs_;
};

struct ServeOptions {
  std::string store, min_magnitude = "0";
  std::uint16_t port = 8425;
};

ExitCode serve(const ServeOptions& options) {
  const auto& is_interrupted = interrupt_flag();
  ServedHistory history(options.store.empty() ? default_store() : options.store,
                        parse_margin(options.min_magnitude));
  HttpServer server(options.port, [&history](const std::string& path) { return history.answer(path); });
  print_text(fmt::format("http://127.0.0.1:{}/ until Ctrl-C\n", server.port()), stdout);
  std::fflush(stdout);
  // A signal ends the wait.
  constexpr int kLookEveryMs = 200;
  while (!is_interrupted) {
    ::poll(nullptr, 0, kLookEveryMs);
    server.end_slow_connections();
  }
  return ExitCode::kSuccess;
}

struct SiteOptions {
  std::string folder, json, store, min_magnitude = "0";
};

ExitCode write_pages(const SiteOptions& options) {
  const double least = parse_margin(options.min_magnitude);
  if (!options.json.empty() && options.json != "-") require_writable(options.json);
  const auto history =
      open_store(options.store.empty() ? default_store() : options.store, StoreAccess::kRead);
  const SiteResult result = write_site(*history, options.folder, least);
  if (!options.json.empty()) {
    const Json what{{"site", options.folder},
                    {"series", result.series},
                    {"written", result.written},
                    {"removed", result.removed}};
    write_file_atomically(options.json == "-" ? "/dev/stdout" : options.json, dump_json_pretty(what) + "\n");
    if (options.json == "-") return ExitCode::kSuccess;
  }
  print_text(fmt::format("{} series in {}/index.html: {} written, {} removed\n", result.series,
                         options.folder, counted(result.written, "page"), counted(result.removed, "page")),
             stdout);
  return ExitCode::kSuccess;
}

}  // namespace

OptionTable serve_options(Arguments&) {
  OptionTable table("Show the history and running measurements in a browser.", "headroom serve");
  auto& options = table.own<ServeOptions>();
  table.examples(kServeExamples);
  table.details(kServeDetails);
  table.add_option("--port", options.port, "port on 127.0.0.1; 0: any free port (default 8425)");
  table
      .add_option("--min-magnitude", options.min_magnitude,
                  "omit changes smaller than this share of the level before (default 0)")
      .type_name("SHARE");
  table.add_option("--store", options.store,
                   "file, or postgresql://USER@HOST/NAME (default: HEADROOM_STORE, else the user's)");
  table.finish([&] { return serve(options); });
  return table;
}

OptionTable site_options(Arguments&) {
  OptionTable table("Write the history as HTML pages.", "headroom-pages site");
  auto& options = table.own<SiteOptions>();
  table.add_option("FOLDER", options.folder, "a new folder, or one with such a site").required();
  table.add_option("--min-magnitude", options.min_magnitude, "omit changes smaller than this share");
  table.add_option("--json", options.json,
                   "also write a JSON summary to this file ('-': standard output only)");
  table.add_option("--store", options.store, "file, or postgresql://USER@HOST/NAME");
  table.add_no_follow();
  table.finish([&] { return write_pages(options); });
  return table;
}

}  // namespace headroom::cli
