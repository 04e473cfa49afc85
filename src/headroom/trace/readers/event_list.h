// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "headroom/trace/readers/batch.h"
#include "headroom/trace/readers/event_reader.h"
#include "headroom/trace/readers/tolerant_scan.h"

namespace headroom::trace {

/// Reads the elements of the list of events one by one, forgiving: what cannot be read is counted and
/// located, and reading goes on with the next event.
class TolerantEventList {
 public:
  /// `text` may be read up to 64 bytes past its end; its first byte is byte `offset` of the file. With
  /// `is_last` nothing comes after it.
  TolerantEventList(std::string_view text, std::uint64_t offset, bool is_last, EventReader& reader,
                    Batch& batch)
      : text_(text), offset_(offset), is_last_(is_last), reader_(reader), batch_(batch) {}

  enum class End {
    kListEnd,  ///< at() is one past the ]
    kTextEnd,  ///< everything before at() is done; an event may have started there
    kCutOff    ///< is_last: the text ends inside an event, which is counted, or before the ]
  };
  /// From byte `at`, which is outside of any element, to the end of the list or of the text.
  End read(std::uint32_t at);
  std::uint32_t at() const { return at_; }

 private:
  bool read_element();
  bool skip_other_element();
  bool recover(std::uint32_t from, std::uint32_t broken_at, const char* what);
  std::uint32_t list_end_after(std::uint32_t from) const;

  std::string_view text_;
  std::uint64_t offset_;
  bool is_last_;
  EventReader& reader_;
  Batch& batch_;
  Structurals structurals_;
  std::uint32_t at_ = 0;
  End end_ = End::kTextEnd;
  bool after_element_ = false;
};

}  // namespace headroom::trace
