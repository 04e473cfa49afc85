// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/failure_text.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "headroom/base/text.h"

namespace headroom::torch_runner {
namespace {

/// "RuntimeError: ...", "torch.jit.Error: ...", "AssertionError: ...".
bool names_an_error(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  return (name.ends_with("Error") || name.ends_with("Exception")) &&
         std::ranges::all_of(name, [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '_';
         });
}

bool begins_a_backtrace(std::string_view line) {
  return line.starts_with("Exception raised from") || line.starts_with("frame #");
}

}  // namespace

std::string failure_text(const std::exception& error) {
  const auto* from_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = from_torch != nullptr ? from_torch->what_without_backtrace() : error.what();
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) {
    if (begins_a_backtrace(line)) break;
    if (!trimmed(line).empty()) lines.emplace_back(trimmed(line));
  }
  if (lines.empty()) return "an error that says nothing";
  const auto named = std::find_if(lines.rbegin(), lines.rend(), names_an_error);
  return named == lines.rend() ? lines.front() : *named;
}

}  // namespace headroom::torch_runner
