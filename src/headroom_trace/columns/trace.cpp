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

namespace {

template <typename Detail>
std::uint32_t keep_detail(const std::vector<Detail>& all, std::vector<Detail>& kept, std::uint32_t detail,
                          std::uint32_t row) {
  kept.push_back(all[detail]);
  kept.back().event = row;
  return static_cast<std::uint32_t>(kept.size() - 1);
}

void copy_facts(const Trace& trace, Trace& kept) {
  kept.source = trace.source;
  kept.writer = trace.writer;
  kept.json_bytes = trace.json_bytes;
  kept.file_bytes = trace.file_bytes;
  kept.events_skipped_by_need = trace.events_skipped_by_need;
  kept.events_without_columns = trace.events_without_columns;
  for (NameId name = 0; name < trace.names.size(); ++name) kept.names.intern(trace.names[name]);
  kept.threads = trace.threads;
  kept.collectives = trace.collectives;
  kept.memory = trace.memory;
  kept.memory_pools = trace.memory_pools;
  kept.flows = trace.flows;
  kept.devices = trace.devices;
  kept.communication_patterns = trace.communication_patterns;
  kept.base_time_ns = trace.base_time_ns;
  kept.rank = trace.rank;
  kept.world_size = trace.world_size;
  kept.communication_backend = trace.communication_backend;
  kept.schema_version = trace.schema_version;
  kept.is_complete = trace.is_complete;
  kept.problems = trace.problems;
}

}  // namespace

Trace subset(const Trace& trace, const std::vector<bool>& is_kept) {
  Trace kept;
  copy_facts(trace, kept);
  std::vector<std::uint32_t> new_rows(trace.events.size(), kNone);
  for (std::uint32_t event = 0; event < trace.events.size(); ++event) {
    if (!is_kept[event]) continue;
    const auto row = static_cast<std::uint32_t>(kept.events.size());
    new_rows[event] = row;
    const Category category = trace.events.category[event];
    std::uint32_t detail = trace.events.detail[event];
    if (detail != kNone) {
      detail = is_gpu_work(category)            ? keep_detail(trace.gpu, kept.gpu, detail, row)
               : category == Category::kGpuSync ? keep_detail(trace.syncs, kept.syncs, detail, row)
                                                : keep_detail(trace.ops, kept.ops, detail, row);
    }
    kept.events.start_ns.push_back(trace.events.start_ns[event]);
    kept.events.duration_ns.push_back(trace.events.duration_ns[event]);
    kept.events.name.push_back(trace.events.name[event]);
    kept.events.thread.push_back(trace.events.thread[event]);
    kept.events.category.push_back(category);
    kept.events.correlation.push_back(trace.events.correlation[event]);
    kept.events.detail.push_back(detail);
  }
  for (PreciseTime time : trace.precise_times) {
    time.event = new_rows[time.event];
    if (time.event != kNone) kept.precise_times.push_back(time);
  }
  kept.events_seen = trace.events_seen - (trace.events.size() - kept.events.size());
  return kept;
}

}  // namespace headroom::trace
