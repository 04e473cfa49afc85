// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "headroom/trace/readers/batch.h"
#include "headroom/trace/readers/event_reader.h"
#include "headroom/trace/readers/event_rewriter.h"
#include "headroom/trace/readers/tolerant_scan.h"

namespace headroom::trace::readers {

/// Reads the elements of the list of events one by one, forgiving: what cannot be read is counted and
/// located, and reading goes on with the next event.
class EventList {
 public:
  /// `text` may be read up to 64 bytes past its end; its first byte is byte `offset` of the file. `tokens`
  /// are where its tokens start and its end, or empty where that is not known; where they turn out to mislead
  /// (quotes that are not escaped turn strings inside out) they are not believed. With `is_last` nothing
  /// comes after the text. With a rewriter the events go to it and not into columns.
  EventList(std::string_view text, std::uint64_t offset, bool is_last, std::span<const std::uint32_t> tokens,
            EventReader& reader, Batch& batch, EventRewriter* rewriter = nullptr)
      : text_(text),
        offset_(offset),
        is_last_(is_last),
        tokens_(tokens),
        reader_(reader),
        rewriter_(rewriter),
        batch_(batch) {}

  enum class End {
    kListEnd,  ///< at() is one past the ]
    kTextEnd,  ///< everything before at() is done, and nothing else was begun
    kOpen,     ///< an element starts at at(), and the text ends inside it
    kCutOff    ///< is_last: the text ends before the ]; an event that was begun is counted
  };
  /// From byte `at`, which is outside of any element, to the end of the list or of the text.
  End read(std::uint32_t at);
  std::uint32_t at() const { return at_; }

 private:
  bool read_event();
  bool read_by_tokens();
  Walk take(Walk walk, std::uint32_t at) {
    return rewriter_ != nullptr ? rewriter_->read(walk, offset_ + at, batch_)
                                : reader_.read(walk, offset_ + at, batch_);
  }
  bool scan_event();
  bool skip_other_element();
  bool recover(std::uint32_t from, std::uint32_t broken_at, const char* what);
  std::uint32_t list_end_between(std::uint32_t from, std::size_t to) const;

  std::string_view text_;
  std::uint64_t offset_;
  bool is_last_;
  std::span<const std::uint32_t> tokens_;
  EventReader& reader_;
  EventRewriter* rewriter_;
  Batch& batch_;
  Structurals structurals_;
  std::size_t token_ = 0;  ///< none before it starts at at_ or later
  std::uint32_t at_ = 0;
  bool after_event_ = false;
};

}  // namespace headroom::trace::readers
