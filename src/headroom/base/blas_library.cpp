// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/blas_library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <vector>

namespace headroom {
namespace {

struct KnownBlas {
  std::string_view in_path, name;
};

/// By preference: a reference BLAS is idle if an optimised one is loaded.
constexpr std::array<KnownBlas, 7> kKnown{{{"openblas", "OpenBLAS"},
                                           {"libmkl", "MKL"},
                                           {"blis", "BLIS"},
                                           {"atlas", "ATLAS"},
                                           {"libarmpl", "Arm Performance Libraries"},
                                           {"nvpl_blas", "NVPL BLAS"},
                                           {"libblas.so", kReferenceBlas}}};

std::size_t rank_of(const BlasLibrary& blas) {
  std::size_t rank = 0;
  while (rank < kKnown.size() && kKnown[rank].name != blas.name) ++rank;
  return rank;
}

/// The longest: "0.3.21" of "libopenblasp-r0.3.21.so".
std::string dotted_version(std::string_view file_name) {
  std::string longest, run;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto take = [&] {
    while (!run.empty() && run.back() == '.') run.pop_back();
    if (run.find('.') != std::string::npos && run.size() > longest.size()) longest = run;
    run.clear();
  };
  for (const char c : file_name) {
    if (is_digit(c) || (c == '.' && !run.empty())) {
      run += c;
    } else {
      take();
    }
  }
  take();
  return longest;
}

int add_path(dl_phdr_info* library, std::size_t, void* paths) {
  if (library->dlpi_name != nullptr && *library->dlpi_name != '\0')
    static_cast<std::vector<std::string>*>(paths)->emplace_back(library->dlpi_name);
  return 0;
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

template <typename Function>
Function* function_of(const std::string& file, const char* name) {
  void* library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* function = ::dlsym(library, name);
  ::dlclose(library);  // drops only our reference
  return reinterpret_cast<Function*>(function);
}

}  // namespace

std::optional<BlasLibrary> identify_blas(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  // liblapack.so.3 is in the same folders.
  if (name.starts_with("liblapack")) return std::nullopt;
  const bool is_alternative = name.starts_with("libblas.so");
  for (const KnownBlas& known : kKnown) {
    const std::string_view where = is_alternative ? file : name;
    if (where.find(known.in_path) == std::string_view::npos) continue;
    return BlasLibrary{std::string(known.name), dotted_version(name), std::string(file)};
  }
  return std::nullopt;
}

std::optional<BlasLibrary> loaded_blas() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(add_path, &paths);
  std::optional<BlasLibrary> best;
  for (const std::string& path : paths) {
    const auto found = identify_blas(real_path(path));
    if (!found) continue;
    const bool tells_more = best && rank_of(*found) == rank_of(*best) && best->version.empty();
    if (!best || rank_of(*found) < rank_of(*best) || tells_more) best = found;
  }
  return best;
}

void set_blas_threads(int threads) {
  const auto blas = loaded_blas();
  if (!blas || blas->name != "OpenBLAS") return;
  const auto set = function_of<void(int)>(blas->file, "openblas_set_num_threads");
  if (set != nullptr) set(threads);
}

}  // namespace headroom
