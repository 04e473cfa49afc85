// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/instrument.h"

namespace headroom {

struct BlasLibrary;
struct Record;

/// Shared by all records of a run.
struct Environment {
  // Defined in record.cpp, to compile them once.
  Environment();
  Environment(const Environment& other);
  Environment(Environment&& other) noexcept;
  Environment& operator=(const Environment& other);
  Environment& operator=(Environment&& other) noexcept;
  ~Environment();

  struct Runner {
    std::string name, type, cpu_info;
    std::uint32_t cpu_count = 0;
    std::string mem_info;
    std::uint32_t avail_mem_in_gb = 0;
    std::string gpu_info;
    std::uint32_t gpu_count = 0;
    std::string gpu_mem_info;
    std::uint32_t avail_gpu_mem_in_gb = 0;
    std::map<std::string, std::string> extra_info;
    std::vector<std::int64_t> cache_bytes{};  ///< data caches of a core, smallest first
    std::int64_t gpu_l2_bytes = 0;
  };
  struct Dependency {
    std::string repo, branch, sha, version;
    std::map<std::string, std::string> extra_info;
  };

  std::uint64_t timestamp = 0;  ///< Unix time in seconds
  std::string session;          ///< random per run of a program; empty in other tools' files
  std::string fingerprint;      ///< of the machine; results may be pooled only if equal
  std::string governor;
  std::string headroom_version;
  std::string git_sha, git_branch, git_repo;
  std::vector<std::string> command;
  std::vector<Runner> machines;
  std::map<std::string, Dependency> dependencies;
  std::map<std::string, std::string> extra_info;  ///< seed, precision goal, ...
  InstrumentOptions options{};
};

/// Calls facts.add(name, value) for versions and revisions of dependencies and git repository.
template <typename Facts>
void add_sources(Facts& facts, const Environment& environment) {
  for (const auto& [name, dependency] : environment.dependencies) {
    facts.add(name + " version", dependency.version);
    facts.add(name + " revision", dependency.sha);
  }
  facts.add("git repository", environment.git_repo);
  facts.add("git branch", environment.git_branch);
  facts.add("git revision", environment.git_sha);
}

void set_no_counters(Environment& environment, const std::string& why);

/// Adds `blas` to the dependencies as "BLAS", or "BLAS of RUNNER" if another runner uses a different one.
void add_blas(Environment& environment, const BlasLibrary& blas, const std::string& runner);

/// Warns of each runner that used netlib's reference BLAS, with advice; may be empty.
std::string reference_blas_text(std::span<const Record> records);

}  // namespace headroom
