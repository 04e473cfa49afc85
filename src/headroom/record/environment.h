// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Where and from what a set of records was made. Shared by all records of one run.
struct Environment {
  // Defined once, as those of a Record.
  Environment();
  Environment(const Environment& other);
  Environment(Environment&& other) noexcept;
  Environment& operator=(const Environment& other);
  Environment& operator=(Environment&& other) noexcept;
  ~Environment();

  struct Runner {  ///< as OSS v3's `runners`: a machine
    std::string name, type, cpu_info;
    std::uint32_t cpu_count = 0;
    std::string mem_info;
    std::uint32_t avail_mem_in_gb = 0;
    std::string gpu_info;
    std::uint32_t gpu_count = 0;
    std::string gpu_mem_info;
    std::uint32_t avail_gpu_mem_in_gb = 0;
    std::map<std::string, std::string> extra_info;
  };
  struct Dependency {  ///< as OSS v3's `dependencies`
    std::string repo, branch, sha, version;
    std::map<std::string, std::string> extra_info;
  };

  std::uint64_t timestamp = 0;  ///< seconds since 1970
  std::string session;      ///< told by chance once for each run of a program; empty in other tools' files
  std::string fingerprint;  ///< of the machine: equal only where results may be pooled
  std::string governor;     ///< CPU frequency governor, empty where the kernel tells none
  std::string headroom_version;
  std::string git_sha, git_branch, git_repo;  ///< of the working folder, empty outside git
  std::vector<std::string> command;           ///< the command line
  std::vector<Runner> machines;
  std::map<std::string, Dependency> dependencies;
  std::map<std::string, std::string> extra_info;  ///< seed, precision goal, ...
};

/// Keys of Environment::extra_info that hold what a run showed beside its records, so that it can be shown
/// again: the layers of every pair (command/cache_run_json.h), and what was expected of dispatch, as TOML.
inline constexpr const char* kCacheRunKey = "cache_run";
inline constexpr const char* kExpectationsKey = "dispatch_expectations";
/// Such a key is no fact of where a run was made.
inline bool is_shown_run(std::string_view key) {
  return key == kCacheRunKey || key == kExpectationsKey;
}

}  // namespace headroom
