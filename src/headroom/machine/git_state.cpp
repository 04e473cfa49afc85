// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/git_state.h"

#include <algorithm>
#include <cctype>

#include "headroom/base/text.h"
#include "headroom/machine/text_file.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// The folder of git's files for a working folder: ".git", or what a ".git" file points to.
fs::path find_git_folder(fs::path folder) {
  std::error_code error;
  for (; !folder.empty(); folder = folder.parent_path()) {
    const fs::path git = folder / ".git";
    const fs::file_status status = fs::status(git, error);
    if (fs::is_directory(status)) return git;
    if (fs::is_regular_file(status)) {
      constexpr std::string_view kKey = "gitdir: ";
      const std::string text = value_in_file(git);
      return text.starts_with(kKey) ? folder / text.substr(kKey.size()) : fs::path();
    }
    if (folder == folder.root_path()) break;
  }
  return {};
}

bool is_object_name(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// Lines "<sha> <reference>", with comments and peeled tags between them.
std::string packed_reference(const std::string& packed, const std::string& reference) {
  for (std::size_t at = packed.find(" " + reference); at != std::string::npos;
       at = packed.find(" " + reference, at + 1)) {
    const std::size_t end = at + 1 + reference.size();
    const std::size_t start = packed.rfind('\n', at) + 1;  // npos + 1 is the start of the text
    const bool whole = end == packed.size() || packed[end] == '\n' || packed[end] == '\r';
    if (whole && is_object_name(std::string_view(packed).substr(start, at - start))) {
      return packed.substr(start, at - start);
    }
  }
  return {};
}

/// A reference is a file in this working tree's folder or in the one shared by all, or a line of packed-refs.
std::string resolve(const fs::path& git, const fs::path& common, const std::string& reference) {
  for (const fs::path& folder : {git, common}) {
    const std::string sha = value_in_file(folder / reference);
    if (is_object_name(sha)) return sha;
  }
  return packed_reference(text_of_file(common / "packed-refs"), reference);
}

}  // namespace

std::string origin_address(std::string_view config) {
  bool in_origin = false;
  for (const std::string& raw : split(config, '\n')) {
    const std::string_view line = trimmed(raw);
    if (line.starts_with('[')) {
      in_origin = line.starts_with("[remote \"origin\"]");
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!in_origin || equals == std::string_view::npos || trimmed(line.substr(0, equals)) != "url") continue;
    std::string_view value = trimmed(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return {};
}

std::string repository_name(std::string_view address) {
  while (address.ends_with('/')) address.remove_suffix(1);
  if (address.ends_with(".git")) address.remove_suffix(4);
  while (address.ends_with('/')) address.remove_suffix(1);
  const std::size_t scheme = address.find("://");
  const std::size_t colon = address.find(':');
  const bool file = address.starts_with("file://");
  if (scheme != std::string_view::npos && !file) {
    const std::size_t path = address.find('/', scheme + 3);
    return path == std::string_view::npos ? std::string() : std::string(address.substr(path + 1));
  }
  const bool is_scp_like = colon != std::string_view::npos && address.find('/') > colon && !file;
  if (is_scp_like) return std::string(address.substr(colon + 1));
  const std::size_t slash = address.rfind('/');
  return std::string(slash == std::string_view::npos ? address : address.substr(slash + 1));
}

GitState read_git_state(const std::filesystem::path& folder) {
  GitState state;
  std::error_code error;
  const fs::path start = fs::absolute(folder, error);
  const fs::path git = error ? fs::path() : find_git_folder(start);
  if (git.empty()) return state;
  const std::string shared = value_in_file(git / "commondir");
  const fs::path common = shared.empty() ? git : git / shared;

  constexpr std::string_view kReference = "ref: ";
  constexpr std::string_view kBranch = "refs/heads/";
  const std::string head = value_in_file(git / "HEAD");
  if (head.starts_with(kReference)) {
    const std::string reference(trimmed(head).substr(kReference.size()));
    // The reftable format keeps references elsewhere and writes an invalid name here.
    if (reference == "refs/heads/.invalid") return state;
    if (reference.starts_with(kBranch)) state.branch = reference.substr(kBranch.size());
    state.sha = resolve(git, common, reference);
  } else if (is_object_name(head)) {
    state.sha = head;
  }
  state.repo = repository_name(origin_address(text_of_file(common / "config")));
  return state;
}

}  // namespace headroom
