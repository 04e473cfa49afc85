// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_peer_options.h"

#include <algorithm>
#include <filesystem>

#include "cli/shared/option_table.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cli {
namespace {

/// What headroom-native reads by itself (headroom_native/peers/peer_library.h), as far as it matters here.
struct PeerText {
  std::string path, rest, name;  ///< rest: "SYMBOL,name=NAME"
};

PeerText parse(const std::string& peer) {
  // A path may have commas and colons in it, a symbol has neither.
  const std::size_t colon = peer.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == peer.size()) {
    throw Error(
        "--peer " + in_quotes(peer) +
        ": expected PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own], as libmine.so:gemv_bf16");
  }
  PeerText text{peer.substr(0, colon), peer.substr(colon + 1), {}};
  for (const std::string& word : split(text.rest, ',')) {
    if (text.name.empty()) text.name = word;
    if (word.starts_with("name=")) text.name = word.substr(std::string_view("name=").size());
  }
  return text;
}

}  // namespace

void declare_peer_options(OptionTable& table, std::vector<std::string>& peers) {
  table
      .add_option("--peer", peers,
                  "PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]: a function of a shared library "
                  "as a backend of gemv, gather_gemv and layer_norm, beside native; repeat it for several")
      .completed_by(Completes::kFile)
      .repeated();
}

void select_peers(const std::vector<std::string>& peers, Selection& selection) {
  if (peers.empty()) return;
  if (selection.backends.empty()) selection.backends.emplace_back("native");
  for (const std::string& peer : peers) {
    const PeerText text = parse(peer);
    std::error_code problem;
    if (!std::filesystem::exists(text.path, problem)) {
      throw Error("--peer " + in_quotes(peer) + ": there is no file " + in_quotes(text.path) +
                  "; name the library by its path");
    }
    if (std::ranges::find(selection.backends, text.name) == selection.backends.end())
      selection.backends.push_back(text.name);
  }
}

std::vector<std::string> backends_of_runners(const std::vector<std::string>& peers,
                                             std::vector<std::string> backends) {
  for (const std::string& peer : peers) {
    const std::string name = parse(peer).name;
    std::ranges::replace(backends, name, std::string("native"));
  }
  return backends;
}

bool takes_peers(const std::string& path) {
  return std::filesystem::path(path).filename() == "headroom-native";
}

void add_peer_arguments(const std::vector<std::string>& peers, std::vector<std::string>& arguments) {
  for (const std::string& peer : peers) {
    const PeerText text = parse(peer);
    arguments.insert(arguments.end(),
                     {"--peer", std::filesystem::absolute(text.path).string() + ":" + text.rest});
  }
}

void require_peers_taken(const std::vector<std::string>& peers, const std::vector<std::string>& runners) {
  if (peers.empty() || std::ranges::any_of(runners, takes_peers)) return;
  throw Error(
      "--peer is loaded by headroom-native, which takes no part: ask for a backend of it, or name it with "
      "--runner");
}

}  // namespace headroom::cli
