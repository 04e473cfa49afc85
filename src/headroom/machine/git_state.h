// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headroom {

/// What a git working folder is at. Fields are empty where git would not tell either: outside git, before the
/// first commit, on a detached head (no branch), without a remote.
struct GitState {
  std::string sha;
  std::string branch;
  std::string
      repo;  ///< "owner/name" of the remote "origin" as hosts write it, else its address without secrets
};

/// Reads git's own files from `folder` upwards, without starting git: linked working trees, submodules and
/// packed references included. Never throws; gitrepository-layout(5).
GitState read_git_state(const std::filesystem::path& folder);

/// The address of the remote "origin" in the text of a .git/config; empty without one.
std::string origin_address(std::string_view config);

/// "https://user:secret@host/owner/name.git" and "git@host:owner/name.git" are "owner/name"; an address that
/// is not of a host is its last folder's name.
std::string repository_name(std::string_view address);

}  // namespace headroom
