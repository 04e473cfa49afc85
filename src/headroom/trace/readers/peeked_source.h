// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headroom/trace/readers/byte_source.h"

namespace headroom::trace::readers {

/// A source whose first bytes may be looked at before it is read from its start.
class PeekedSource : public ByteSource {
 public:
  PeekedSource(std::unique_ptr<ByteSource> source, std::size_t most);

  std::string_view first() const { return first_; }

  std::size_t read(char* into, std::size_t room) override;
  // Of the bytes that were looked at nobody knows where they stand in a packed file.
  std::uint64_t done() const override { return source_->done(); }
  std::uint64_t size() const override { return source_->size(); }
  std::string damage() const override { return source_->damage(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string first_;
  std::size_t given_ = 0;
};

}  // namespace headroom::trace::readers
