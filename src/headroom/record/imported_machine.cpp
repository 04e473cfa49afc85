// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/imported_machine.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

namespace headroom {
namespace {

/// FNV-1a of 32 bits.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 16777619u;
  return hash;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Fit for the name of a file: other characters become one '-'.
std::string plain_name(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  std::string name;
  for (const char character : text) {
    if (is_plain(character)) {
      name += character;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
    if (name.size() == kLongest) break;
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "machine" : name;
}

std::string host_of(const Environment::Runner& machine) {
  const auto host = machine.extra_info.find("hostname");
  return host == machine.extra_info.end() ? machine.name : host->second;
}

}  // namespace

std::string imported_fingerprint(const std::vector<Environment::Runner>& machines) {
  std::string label, facts;
  for (const Environment::Runner& machine : machines) {
    const std::string host = host_of(machine);
    for (const std::string& name : {host, machine.cpu_info, machine.gpu_info}) {
      if (label.empty()) label = name;
    }
    facts += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", host, machine.name, machine.type, machine.cpu_info,
                         machine.cpu_count, machine.gpu_info, machine.gpu_count);
  }
  return label.empty() ? "" : fmt::format("{}-{:08x}", plain_name(label), hash_of(facts));
}

}  // namespace headroom
