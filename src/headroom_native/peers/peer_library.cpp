// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/peer_library.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_native/peers/library_symbols.h"

namespace headroom::native {
namespace {

constexpr const char* kForm = "expected PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]";

bool is_name(const std::string& text) {
  return !text.empty() && text != "all" && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
           c == '-';
  });
}

void take_option(PeerRequest& request, const std::string& option) {
  const std::size_t equals = option.find('=');
  const std::string key = option.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (key == "name") {
    request.name = value;
  } else if (key == "dtype" && (value == "bf16" || value == "int8")) {
    request.dtype = value;
  } else if (option == "threads=own") {
    request.own_threads = true;
  } else {
    throw Error(in_quotes(option) + " is no option of a peer; " + kForm);
  }
}

/// A library runs code of its own when it is loaded. In a process that may be lost what it does there is told
/// as its own fault; here it would be the end of the runner, before it can say anything.
void require_loadable(const std::string& path) {
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) {
    ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ::_exit(0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) == child && WIFSIGNALED(status)) {
    throw Error(in_quotes(path) + " crashes when it is loaded (" + ::strsignal(WTERMSIG(status)) +
                "): it cannot be measured before that is mended");
  }
}

}  // namespace

PeerRequest parse_peer(const std::string& text) {
  return with_context("--peer " + in_quotes(text), [&] {
    // A path may have commas and colons in it, a symbol has neither.
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) throw Error(std::string("no symbol is named; ") + kForm);
    std::vector<std::string> words = split(text.substr(colon + 1), ',');
    PeerRequest request{text.substr(0, colon), words.front(), words.front(), {}, false};
    if (request.symbol.empty()) throw Error(std::string("no symbol is named; ") + kForm);
    for (std::size_t i = 1; i < words.size(); ++i) take_option(request, words[i]);
    if (!is_name(request.name))
      throw Error(in_quotes(request.name) +
                  " cannot be the name of a backend: letters, digits, _ . - can; "
                  "say name=NAME");
    return request;
  });
}

Peer load_peer(PeerRequest request) {
  const std::vector<std::string> functions = exported_functions(request.path);
  if (std::ranges::find(functions, request.symbol) == functions.end()) {
    const std::string near = did_you_mean(request.symbol, functions);
    throw Error(in_quotes(request.path) + " exports no function " + in_quotes(request.symbol) +
                (near.empty() ? "; see nm -D --defined-only for those that it has" : near));
  }
  require_loadable(request.path);
  Peer peer;
  peer.library = std::make_unique<LoadedLibrary>(request.path);
  // Threads of its own may still run code of it when the runner ends.
  peer.library->keep();
  peer.call = peer.library->function<headroom_peer_function>(request.symbol.c_str());
  peer.prepare =
      peer.library->function<headroom_peer_prepare_function>((request.symbol + "_prepare").c_str());
  peer.release =
      peer.library->function<headroom_peer_release_function>((request.symbol + "_release").c_str());
  peer.request = std::move(request);
  return peer;
}

}  // namespace headroom::native
