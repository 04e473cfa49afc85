// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/affinity.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace headroom {
namespace {

/// cpu_set_t ends at 1,024 CPUs.
class CpuSet {
 public:
  explicit CpuSet(int cpus) : words_((static_cast<std::size_t>(cpus) + kBits - 1) / kBits) {}

  cpu_set_t* get() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }
  int capacity() const { return static_cast<int>(words_.size() * kBits); }
  void add(int cpu) { words_[static_cast<std::size_t>(cpu) / kBits] |= 1UL << bit(cpu); }
  bool has(int cpu) const { return (words_[static_cast<std::size_t>(cpu) / kBits] >> bit(cpu) & 1UL) != 0; }

 private:
  static constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  static std::size_t bit(int cpu) { return static_cast<std::size_t>(cpu) % kBits; }
  std::vector<unsigned long> words_;
};

constexpr int kMaxCpus = 1 << 20;

}  // namespace

std::vector<int> allowed_cpus() {
  for (int size = 1024; size <= kMaxCpus; size *= 2) {
    CpuSet set(size);
    if (sched_getaffinity(0, set.bytes(), set.get()) != 0) {
      if (errno == EINVAL) continue;  // our mask is too short
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < set.capacity(); ++cpu) {
      if (set.has(cpu)) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

bool pin_this_thread(int cpu) {
  return pin_this_thread(std::vector<int>{cpu});
}

bool pin_this_thread(const std::vector<int>& cpus) {
  if (cpus.empty()) return false;
  const auto [least, most] = std::minmax_element(cpus.begin(), cpus.end());
  if (*least < 0 || *most >= kMaxCpus) return false;
  CpuSet set(*most + 1);
  for (const int cpu : cpus) set.add(cpu);
  return sched_setaffinity(0, set.bytes(), set.get()) == 0;
}

}  // namespace headroom
