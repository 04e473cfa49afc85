// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/local_names.h"

#include <utility>

#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/utf8.h"

namespace headroom::trace {

std::string LocalNames::meaning(std::string_view raw, bool& is_clean) const {
  if (form_ == Form::kText) {
    CleanText clean = clean_text(raw);
    is_clean = clean.is_clean;
    return std::move(clean.text);
  }
  std::string text;
  is_clean = append_valid_utf8(raw, text);
  return text;
}

NameId LocalNames::intern(std::string_view raw) {
  const NameId id = raw_.intern(raw);
  if (id == dirty_.size()) {
    bool is_clean = true;
    meaning(raw, is_clean);
    dirty_.push_back(!is_clean);
    any_dirty_ = any_dirty_ || !is_clean;
  }
  return id;
}

NameId LocalNames::translate(NameId id, Names& names) {
  if (id == kNoName) return kNoName;
  if (id >= translated_.size()) translated_.resize(raw_.size(), kNoName);
  if (translated_[id] == kNoName) {
    bool is_clean = true;
    translated_[id] = names.intern(meaning(raw_[id], is_clean));
  }
  return translated_[id];
}

}  // namespace headroom::trace
