// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "headroom/trace/readers/byte_source.h"

namespace headroom::trace::readers {
namespace {

/// Bytes that were read ahead of a source, and then the source.
class PrefixedSource : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}
  std::size_t read(char* into, std::size_t room) override {
    const std::size_t count = prefix_.copy(into, room, given_);
    given_ += count;
    return count == room ? count : count + rest_->read(into + count, room - count);
  }
  std::uint64_t done() const override { return rest_->done() - (prefix_.size() - given_); }
  std::uint64_t size() const override { return rest_->size(); }
  std::string damage() const override { return rest_->damage(); }

 private:
  std::string prefix_;
  std::size_t given_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

std::unique_ptr<ByteSource> open_json(const std::filesystem::path& path) {
  std::unique_ptr<ByteSource> file = open_file(path);
  std::string first(4, '\0');
  std::size_t got = 0;
  while (got < first.size()) {
    const std::size_t count = file->read(first.data() + got, first.size() - got);
    if (count == 0) break;
    got += count;
  }
  first.resize(got);
  if (first == "PK\3\4" || first == "PK\5\6") return open_zip_member(path);
  const bool is_gzip = first.starts_with("\x1f\x8b"), is_zstd = first == "\x28\xb5\x2f\xfd";
  auto whole = std::make_unique<PrefixedSource>(std::move(first), std::move(file));
  if (is_gzip) return unpack_gzip(std::move(whole));
  if (is_zstd) return unpack_zstd(std::move(whole));
  return whole;
}

}  // namespace headroom::trace::readers
