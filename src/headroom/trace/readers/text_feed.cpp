// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/text_feed.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headroom/trace/readers/event_boundary.h"

namespace headroom::trace::readers {
namespace {

void append_to(PaddedText& text, std::string_view more) {
  std::memcpy(text.room_for(more.size()), more.data(), more.size());
  text.added(more.size());
}

}  // namespace

void TextFeed::make_front_free() {
  if (start_ == 0) return;
  PaddedText rest;
  append_to(rest, text());
  pending_ = std::move(rest);
  start_ = 0;
}

bool TextFeed::grow() {
  if (ended_) return false;
  make_front_free();
  return read_more(std::max(window_bytes_, pending_.size())) > 0;
}

std::size_t TextFeed::read_more(std::size_t wanted) {
  char* const room = pending_.room_for(wanted);
  const std::size_t count = source_.read(room, wanted);
  if (syntax_ != nullptr) syntax_->take({room, count});
  pending_.added(count);
  ended_ = count == 0;
  return count;
}

void TextFeed::consume(std::size_t count) {
  start_ += count;
  offset_ += count;
}

int TextFeed::peek() {
  do {
    const std::size_t space = std::min(text().find_first_not_of(" \n\r\t"), text().size());
    consume(space);
    if (!text().empty()) return static_cast<unsigned char>(text().front());
  } while (grow());
  return kEnd;
}

Scan TextFeed::scan_whole(std::size_t most) {
  Structurals structurals;
  for (;;) {
    structurals.clear();
    const Scan scan = scan_value(text(), 0, structurals);
    // A number may go on in what has not been read yet.
    const bool may_go_on = scan.end == Scan::End::kOpen || scan.at == text().size();
    if (!may_go_on || text().size() > most || !grow()) return scan;
  }
}

Window TextFeed::take_window(PaddedText room) {
  make_front_free();
  std::size_t end = kNoBoundary;
  for (std::size_t wanted = window_bytes_; end == kNoBoundary; wanted *= 2) {
    while (!ended_ && pending_.size() < wanted) read_more(wanted - pending_.size());
    end = ended_ ? pending_.size() : last_boundary(pending_.view());
  }
  Window window{std::move(pending_), offset_, ended_};
  pending_ = std::move(room);
  pending_.shorten(0);
  append_to(pending_, window.text.view().substr(end));
  window.text.shorten(end);
  offset_ += end;
  return window;
}

void TextFeed::put_back(const std::vector<Window>& windows, std::size_t from) {
  if (windows.empty()) return;
  offset_ = windows.front().offset + from;
  PaddedText all;
  for (const Window& window : windows) {
    append_to(all, window.text.view().substr(from));
    from = 0;
  }
  append_to(all, text());
  pending_ = std::move(all);
  start_ = 0;
}

}  // namespace headroom::trace::readers
