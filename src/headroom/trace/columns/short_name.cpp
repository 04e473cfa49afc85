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

}  // namespace

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
