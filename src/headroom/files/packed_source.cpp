// SPDX-License-Identifier: Apache-2.0
// Zip format: PKWARE APPNOTE.TXT, sections 4.3 and 4.5 (64 bits).

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/files/byte_source.h"

namespace headroom {
namespace {

class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), block_(ZSTD_DStreamInSize()), input_{block_.data(), 0, 0} {
    if (!stream_) throw std::bad_alloc();
  }

  std::size_t read(char* into, std::size_t room) override;
  std::uint64_t done() const override { return packed_->done(); }
  std::uint64_t size() const override { return packed_->size(); }
  std::string damage() const override { return damage_; }

 private:
  struct FreeStream {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> block_;
  ZSTD_inBuffer input_;
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_{ZSTD_createDStream()};
  bool frame_done_ = false, ended_ = false;
  std::string damage_;
};

std::size_t ZstdSource::read(char* into, std::size_t room) {
  ZSTD_outBuffer output{into, room, 0};
  while (!ended_ && output.pos < output.size) {
    if (input_.pos == input_.size) {
      input_.size = packed_->read(block_.data(), block_.size());
      input_.pos = 0;
    }
    const bool at_end = input_.size == 0;
    if (at_end && frame_done_) {
      ended_ = true;
      break;
    }
    const std::size_t before = output.pos;
    const std::size_t status = ZSTD_decompressStream(stream_.get(), &output, &input_);
    if (ZSTD_isError(status) != 0) {
      damage_ = fmt::format("its zstd data are damaged ({})", ZSTD_getErrorName(status));
      ended_ = true;
    } else if (at_end && output.pos == before) {
      damage_ = "its zstd data end too early; the file is truncated";
      ended_ = true;
    }
    frame_done_ = status == 0;
  }
  return output.pos;
}

constexpr std::string_view kEndRecord = "PK\5\6", kEndLocator64 = "PK\6\7", kEndRecord64 = "PK\6\6";
constexpr std::string_view kEntry = "PK\1\2", kLocalHeader = "PK\3\4";
constexpr std::uint64_t kNot32 = 0xffffffffU;

/// Little-endian; 0 if the text is too short.
std::uint64_t number(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  if (at > text.size() || text.size() - at < bytes) return 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(text[at + i]);
  return value;
}

struct Member {
  std::string name;
  std::uint64_t method = 0, packed_size = 0, header = 0;
  std::uint32_t checksum = 0;
};

class CheckedSource : public ByteSource {
 public:
  CheckedSource(std::unique_ptr<ByteSource> text, std::uint32_t expected)
      : text_(std::move(text)), expected_(expected) {}

  std::size_t read(char* into, std::size_t room) override {
    const std::size_t count = text_->read(into, room);
    found_ = static_cast<std::uint32_t>(::crc32_z(found_, reinterpret_cast<const Bytef*>(into), count));
    is_over_ = count == 0;
    return count;
  }
  std::uint64_t done() const override { return text_->done(); }
  std::uint64_t size() const override { return text_->size(); }
  std::string damage() const override {
    if (const std::string own = text_->damage(); !own.empty()) return own;
    return is_over_ && found_ != expected_ ? "its zip data are damaged (checksum)" : "";
  }

 private:
  std::unique_ptr<ByteSource> text_;
  std::uint32_t expected_, found_ = 0;
  bool is_over_ = false;
};

class Archive {
 public:
  explicit Archive(const std::filesystem::path& path)
      : path_(path), file_(std::make_unique<FileSource>(path)) {}

  std::unique_ptr<ByteSource> open_first_json() {
    if (file_->is_pipe()) fail("a zip file cannot be read from a pipe; unpack it, or give the file");
    const std::vector<Member> members = list();
    auto chosen = std::ranges::find_if(members, [](const Member& m) { return m.name.ends_with(".json"); });
    if (chosen == members.end()) {
      chosen = std::ranges::find_if(members, [](const Member& m) { return !m.name.ends_with('/'); });
    }
    if (chosen == members.end()) fail("the zip file is empty");
    return open(*chosen);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(fmt::format("cannot read {}: {}", quote(path_.string()), why));
  }

  std::string read(std::uint64_t offset, std::uint64_t length) {
    std::string text;
    if (offset >= file_->size()) return text;
    text.resize(static_cast<std::size_t>(std::min(length, file_->size() - offset)));
    file_->restrict_to(offset, text.size());
    text.resize(file_->read(text.data(), text.size()));
    return text;
  }

  /// Prefers a record whose comment ends with the file: comments may contain fake records.
  static std::size_t find_end(std::string_view tail) {
    std::size_t end = tail.rfind(kEndRecord);
    while (end != tail.npos && end + 22 + number(tail, end + 20, 2) != tail.size())
      end = end == 0 ? tail.npos : tail.rfind(kEndRecord, end - 1);
    return end != tail.npos ? end : tail.rfind(kEndRecord);
  }

  std::vector<Member> list() {
    constexpr std::uint64_t kLongestEnd = 22 + 65535;  // record and comment
    const std::uint64_t tail_at = file_->size() > kLongestEnd ? file_->size() - kLongestEnd : 0;
    const std::string tail = read(tail_at, kLongestEnd);
    const std::size_t end = find_end(tail);
    if (end == tail.npos) fail("the zip file has no directory at its end; it is truncated");
    std::uint64_t size = number(tail, end + 12, 4), offset = number(tail, end + 16, 4);
    if ((size == kNot32 || offset == kNot32) && end >= 20 && tail.substr(end - 20, 4) == kEndLocator64) {
      const std::string record = read(number(tail, end - 20 + 8, 8), 56);
      if (record.starts_with(kEndRecord64)) {
        size = number(record, 40, 8);
        offset = number(record, 48, 8);
      }
    }
    constexpr std::uint64_t kMostDirectory = 64U << 20;
    const std::string directory = read(offset, std::min(size, kMostDirectory));
    std::vector<Member> members;
    for (std::size_t at = 0; directory.compare(at, 4, kEntry) == 0;) {
      const std::size_t name = number(directory, at + 28, 2), extra = number(directory, at + 30, 2);
      members.push_back(member(directory, at, name, extra));
      at = std::min(at + 46 + name + extra + number(directory, at + 32, 2), directory.size());
    }
    return members;
  }

  static Member member(std::string_view directory, std::size_t at, std::size_t name, std::size_t extra) {
    Member found;
    found.method = number(directory, at + 10, 2);
    found.checksum = static_cast<std::uint32_t>(number(directory, at + 16, 4));
    found.packed_size = number(directory, at + 20, 4);
    found.header = number(directory, at + 42, 4);
    if (at + 46 + name > directory.size()) return found;
    found.name = directory.substr(at + 46, name);
    const std::string_view fields = directory.substr(at + 46 + name, extra);
    for (std::size_t field = 0; field + 4 <= fields.size(); field += 4 + number(fields, field + 2, 2)) {
      if (number(fields, field, 2) != 1) continue;
      std::size_t value = field + 4;  // values beyond 32 bits, in this order
      if (number(directory, at + 24, 4) == kNot32) value += 8;
      if (found.packed_size == kNot32) {
        found.packed_size = number(fields, value, 8);
        value += 8;
      }
      if (found.header == kNot32) found.header = number(fields, value, 8);
    }
    return found;
  }

  std::unique_ptr<ByteSource> open(const Member& member) {
    const std::string header = read(member.header, 30);
    if (!header.starts_with(kLocalHeader))
      fail("the zip file is damaged: a member is not where its directory says");
    if ((number(header, 6, 2) & 1U) != 0) fail("the zip file is encrypted; unpack it first");
    const std::uint64_t data = member.header + 30 + number(header, 26, 2) + number(header, 28, 2);
    file_->restrict_to(data, member.packed_size);
    constexpr std::uint64_t kStored = 0, kDeflated = 8;
    if (member.method == kStored) return std::make_unique<CheckedSource>(std::move(file_), member.checksum);
    if (member.method == kDeflated)
      return std::make_unique<CheckedSource>(unpack_deflate(std::move(file_)), member.checksum);
    fail(fmt::format("its member {} uses compression method {}; unpack it first", quote(member.name),
                     member.method));
  }

  std::filesystem::path path_;
  std::unique_ptr<FileSource> file_;
};

}  // namespace

std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<ZstdSource>(std::move(packed));
}

std::unique_ptr<ByteSource> open_zip_member(const std::filesystem::path& path) {
  return Archive(path).open_first_json();
}

}  // namespace headroom
