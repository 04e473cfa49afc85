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

/// The machine and the software of a set of records. All records of a run share one.
struct Environment {
  // Defined in record.cpp, to compile them once.
  Environment();
  Environment(const Environment& other);
  Environment(Environment&& other) noexcept;
  Environment& operator=(const Environment& other);
  Environment& operator=(Environment&& other) noexcept;
  ~Environment();

  struct Runner {  ///< a machine, as `runners` in OSS v3
    std::string name, type, cpu_info;
    std::uint32_t cpu_count = 0;
    std::string mem_info;
    std::uint32_t avail_mem_in_gb = 0;
    std::string gpu_info;
    std::uint32_t gpu_count = 0;
    std::string gpu_mem_info;
    std::uint32_t avail_gpu_mem_in_gb = 0;
    std::map<std::string, std::string> extra_info;
    std::vector<std::int64_t> cache_bytes{};  ///< data caches of a core by level, smallest first
    std::int64_t gpu_l2_bytes = 0;            ///< 0: unknown
  };
  struct Dependency {  ///< as `dependencies` in OSS v3
    std::string repo, branch, sha, version;
    std::map<std::string, std::string> extra_info;
  };

  std::uint64_t timestamp = 0;  ///< seconds since 1970
  std::string session;          ///< random for each run of a program; empty in other tools' files
  std::string fingerprint;      ///< of the machine; results may be pooled only if equal
  std::string governor;         ///< CPU frequency governor, empty if the kernel does not report it
  std::string headroom_version;
  std::string git_sha, git_branch, git_repo;  ///< of the working directory, empty outside git
  std::vector<std::string> command;
  std::vector<Runner> machines;
  std::map<std::string, Dependency> dependencies;
  std::map<std::string, std::string> extra_info;  ///< seed, precision goal, ...
  InstrumentOptions options{};
};

/// Calls facts.add(name, value) for the versions and revisions of the dependencies, then for the git
/// repository, branch and revision. Values may be empty.
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

/// Says in the options, and for readers in extra_info, that nothing counts instructions.
void set_no_counters(Environment& environment, const std::string& why);

/// Adds `blas` to the dependencies as "BLAS", or as "BLAS of RUNNER" if another runner uses a different one.
/// Its extra_info holds `name`, `file` and `runner`.
void add_blas(Environment& environment, const BlasLibrary& blas, const std::string& runner);

/// Returns one line, with advice, for each runner that measured on netlib's reference BLAS; empty if none
/// did.
std::string reference_blas_text(std::span<const Record> records);

}  // namespace headroom
