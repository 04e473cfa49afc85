// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/libtorch.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "headroom/base/text.h"

namespace headroom::torch_runner {
namespace {

/// Matches "RuntimeError: ...", "torch.jit.Error: ...", "AssertionError: ...".
bool is_error_line(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  return (name.ends_with("Error") || name.ends_with("Exception")) &&
         std::ranges::all_of(name, [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '_';
         });
}

bool is_backtrace_line(std::string_view line) {
  return line.starts_with("Exception raised from") || line.starts_with("frame #");
}

/// "2024.2" in "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for ...".
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

std::string failure_text(const std::exception& error) {
  const auto* from_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = from_torch != nullptr ? from_torch->what_without_backtrace() : error.what();
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) {
    if (is_backtrace_line(line)) break;
    if (!trimmed(line).empty()) lines.emplace_back(trimmed(line));
  }
  if (lines.empty()) return "an error without a message";
  const auto named = std::find_if(lines.rbegin(), lines.rend(), is_error_line);
  return named == lines.rend() ? lines.front() : *named;
}

std::optional<BlasLibrary> torch_blas() {
  if (at::hasMKL()) return BlasLibrary{"MKL", version_of_mkl(at::get_mkl_version()), file_of_libtorch()};
  return loaded_blas();
}

}  // namespace headroom::torch_runner
