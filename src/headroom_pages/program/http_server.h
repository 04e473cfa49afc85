// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headroom::cli {

struct HttpResponse {
  int status = 200;
  std::string type;  ///< "text/html; charset=utf-8"
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// Answers browsers of this machine alone: listens on 127.0.0.1, answers GET and HEAD (others: 405) to names
/// of this machine (others: 421, so that no page of a stranger reads it by a name of his own), in threads of
/// its own. Headers, connections and times are bounded. Loads libmicrohttpd when it is made.
class HttpServer {
 public:
  /// What is at `path` ("/series/7.html", without what follows a '?'). Called by several threads at once.
  /// What it throws becomes an answer 500.
  using Handler = std::function<HttpResponse(const std::string& path)>;

  /// Port 0 takes one that is free. Throws Error: the port is in use or not allowed, the library is missing.
  HttpServer(std::uint16_t port, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  class Daemon;
  std::uint16_t port_ = 0;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace headroom::cli
