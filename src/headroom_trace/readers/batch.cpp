// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/batch.h"

#include <utility>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/json/json_text.h"

namespace headroom::trace::readers {
namespace {

CleanText clean(std::string_view raw, LocalNames::Form form) {
  if (form == LocalNames::Form::kEscaped) return clean_text(raw);
  CleanText plain;
  plain.is_clean = append_valid_utf8(raw, plain.text);
  return plain;
}

constexpr char kBetween = '\x1f';  // never unescaped in valid JSON

}  // namespace

/// Hashes the parts where kernel names differ.
NameId LocalNames::intern(std::string_view raw) {
  const std::uint64_t size = raw.size();
  const std::uint64_t front = first_bytes(raw.data(), size);
  const std::uint64_t back = size > 8 ? first_bytes(raw.data() + size - 8, 8) : 0;
  const std::uint64_t middle = size > 24 ? first_bytes(raw.data() + size / 2, 8) : 0;
  const std::uint64_t hash = (front ^ (back << 3) ^ (middle << 7) ^ size) * 0x9e3779b97f4a7c15U;
  NameId& recent = recent_[hash >> 52];
  static_assert(kRecent == std::size_t{1} << (64 - 52));
  if (recent != kNoName) {
    const std::string_view text = raw_[recent];
    // Not are_equal(): these texts lack padding.
    if (text == raw) return recent;
  }
  return recent = intern_slowly(raw);
}

NameId LocalNames::intern_slowly(std::string_view raw) {
  const NameId id = raw_.intern(raw);
  if (id == dirty_.size()) {
    dirty_.push_back(!clean(raw, form_).is_clean);
    any_dirty_ = any_dirty_ || dirty_.back();
  }
  return id;
}

void LocalNames::take_new(std::vector<std::string_view>& out) {
  while (taken_ < raw_.size()) out.push_back(raw_[static_cast<NameId>(taken_++)]);
}

void NameTranslation::learn(const std::vector<std::string_view>& raws) {
  raws_.insert(raws_.end(), raws.begin(), raws.end());
  translated_.resize(raws_.size(), kNoName);
}

std::string NameTranslation::meaning(std::string_view raw) const {
  return clean(raw, form_).text;
}

NameId NameTranslation::translate_new(NameId id, Names& names) {
  return translated_[id] = names.intern(meaning(raws_[id]));
}

std::uint32_t LocalThreads::intern(std::string_view pid, std::string_view tid) {
  const std::uint64_t start = first_bytes(pid.data(), pid.size()) + 3 * first_bytes(tid.data(), tid.size());
  Recent& recent = recent_[(start * 0x9e3779b97f4a7c15U) >> 60];
  static_assert(kRecent == std::size_t{1} << (64 - 60));
  if (recent.id != kNoName && pid.size() == recent.pid_size && tid.size() == recent.tid_size &&
      are_equal(pid.data(), recent.pid.data(), pid.size()) &&
      are_equal(tid.data(), recent.tid.data(), tid.size()))
    return recent.id;
  std::string key(pid);
  key.push_back(kBetween);
  key.append(tid);
  const std::uint32_t id = keys_.intern(key);
  if (pid.size() + 8 <= recent.pid.size() && tid.size() + 8 <= recent.tid.size()) {
    recent.pid_size = pid.copy(recent.pid.data(), pid.size());
    recent.tid_size = tid.copy(recent.tid.data(), tid.size());
    recent.id = id;
  }
  return id;
}

void LocalThreads::take_new(std::vector<std::string_view>& out) {
  while (taken_ < keys_.size()) out.push_back(keys_[static_cast<NameId>(taken_++)]);
}

ThreadKey split_key(std::string_view key) {
  const std::size_t between = key.find(kBetween);
  return {key.substr(0, between), key.substr(between + 1)};
}

void Batch::add_problem(std::uint64_t offset, std::string what) {
  ++problems.count;
  if (problems.first.size() < Problems::kShown) problems.first.push_back({offset, std::move(what)});
}

void Batch::skip_event(std::uint64_t offset, std::string what) {
  add_problem(offset, std::move(what));
  ++problems.events_skipped;
}

void Batch::clear() {
  const auto empty = [](auto&... columns) { (columns.clear(), ...); };
  empty(events, gpu, ops, syncs, collectives, memory, flows, marks, name_events, uncategorized, precise_times,
        new_texts, new_json, new_threads, processes);
  rewritten.clear();
  seen = skipped_by_need = without_columns = 0;
  problems = {};
}

void append(Problems& problems, Problems&& later) {
  problems.count += later.count;
  problems.events_skipped += later.events_skipped;
  for (Problem& problem : later.first) {
    if (problems.first.size() < Problems::kShown) problems.first.push_back(std::move(problem));
  }
}

}  // namespace headroom::trace::readers
