// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/torch_blas.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <dlfcn.h>

#include <string>

namespace headroom::torch_runner {
namespace {

/// "2024.2" of "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for ...".
std::string version_of_mkl(const std::string& sentence) {
  constexpr std::string_view kBefore = "Version ";
  const std::size_t begin = sentence.find(kBefore);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + kBefore.size();
  return sentence.substr(from, sentence.find_first_not_of("0123456789.", from) - from);
}

std::string file_of_libtorch() {
  Dl_info found{};
  const auto address = reinterpret_cast<void*>(&at::get_mkl_version);
  return ::dladdr(address, &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

}  // namespace

std::optional<BlasLibrary> torch_blas() {
  if (at::hasMKL()) return BlasLibrary{"MKL", version_of_mkl(at::get_mkl_version()), file_of_libtorch()};
  return blas_in_process();
}

}  // namespace headroom::torch_runner
