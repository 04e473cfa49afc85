// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/short_name.h"

#include <algorithm>

#include "headroom/base/text.h"
#include "headroom/trace/columns/kernel_type.h"

namespace headroom::trace {
namespace {

std::string without(std::string_view text, std::string_view part) {
  std::string out;
  for (std::size_t found; (found = text.find(part)) != std::string_view::npos;) {
    out += text.substr(0, found);
    text.remove_prefix(found + part.size());
  }
  return out += text;
}

/// What is outside of all <> and (). A closing bracket takes back everything since its partner.
std::string outside_of_brackets(std::string_view text) {
  std::string out;
  std::string open;                  // the brackets that wait for their partner
  std::vector<std::size_t> lengths;  // of `out` before each
  for (const char c : text) {
    if (c == '<' || c == '(') {
      open += c;
      lengths.push_back(out.size());
    }
    const char partner = c == '>' ? '<' : c == ')' ? '(' : '\0';
    if (partner == '\0') {
      out += c;
      continue;
    }
    const std::size_t place = open.rfind(partner);
    if (place == std::string::npos) continue;
    out.resize(lengths[place]);
    open.resize(place);
    lengths.resize(place);
  }
  return out;
}

/// What a loop over elements or a reduction of PyTorch's does, by its template arguments: "AddFunctor",
/// "direct_copy_kernel_cuda", "MeanOps"; empty where they do not tell.
std::string_view functor_of(std::string_view name) {
  constexpr std::string_view kEndings[] = {"Functor", "_kernel_cuda", "Ops"};
  const auto is_of_name = [](char c) { return is_digit(c) || c == '_' || (c | 0x20) >= 'a'; };
  for (std::size_t at = name.find('<'); at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_of_name(name[end])) ++end;
    const std::string_view word = name.substr(at, end - at);
    if (std::ranges::any_of(kEndings, [&](std::string_view ending) { return word.ends_with(ending); }))
      return word;
    at = std::max(end, at + 1);
  }
  return {};
}

}  // namespace

std::string telling_name(std::string_view name) {
  std::string base = name.starts_with("_Z") ? kernel_base_name(name) : short_name(name);
  if (const std::size_t colons = base.rfind("::"); colons != std::string::npos) base.erase(0, colons + 2);
  const std::string_view functor = functor_of(name);
  return functor.empty() || !is_generic_kernel(name) ? base : base + "<" + std::string(functor) + ">";
}

std::string short_name(std::string_view name) {
  if (kernel_type(name) == KernelType::kMemory || name.find_first_of("<(") == std::string_view::npos)
    return std::string(name);
  std::string text = without(name, "(anonymous namespace)::");
  if (const std::size_t clone = text.find(" [clone"); clone != std::string::npos) text.resize(clone);
  text = outside_of_brackets(without(text, "->"));
  const std::string_view left = trimmed(text);
  const std::string_view last = left.substr(left.find_last_of(' ') + 1);
  return std::string(last.empty() ? name : last);
}

}  // namespace headroom::trace
