// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/environment.h"

#include <fmt/format.h>

#include "headroom/base/blas_library.h"
#include "headroom/record/record.h"

namespace headroom {
namespace {

constexpr const char* kBlas = "BLAS";

std::string text_or_empty(const Environment::Dependency& dependency, const char* key) {
  const auto found = dependency.extra_info.find(key);
  return found == dependency.extra_info.end() ? "" : found->second;
}

std::string repository_of(const std::string& name) {
  if (name == "OpenBLAS") return "OpenMathLib/OpenBLAS";
  return name == kReferenceBlas ? "Reference-LAPACK/lapack" : "";
}

}  // namespace

void set_no_counters(Environment& environment, const std::string& why) {
  environment.options.counters = CounterScope::kNone;
  environment.options.no_counters = why;
  environment.extra_info["hardware_counters"] = "none: " + why;
}

void add_blas(Environment& environment, const BlasLibrary& blas, const std::string& runner) {
  Environment::Dependency dependency;
  dependency.repo = repository_of(blas.name);
  dependency.version = blas.version;
  dependency.extra_info = {{"name", blas.name}, {"file", blas.file}, {"runner", runner}};
  const bool is_first = environment.dependencies.emplace(kBlas, dependency).second;
  if (!is_first) environment.dependencies.emplace(fmt::format("{} of {}", kBlas, runner), dependency);
}

std::string reference_blas_text(std::span<const Record> records) {
  std::map<std::string, std::string> files;
  for (const Record& record : records) {
    if (!record.environment) continue;
    for (const auto& [key, dependency] : record.environment->dependencies) {
      if (!key.starts_with(kBlas) || text_or_empty(dependency, "name") != kReferenceBlas) continue;
      const std::string runner = text_or_empty(dependency, "runner");
      if (runner == record.runner) files[runner] = text_or_empty(dependency, "file");
    }
  }
  std::string text;
  for (const auto& [runner, file] : files) {
    text += fmt::format(
        "{} uses netlib's reference BLAS ({}), which is many times slower than others: apt-get install "
        "libopenblas0-openmp\n",
        runner, file);
  }
  return text;
}

}  // namespace headroom
