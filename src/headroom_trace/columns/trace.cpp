// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/columns/trace.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace headroom::trace {
namespace {

std::uint64_t hash_of(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

}  // namespace

std::size_t Names::slot_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const NameId id = slots_[slot];
    if (id == kNoName || (hashes_[id] == hash && texts_[id] == text)) return slot;
  }
}

NameId Names::find(std::string_view text) const {
  return slots_.empty() ? kNoName : slots_[slot_of(text, hash_of(text))];
}

NameId Names::intern(std::string_view text) {
  if (2 * (texts_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_of(text);
  NameId& slot = slots_[slot_of(text, hash)];
  if (slot != kNoName) return slot;
  // Reallocation would leave views dangling.
  constexpr std::size_t kBlockBytes = 64 << 10;
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < text.size()) {
    blocks_.emplace_back().reserve(std::max(kBlockBytes, text.size()));
  }
  std::string& block = blocks_.back();
  const std::size_t at = block.size();
  block.append(text);
  slot = static_cast<NameId>(texts_.size());
  texts_.emplace_back(block.data() + at, text.size());
  hashes_.push_back(hash);
  return slot;
}

void Names::grow() {
  slots_.assign(slots_.empty() ? 1024 : 2 * slots_.size(), kNoName);
  const std::size_t mask = slots_.size() - 1;
  for (NameId id = 0; id < texts_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (slots_[slot] != kNoName) slot = (slot + 1) & mask;
    slots_[slot] = id;
  }
}

std::int32_t device_of(const Trace& trace, const GpuDetail& work) {
  if (work.device >= 0) return work.device;
  const std::string& pid = trace.threads[trace.events.thread[work.event]].pid;
  std::int32_t device = -1;
  const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), device);
  return error == std::errc{} && end == pid.data() + pid.size() ? device : -1;
}

}  // namespace headroom::trace
