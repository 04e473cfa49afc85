// SPDX-License-Identifier: Apache-2.0
#include "headroom/environment/processor.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/process/affinity.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headroom {
namespace {

enum class Word { kLeaf1Ecx, kLeaf7Ebx, kLeaf7Ecx, kLeaf7Edx, kLeaf71Eax };

// XCR0 bits of saved registers: XMM and YMM; AVX-512; AMX.
constexpr std::uint64_t kAvxState = 0x6;
constexpr std::uint64_t kAvx512State = 0xE6;
constexpr std::uint64_t kAmxState = 0x60000;

struct Isa {
  const char* name;
  Word word;
  int bit;
  std::uint64_t state;
};

// machine_fingerprint() hashes these names: a new name changes fingerprints.
constexpr Isa kIsas[] = {
    {"fma", Word::kLeaf1Ecx, 12, kAvxState},
    {"f16c", Word::kLeaf1Ecx, 29, kAvxState},
    {"avx", Word::kLeaf1Ecx, 28, kAvxState},
    {"avx2", Word::kLeaf7Ebx, 5, kAvxState},
    {"avx_vnni", Word::kLeaf71Eax, 4, kAvxState},
    {"avx512f", Word::kLeaf7Ebx, 16, kAvx512State},
    {"avx512bw", Word::kLeaf7Ebx, 30, kAvx512State},
    {"avx512dq", Word::kLeaf7Ebx, 17, kAvx512State},
    {"avx512vl", Word::kLeaf7Ebx, 31, kAvx512State},
    {"avx512_vnni", Word::kLeaf7Ecx, 11, kAvx512State},
    {"avx512_bf16", Word::kLeaf71Eax, 5, kAvx512State},
    {"avx512_fp16", Word::kLeaf7Edx, 23, kAvx512State},
    {"amx_tile", Word::kLeaf7Edx, 24, kAmxState},
    {"amx_bf16", Word::kLeaf7Edx, 22, kAmxState},
    {"amx_int8", Word::kLeaf7Edx, 25, kAmxState},
    {"amx_fp16", Word::kLeaf71Eax, 21, kAmxState},
};

std::uint32_t word_of(const IsaWords& words, Word word) {
  switch (word) {
    case Word::kLeaf1Ecx:
      return words.leaf1_ecx;
    case Word::kLeaf7Ebx:
      return words.leaf7_ebx;
    case Word::kLeaf7Ecx:
      return words.leaf7_ecx;
    case Word::kLeaf7Edx:
      return words.leaf7_edx;
    case Word::kLeaf71Eax:
      return words.leaf7_1_eax;
  }
  return 0;
}

/// Parses the first line "name   : value".
std::string field(const std::string& cpuinfo, std::string_view name) {
  for (const std::string& line : split(cpuinfo, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trimmed(std::string_view(line).substr(0, colon)) != name) continue;
    return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

int hexadecimal(const std::string& text) {
  return static_cast<int>(std::strtol(text.c_str(), nullptr, 16));
}

#if defined(__x86_64__)

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

std::uint64_t read_xcr0() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

IsaWords read_isa_words() {
  IsaWords words;
  constexpr std::uint32_t kOsSavesExtendedState = 1U << 27;
  words.leaf1_ecx = cpuid(1).ecx;
  const Registers leaf7 = cpuid(7);
  words.leaf7_ebx = leaf7.ebx;
  words.leaf7_ecx = leaf7.ecx;
  words.leaf7_edx = leaf7.edx;
  if (leaf7.eax >= 1) words.leaf7_1_eax = cpuid(7, 1).eax;
  if ((words.leaf1_ecx & kOsSavesExtendedState) != 0) words.xcr0 = read_xcr0();
  return words;
}

void append(std::string& text, std::initializer_list<std::uint32_t> words) {
  for (const std::uint32_t word : words) {
    char bytes[4];
    std::memcpy(bytes, &word, sizeof bytes);
    text.append(bytes, sizeof bytes);
  }
}

std::string read_brand() {
  std::string brand;
  if (cpuid(0x80000000).eax < 0x80000004) return brand;
  for (std::uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const Registers r = cpuid(leaf);
    append(brand, {r.eax, r.ebx, r.ecx, r.edx});
  }
  brand.resize(std::min(brand.find('\0'), brand.size()));
  return std::string(trimmed(brand));
}

#endif

struct Design {
  const char* vendor;
  int family, first_model, last_model;
  const char* name;
};

// Sources: linux/arch/x86/include/asm/intel-family.h, AMD's processor programming references, Arm's main ID
// registers.
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

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using TopologyHandle = std::unique_ptr<hwloc_topology, DestroyTopology>;

/// hwloc respects the cgroup; apply the affinity mask too.
TopologyHandle load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw Error("cannot read the topology of this machine: hwloc does not start");
  TopologyHandle topology(raw);
  if (hwloc_topology_load(raw) != 0) {
    throw Error(
        fmt::format("cannot read the topology of this machine: {} (is /sys mounted?)", std::strerror(errno)));
  }
  const std::unique_ptr<hwloc_bitmap_s, FreeBitmap> allowed(hwloc_bitmap_alloc());
  for (const int cpu : allowed_cpus()) hwloc_bitmap_set(allowed.get(), static_cast<unsigned>(cpu));
  if (!hwloc_bitmap_iszero(allowed.get())) hwloc_topology_restrict(raw, allowed.get(), 0);
  return topology;
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(hwloc_get_nbobjs_by_type(topology, type), 0);
}

std::vector<int> cpus_by_core(hwloc_topology_t topology) {
  std::vector<int> cpus;
  const auto units = static_cast<std::size_t>(count(topology, HWLOC_OBJ_PU));
  const int cores = count(topology, HWLOC_OBJ_CORE);
  for (unsigned thread = 0; cores > 0 && cpus.size() < units; ++thread) {
    const std::size_t before = cpus.size();
    for (int core = 0; core < cores; ++core) {
      const hwloc_obj_t object = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(core));
      const hwloc_obj_t unit =
          hwloc_get_obj_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_PU, thread);
      if (unit != nullptr) cpus.push_back(static_cast<int>(unit->os_index));
    }
    if (cpus.size() == before) break;
  }
  return cpus.empty() ? allowed_cpus() : cpus;
}

std::vector<Cache> data_caches(hwloc_topology_t topology) {
  std::vector<Cache> caches;
  for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L5CACHE; ++type) {
    const auto kind = static_cast<hwloc_obj_type_t>(type);
    for (int i = 0; i < count(topology, kind); ++i) {
      const auto& found = hwloc_get_obj_by_type(topology, kind, static_cast<unsigned>(i))->attr->cache;
      const int level = static_cast<int>(found.depth);
      const auto bytes = static_cast<std::int64_t>(found.size);
      const auto same = std::find_if(caches.begin(), caches.end(), [&](const Cache& cache) {
        return cache.level == level && cache.bytes == bytes;
      });
      if (same != caches.end()) {
        ++same->instances;
      } else {
        caches.push_back({level, found.type == HWLOC_OBJ_CACHE_DATA ? "data" : "unified", bytes, 1});
      }
    }
  }
  return caches;
}

}  // namespace

std::vector<std::string> isa_names(const IsaWords& words) {
  std::vector<std::string> names;
  for (const Isa& isa : kIsas) {
    const bool there = (word_of(words, isa.word) >> isa.bit & 1U) != 0;
    if (there && (words.xcr0 & isa.state) == isa.state) names.emplace_back(isa.name);
  }
  return names;
}

CpuIdentity parse_arm_cpuinfo(const std::string& cpuinfo) {
  CpuIdentity cpu;
  const int implementer = hexadecimal(field(cpuinfo, "CPU implementer"));
  cpu.vendor = implementer == 0x41 ? "ARM" : std::string();
  cpu.brand = field(cpuinfo, "model name");
  cpu.family = hexadecimal(field(cpuinfo, "CPU architecture"));
  cpu.model = hexadecimal(field(cpuinfo, "CPU part"));
  cpu.stepping = hexadecimal(field(cpuinfo, "CPU revision"));
  const std::vector<std::string> features = split(field(cpuinfo, "Features"), ' ');
  for (const char* name :
       {"asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "svebf16", "svei8mm", "sme"}) {
    if (std::find(features.begin(), features.end(), name) != features.end()) cpu.isa.emplace_back(name);
  }
  cpu.hardware_isa = cpu.isa;
  return cpu;
}

CpuIdentity read_cpu_identity() {
#if defined(__x86_64__)
  CpuIdentity cpu;
  const Registers leaf0 = cpuid(0);
  append(cpu.vendor, {leaf0.ebx, leaf0.edx, leaf0.ecx});
  cpu.brand = read_brand();
  const std::uint32_t version = cpuid(1).eax;
  cpu.family = static_cast<int>(version >> 8 & 0xF);
  if (cpu.family == 0xF) cpu.family += static_cast<int>(version >> 20 & 0xFF);
  cpu.model = static_cast<int>((version >> 4 & 0xF) | (version >> 12 & 0xF0));
  cpu.stepping = static_cast<int>(version & 0xF);
  IsaWords words = read_isa_words();
  cpu.isa = isa_names(words);
  words.xcr0 = ~std::uint64_t{0};
  cpu.hardware_isa = isa_names(words);
  return cpu;
#else
  return parse_arm_cpuinfo(read_file_or_empty("/proc/cpuinfo"));
#endif
}

std::string microarchitecture(const CpuIdentity& cpu) {
  for (const Design& design : kDesigns) {
    const bool match = cpu.vendor == design.vendor && cpu.family == design.family &&
                       cpu.model >= design.first_model && cpu.model <= design.last_model;
    if (match) return design.name;
  }
  return slug(cpu.brand);
}

std::int64_t Topology::last_level_cache_bytes() const {
  int last = 0;
  for (const Cache& cache : caches) last = std::max(last, cache.level);
  std::int64_t total = 0;
  for (const Cache& cache : caches) {
    if (cache.level == last) total += cache.bytes * cache.instances;
  }
  return total > 0 ? total : kUnknownCacheBytes;
}

Topology read_topology() {
  const TopologyHandle handle = load();
  const CpuIdentity cpu = read_cpu_identity();
  Topology topology;
  topology.cpu_model = cpu.brand;
  topology.microarchitecture = microarchitecture(cpu);
  topology.isa = cpu.isa;
  topology.packages = count(handle.get(), HWLOC_OBJ_PACKAGE);
  topology.cores = count(handle.get(), HWLOC_OBJ_CORE);
  topology.processing_units = count(handle.get(), HWLOC_OBJ_PU);
  topology.numa_nodes = count(handle.get(), HWLOC_OBJ_NUMANODE);
  topology.allowed_cpus = cpus_by_core(handle.get());
  topology.caches = data_caches(handle.get());
  return topology;
}

}  // namespace headroom
