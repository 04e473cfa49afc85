// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/program/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>
#include <system_error>

#include "headroom/base/error.h"
#include "headroom/process/loaded_library.h"

namespace headroom::cli {
namespace {

constexpr const char* kLibrary = "libmicrohttpd.so.12";
/// A browser opens six at once for a page.
constexpr unsigned kConnections = 32;
/// In seconds, of a connection on which nothing comes.
constexpr unsigned kPatience = 10;
/// Of a connection: what it asks, with its headers.
constexpr std::size_t kMemory = std::size_t{16} << 10;
/// A history that does not answer holds one of them.
constexpr unsigned kThreads = 4;

/// The functions of libmicrohttpd. It brings a dozen other libraries along, so it is loaded when a server
/// starts and not when the program does.
struct Functions {
  LoadedLibrary library;
  decltype(&MHD_start_daemon) start;
  decltype(&MHD_stop_daemon) stop;
  decltype(&MHD_get_connection_values) values;
  decltype(&MHD_create_response_from_buffer) response;
  decltype(&MHD_add_response_header) add_header;
  decltype(&MHD_queue_response) queue;
  decltype(&MHD_destroy_response) destroy;

  Functions()
      : library(kLibrary),
        start(find<decltype(MHD_start_daemon)>("MHD_start_daemon")),
        stop(find<decltype(MHD_stop_daemon)>("MHD_stop_daemon")),
        values(find<decltype(MHD_get_connection_values)>("MHD_get_connection_values")),
        response(find<decltype(MHD_create_response_from_buffer)>("MHD_create_response_from_buffer")),
        add_header(find<decltype(MHD_add_response_header)>("MHD_add_response_header")),
        queue(find<decltype(MHD_queue_response)>("MHD_queue_response")),
        destroy(find<decltype(MHD_destroy_response)>("MHD_destroy_response")) {
    library.keep();  // what it brings along is not made to be unloaded
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
                    "libmicrohttpd12), or write pages with headroom history --site",
                    kLibrary, error.what()));
  }
}

[[noreturn]] void cannot_listen(std::uint16_t port) {
  const int reason = errno;
  const char* advice = "";
  if (reason == EADDRINUSE)
    advice = "; another program has it: choose one with --port, or let --port 0 find one";
  if (reason == EACCES) advice = "; ports below 1024 are the system's: choose another one with --port";
  throw Error(fmt::format("cannot listen on 127.0.0.1:{}: {}{}", port,
                          std::generic_category().message(reason), advice));
}

/// A socket that listens on this machine alone.
int listening_socket(std::uint16_t port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) cannot_listen(port);
  // Else the port of a server that ended stays taken for a minute.
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

HttpResponse plain(int status, const std::string& text) {
  return {status, "text/plain; charset=utf-8", text + "\n"};
}

/// Signals go to the thread that waits for them, not to those that are made meanwhile.
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

}  // namespace

class HttpServer::Daemon {
 public:
  Daemon(int file, std::uint16_t port, Handler handler)
      : functions_(load()),
        handler_(std::move(handler)),
        hosts_{fmt::format("127.0.0.1:{}", port), fmt::format("localhost:{}", port)} {
    if (port == 80) hosts_.insert(hosts_.end(), {"127.0.0.1", "localhost"});
    const SignalsBlocked blocked;
    daemon_ = functions_->start(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, nullptr, nullptr, &Daemon::on_request, this,
        MHD_OPTION_LISTEN_SOCKET, file, MHD_OPTION_THREAD_POOL_SIZE, kThreads, MHD_OPTION_CONNECTION_LIMIT,
        kConnections, MHD_OPTION_CONNECTION_TIMEOUT, kPatience, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMemory,
        MHD_OPTION_UNESCAPE_CALLBACK, &Daemon::leave_escaped, nullptr, MHD_OPTION_END);
    if (daemon_ == nullptr)
      throw Error("the server on 127.0.0.1 cannot be started; are there threads and memory left?");
  }
  ~Daemon() { functions_->stop(daemon_); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

 private:
  /// No path here needs an escape: with one it is another path, and nothing is there.
  static std::size_t leave_escaped(void*, MHD_Connection*, char* text) { return std::strlen(text); }

  /// Called once with the headers, then for what is sent with them, then to answer.
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                               const char*, const char*, std::size_t* upload_size, void** request) {
    static char seen;
    const auto& daemon = *static_cast<const Daemon*>(self);
    const std::string_view asked(method);
    if (*request == nullptr) {
      *request = &seen;
      if (asked == "GET" || asked == "HEAD") return MHD_YES;
      // At once: what it sends is not waited for.
      HttpResponse refusal = plain(405, "only GET and HEAD are answered here");
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
    functions_->values(connection, MHD_HEADER_KIND, &Daemon::collect_hosts, &hosts);
    if (hosts.size() != 1 || std::ranges::find(hosts_, hosts.front()) == hosts_.end())
      return plain(421, "this server answers to " + hosts_.front() + " alone");
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
    // The library asks for bytes that may be written to and, told to copy, writes none.
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

  std::unique_ptr<Functions> functions_;
  Handler handler_;
  std::vector<std::string> hosts_;
  MHD_Daemon* daemon_ = nullptr;
};

HttpServer::HttpServer(std::uint16_t port, Handler handler) {
  const int file = listening_socket(port);
  port_ = port_of(file);
  try {
    daemon_ = std::make_unique<Daemon>(file, port_, std::move(handler));
  } catch (...) {
    ::close(file);
    throw;
  }
}

HttpServer::~HttpServer() = default;

}  // namespace headroom::cli
