// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/local_names.h"

#include <string>
#include <utility>

#include "headroom/base/utf8.h"
#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/quick_compare.h"

namespace headroom::trace::readers {
namespace {

CleanText meaning(std::string_view raw, LocalNames::Form form) {
  if (form == LocalNames::Form::kText) return clean_text(raw);
  CleanText json;
  json.is_clean = append_valid_utf8(raw, json.text);
  return json;
}

}  // namespace

/// Of the size and both ends: names of kernels are long, and differ there.
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
    // Compared with memcmp: the table's own texts have nothing behind them.
    if (text == raw) return recent;
  }
  return recent = intern_slowly(raw);
}

NameId LocalNames::intern_slowly(std::string_view raw) {
  const NameId id = raw_.intern(raw);
  if (id == dirty_.size()) {
    dirty_.push_back(!meaning(raw, form_).is_clean);
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

NameId NameTranslation::translate_new(NameId id, Names& names) {
  return translated_[id] = names.intern(meaning(raws_[id], form_).text);
}

}  // namespace headroom::trace::readers
