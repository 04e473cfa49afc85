// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/program/trace_files.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/record/formats.h"
#include "headroom/results/operand.h"
#include "headroom_trace/bytes/byte_source.h"
#include "headroom_trace/formats/formats.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kPacked{".gz", ".zst", ".zip"};
/// Traces in other forms than Chrome's, by the names that their tools give them.
constexpr std::array<std::string_view, 5> kOtherForms{".pftrace", ".perfetto-trace", ".xplane.pb", ".sqlite",
                                                      ".et"};

/// Cuts the first of `endings` that fits.
template <std::size_t N>
bool cut_ending(std::string_view& name, const std::array<std::string_view, N>& endings) {
  for (const std::string_view ending : endings) {
    if (name.size() <= ending.size() || !name.ends_with(ending)) continue;
    name.remove_suffix(ending.size());
    return true;
  }
  return false;
}

bool has_name_of_trace(const fs::path& path) {
  const std::string file = path.filename().string();
  std::string_view name = file;
  const bool is_zip = name.ends_with(".zip");
  cut_ending(name, kPacked);
  return is_zip || name.ends_with(".json");
}

bool is_of_other_form(const fs::path& path) {
  const std::string file = path.filename().string();
  std::string_view name = file;
  cut_ending(name, kPacked);
  return cut_ending(name, kOtherForms);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files = files_below(folder, has_name_of_trace);
  // JAX writes the same run in both forms.
  if (files.empty()) files = files_below(folder, is_of_other_form);
  if (files.empty())
    throw Error(folder.string() +
                ": no *.json file in this folder, nor *.pftrace, *.xplane.pb, *.sqlite or *.et, plain or "
                "packed (.gz, "
                ".zst, .zip)");
  return files;
}

/// What fits a pattern that the shell did not expand.
std::vector<fs::path> files_like(const std::string& pattern) {
  glob_t found{};
  const int answer = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<fs::path> files;
  for (std::size_t i = 0; answer == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (files.empty()) throw Error(in_quotes(pattern) + ": no file fits this pattern");
  return files;
}

std::vector<fs::path> files_of(const std::string& operand) {
  if (operand == "-") return {"/dev/stdin"};
  std::error_code error;
  if (fs::is_directory(operand, error)) return files_in(operand);
  if (!fs::exists(operand, error) && operand.find_first_of("*?[") != std::string::npos)
    return files_like(operand);
  return {operand};
}

/// "rank-2" before "rank-10": numbers by their value, which has no leading zeros.
bool natural_less(const fs::path& left, const fs::path& right) {
  const std::string a = left.string(), b = right.string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto digits = [&](const std::string& text, std::size_t& at) {
      const std::size_t first = std::min(text.find_first_not_of('0', at), text.size());
      std::size_t end = first;
      while (end < text.size() && is_digit(text[end])) ++end;
      at = end;
      return std::string_view(text).substr(first, end - first);
    };
    const std::string_view x = digits(a, i), y = digits(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

}  // namespace

TraceFiles trace_files(const std::vector<std::string>& operands) {
  TraceFiles all;
  std::set<fs::path> seen;
  for (const std::string& operand : operands) {
    std::vector<fs::path> files = files_of(operand);
    std::ranges::sort(files, natural_less);
    for (fs::path& file : files) {
      std::error_code error;
      const fs::path canonical = fs::canonical(file, error);
      if (!error && !seen.insert(canonical).second) {
        all.notes.push_back(file.string() + ": named twice; read once");
      } else {
        all.paths.push_back(std::move(file));
      }
    }
  }
  return all;
}

bool is_trace_file(const std::string& operand) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  std::error_code ignored;
  if (operand.starts_with("@") || !fs::is_regular_file(operand, ignored)) return false;
  const trace::readers::PeekedSource peeked(trace::readers::open_json(operand), kHead);
  const std::string_view head = peeked.first();
  if (trace::readers::format_of(head) != nullptr) return true;
  if (format_of_text(head) != nullptr) return false;
  return contains(head, "\"traceEvents\"") || contains(head, "\"deviceProperties\"") ||
         (contains(head, "\"ph\"") && contains(head, "\"ts\""));
}

std::string trace_name(const std::vector<fs::path>& paths) {
  if (paths.size() > 1) {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(paths.front(), error).parent_path();
    const bool shared = std::ranges::all_of(paths, [&](const fs::path& path) {
      return fs::weakly_canonical(path, error).parent_path() == folder;
    });
    if (shared && folder.has_filename()) return folder.filename().string();
  }
  const std::string file = paths.empty() ? "" : paths.front().filename().string();
  std::string_view name = file;
  cut_ending(name, kPacked);
  if (!cut_ending(name, kOtherForms))
    cut_ending(name, std::array<std::string_view, 2>{".pt.trace.json", ".json"});
  // PyTorch's handler for TensorBoard puts the time between the worker and the ending.
  const std::size_t dot = name.rfind('.');
  constexpr std::size_t kDigitsOfATime = 10;
  if (dot != std::string_view::npos && dot > 0 && name.size() - dot > kDigitsOfATime &&
      name.find_first_not_of("0123456789", dot + 1) == std::string_view::npos) {
    name = name.substr(0, dot);
  }
  return std::string(name);
}

}  // namespace headroom::cli
