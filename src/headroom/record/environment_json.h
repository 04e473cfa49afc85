// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/json_codec.h"
#include "headroom/record/environment.h"

namespace headroom {

// The environment as it stands in a headroom file. `machines` and `dependencies` have the names and the form
// of `runners` and `dependencies` in the OSS benchmark database.

template <>
struct JsonMembers<Environment::Runner> {
  using R = Environment::Runner;
  static constexpr std::tuple kTable{optional("name", &R::name),
                                     optional("type", &R::type),
                                     optional("cpu_info", &R::cpu_info),
                                     optional("cpu_count", &R::cpu_count),
                                     optional("mem_info", &R::mem_info),
                                     optional("avail_mem_in_gb", &R::avail_mem_in_gb),
                                     optional("gpu_info", &R::gpu_info),
                                     optional("gpu_count", &R::gpu_count),
                                     optional("gpu_mem_info", &R::gpu_mem_info),
                                     optional("avail_gpu_mem_in_gb", &R::avail_gpu_mem_in_gb),
                                     optional("extra_info", &R::extra_info)};
};

template <>
struct JsonMembers<Environment::Dependency> {
  using D = Environment::Dependency;
  static constexpr std::tuple kTable{optional("repo", &D::repo), optional("branch", &D::branch),
                                     optional("sha", &D::sha), optional("version", &D::version),
                                     optional("extra_info", &D::extra_info)};
};

template <>
struct JsonMembers<Environment> {
  using E = Environment;
  static constexpr std::tuple kTable{optional("timestamp", &E::timestamp),
                                     optional("session", &E::session),
                                     optional("fingerprint", &E::fingerprint),
                                     optional("governor", &E::governor),
                                     optional("headroom_version", &E::headroom_version),
                                     optional("git_sha", &E::git_sha),
                                     optional("git_branch", &E::git_branch),
                                     optional("git_repo", &E::git_repo),
                                     optional("command", &E::command),
                                     optional("machines", &E::machines),
                                     optional("dependencies", &E::dependencies),
                                     optional("extra_info", &E::extra_info)};
};

}  // namespace headroom
