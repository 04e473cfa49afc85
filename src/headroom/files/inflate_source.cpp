// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "headroom/files/byte_source.h"

#ifdef HEADROOM_ISAL
#include <isa-l/igzip_lib.h>
#endif

namespace headroom {
namespace {

enum class Form { kGzip, kDeflate };

struct Step {
  std::size_t taken = 0, given = 0;
  bool is_end = false;
  const char* damage = nullptr;  ///< zlib's message, or null
};

class Inflater {
 public:
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  virtual ~Inflater() = default;
  virtual void start_next_stream() = 0;
  virtual Step step(const char* packed, std::size_t size, char* into, std::size_t room) = 0;
};

unsigned clamp_to_32_bits(std::size_t size) {
  return static_cast<unsigned>(std::min<std::size_t>(size, std::numeric_limits<unsigned>::max()));
}

class ZlibInflater : public Inflater {
 public:
  explicit ZlibInflater(Form form) {
    constexpr int kGzipOnly = 16;
    const int bits = form == Form::kGzip ? MAX_WBITS + kGzipOnly : -MAX_WBITS;
    if (inflateInit2(&stream_, bits) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibInflater() override { inflateEnd(&stream_); }

  void start_next_stream() override { inflateReset(&stream_); }
  Step step(const char* packed, std::size_t size, char* into, std::size_t room) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed));
    stream_.avail_in = clamp_to_32_bits(size);
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = clamp_to_32_bits(room);
    const uInt before_in = stream_.avail_in, before_out = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    Step step{before_in - stream_.avail_in, before_out - stream_.avail_out, status == Z_STREAM_END, nullptr};
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      step.damage = stream_.msg != nullptr ? stream_.msg : "unknown form";
    return step;
  }

 private:
  z_stream stream_{};
};

#ifdef HEADROOM_ISAL

/// Half of zlib's time.
struct Isal {
  decltype(&isal_inflate_init) init = nullptr;
  decltype(&isal_inflate_reset) reset = nullptr;
  decltype(&isal_inflate) inflate = nullptr;
  bool is_there() const { return init != nullptr && reset != nullptr && inflate != nullptr; }
};

const Isal& isal() {
  static const Isal found = [] {
    Isal functions;
    void* const library = ::dlopen(HEADROOM_ISAL, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return functions;
    functions.init = reinterpret_cast<decltype(functions.init)>(::dlsym(library, "isal_inflate_init"));
    functions.reset = reinterpret_cast<decltype(functions.reset)>(::dlsym(library, "isal_inflate_reset"));
    functions.inflate = reinterpret_cast<decltype(functions.inflate)>(::dlsym(library, "isal_inflate"));
    return functions;
  }();
  return found;
}

const char* damage_text(int status) {
  switch (status) {
    case ISAL_INVALID_BLOCK:
      return "invalid block type";
    case ISAL_INVALID_SYMBOL:
      return "invalid code";
    case ISAL_INVALID_LOOKBACK:
      return "invalid distance too far back";
    case ISAL_INVALID_WRAPPER:
      return "incorrect header check";
    case ISAL_UNSUPPORTED_METHOD:
      return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
      return "incorrect data check";
    default:
      return "unknown form";
  }
}

class IsalInflater : public Inflater {
 public:
  explicit IsalInflater(Form form)
      : state_(std::make_unique<inflate_state>()), flag_(form == Form::kGzip ? ISAL_GZIP : ISAL_DEFLATE) {
    isal().init(state_.get());
    state_->crc_flag = flag_;
  }

  void start_next_stream() override {
    isal().reset(state_.get());  // NOLINT(clang-analyzer-core.CallAndMessage): made only if it is loaded
    state_->crc_flag = flag_;
  }

  Step step(const char* packed, std::size_t size, char* into, std::size_t room) override {
    state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed));
    state_->avail_in = clamp_to_32_bits(size);
    state_->next_out = reinterpret_cast<std::uint8_t*>(into);
    state_->avail_out = clamp_to_32_bits(room);
    const std::uint32_t before_in = state_->avail_in, before_out = state_->avail_out;
    const int status = isal().inflate(state_.get());
    Step step{before_in - state_->avail_in, before_out - state_->avail_out,
              state_->block_state == ISAL_BLOCK_FINISH, nullptr};
    if (status < 0 || status == ISAL_NEED_DICT) step.damage = damage_text(status);
    return step;
  }

 private:
  std::unique_ptr<inflate_state> state_;  // 80 KB
  std::uint32_t flag_;
};

#endif

std::unique_ptr<Inflater> inflater_for(Form form, Unpacking by) {
#ifdef HEADROOM_ISAL
  if (by == Unpacking::kFastest && isal().is_there()) return std::make_unique<IsalInflater>(form);
#endif
  static_cast<void>(by);
  return std::make_unique<ZlibInflater>(form);
}

class InflateSource : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> packed, Form form, Unpacking by)
      : packed_(std::move(packed)), form_(form), block_(kBlock), inflater_(inflater_for(form, by)) {}

  std::size_t read(char* into, std::size_t room) override;
  std::uint64_t done() const override { return packed_->done(); }
  std::uint64_t size() const override { return packed_->size(); }
  std::string damage() const override { return damage_; }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 18;

  bool refill() {
    if (left_ > 0) return true;
    at_ = 0;
    left_ = packed_->read(block_.data(), block_.size());
    return left_ > 0;
  }
  bool start_next_stream();
  std::size_t unpack(char* into, std::size_t room);

  std::unique_ptr<ByteSource> packed_;
  Form form_;
  std::vector<char> block_;
  std::size_t at_ = 0, left_ = 0;
  std::unique_ptr<Inflater> inflater_;
  bool in_stream_ = false, ended_ = false;
  std::uint64_t streams_ = 0;
  std::string damage_;
};

/// False at the end, at padding with zeros, or at damage.
bool InflateSource::start_next_stream() {
  if (streams_ > 0) {
    if (form_ == Form::kDeflate || !refill() || block_[at_] == 0) return false;
    if (block_[at_] != 0x1f) {
      damage_ = "its compressed data are damaged (other bytes follow)";
      return false;
    }
    inflater_->start_next_stream();
  }
  ++streams_;
  return in_stream_ = true;
}

/// Sets `ended_` at the end or at damage.
std::size_t InflateSource::unpack(char* into, std::size_t room) {
  const bool has_more = refill();
  const Step step = inflater_->step(block_.data() + at_, left_, into, room);
  at_ += step.taken;
  left_ -= step.taken;
  if (step.damage != nullptr) {
    damage_ = fmt::format("its compressed data are damaged ({})", step.damage);
    ended_ = true;
  } else if (step.is_end) {
    in_stream_ = false;
  } else if (step.given == 0 && step.taken == 0) {
    damage_ = has_more ? "its compressed data are damaged (unknown form)"
                       : "its compressed data end too early; the file is truncated";
    ended_ = true;
  }
  return step.given;
}

std::size_t InflateSource::read(char* into, std::size_t room) {
  std::size_t given = 0;
  while (!ended_ && given < room) {
    if (!in_stream_ && !start_next_stream()) {
      ended_ = true;
    } else {
      given += unpack(into + given, room - given);
    }
  }
  return given;
}

}  // namespace

std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed, Unpacking by) {
  return std::make_unique<InflateSource>(std::move(packed), Form::kGzip, by);
}

std::unique_ptr<ByteSource> unpack_deflate(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<InflateSource>(std::move(packed), Form::kDeflate, Unpacking::kFastest);
}

}  // namespace headroom
