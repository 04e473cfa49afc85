// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/peeked_source.h"

namespace headroom::trace::readers {

PeekedSource::PeekedSource(std::unique_ptr<ByteSource> source, std::size_t most)
    : source_(std::move(source)), first_(most, '\0') {
  std::size_t got = 0;
  while (got < most) {
    const std::size_t count = source_->read(first_.data() + got, most - got);
    if (count == 0) break;
    got += count;
  }
  first_.resize(got);
}

std::size_t PeekedSource::read(char* into, std::size_t room) {
  if (given_ < first_.size()) {
    const std::size_t count = first_.copy(into, room, given_);
    given_ += count;
    return count;
  }
  return source_->read(into, room);
}

}  // namespace headroom::trace::readers
