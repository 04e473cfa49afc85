// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/microarchitecture.h"

#include <string_view>

namespace headroom {
namespace {

struct Design {
  const char* vendor;
  int family, first_model, last_model;
  const char* name;
};

// Sources: linux/arch/x86/include/asm/intel-family.h, AMD's processor programming references by family, and
// Arm's main ID registers.
constexpr Design kDesigns[] = {
    {"GenuineIntel", 6, 0x3C, 0x3C, "haswell"},
    {"GenuineIntel", 6, 0x3F, 0x3F, "haswell"},
    {"GenuineIntel", 6, 0x45, 0x46, "haswell"},
    {"GenuineIntel", 6, 0x3D, 0x3D, "broadwell"},
    {"GenuineIntel", 6, 0x47, 0x47, "broadwell"},
    {"GenuineIntel", 6, 0x4F, 0x4F, "broadwell"},
    {"GenuineIntel", 6, 0x56, 0x56, "broadwell"},
    {"GenuineIntel", 6, 0x4E, 0x4E, "skylake"},
    {"GenuineIntel", 6, 0x5E, 0x5E, "skylake"},
    {"GenuineIntel", 6, 0x55, 0x55, "skylake-sp"},
    {"GenuineIntel", 6, 0x8E, 0x8E, "kaby-lake"},
    {"GenuineIntel", 6, 0x9E, 0x9E, "kaby-lake"},
    {"GenuineIntel", 6, 0xA5, 0xA6, "comet-lake"},
    {"GenuineIntel", 6, 0x6A, 0x6A, "ice-lake-sp"},
    {"GenuineIntel", 6, 0x6C, 0x6C, "ice-lake-sp"},
    {"GenuineIntel", 6, 0x7D, 0x7E, "ice-lake"},
    {"GenuineIntel", 6, 0x8C, 0x8D, "tiger-lake"},
    {"GenuineIntel", 6, 0xA7, 0xA7, "rocket-lake"},
    {"GenuineIntel", 6, 0x8F, 0x8F, "sapphire-rapids"},
    {"GenuineIntel", 6, 0xCF, 0xCF, "emerald-rapids"},
    {"GenuineIntel", 6, 0xAD, 0xAE, "granite-rapids"},
    {"GenuineIntel", 6, 0xAF, 0xAF, "sierra-forest"},
    {"GenuineIntel", 6, 0x97, 0x97, "alder-lake"},
    {"GenuineIntel", 6, 0x9A, 0x9A, "alder-lake"},
    {"GenuineIntel", 6, 0xB7, 0xB7, "raptor-lake"},
    {"GenuineIntel", 6, 0xBA, 0xBA, "raptor-lake"},
    {"GenuineIntel", 6, 0xBF, 0xBF, "raptor-lake"},
    {"GenuineIntel", 6, 0xAA, 0xAA, "meteor-lake"},
    {"GenuineIntel", 6, 0xAC, 0xAC, "meteor-lake"},
    {"GenuineIntel", 6, 0xC5, 0xC6, "arrow-lake"},
    {"GenuineIntel", 6, 0xBD, 0xBD, "lunar-lake"},
    {"AuthenticAMD", 0x17, 0x00, 0x2F, "zen"},
    {"AuthenticAMD", 0x17, 0x30, 0xFF, "zen2"},
    {"AuthenticAMD", 0x19, 0x10, 0x1F, "zen4"},
    {"AuthenticAMD", 0x19, 0x60, 0x7F, "zen4"},
    {"AuthenticAMD", 0x19, 0xA0, 0xAF, "zen4"},
    {"AuthenticAMD", 0x19, 0x00, 0xFF, "zen3"},
    {"AuthenticAMD", 0x1A, 0x00, 0xFF, "zen5"},
    {"ARM", 8, 0xD08, 0xD08, "cortex-a72"},
    {"ARM", 8, 0xD0B, 0xD0B, "cortex-a76"},
    {"ARM", 8, 0xD0C, 0xD0C, "neoverse-n1"},
    {"ARM", 8, 0xD40, 0xD40, "neoverse-v1"},
    {"ARM", 8, 0xD49, 0xD49, "neoverse-n2"},
    {"ARM", 8, 0xD4F, 0xD4F, "neoverse-v2"},
};

/// "AMD EPYC 7B12 64-Core Processor @ 2.2GHz" -> "amd-epyc-7b12-64-core".
std::string slug(std::string_view brand) {
  std::string result;
  std::string text(brand.substr(0, brand.find('@')));
  for (const std::string_view noise : {"(R)", "(TM)", "(r)", "(tm)", " CPU", " Processor"}) {
    for (std::size_t at = text.find(noise); at != std::string::npos; at = text.find(noise))
      text.erase(at, noise.size());
  }
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter)
      result.push_back(c);
    else if (c >= 'A' && c <= 'Z')
      result.push_back(static_cast<char>(c - 'A' + 'a'));
    else if (!result.empty() && result.back() != '-')
      result.push_back('-');
  }
  while (result.ends_with('-')) result.pop_back();
  return result.empty() ? "unknown-cpu" : result;
}

}  // namespace

std::string microarchitecture(const CpuIdentity& cpu) {
  for (const Design& design : kDesigns) {
    const bool match = cpu.vendor == design.vendor && cpu.family == design.family &&
                       cpu.model >= design.first_model && cpu.model <= design.last_model;
    if (match) return design.name;
  }
  return slug(cpu.brand);
}

}  // namespace headroom
