// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::size_t kMostDimensions = 4;

/// Kinds of values in the metadata, as the format numbers them.
enum class Kind : std::uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

/// Bytes of a value of a fixed size; 0 for strings and arrays. The kind is one of the list.
std::size_t bytes_of_kind(Kind kind) {
  constexpr std::size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes[static_cast<std::size_t>(kind)];
}

/// Numbers of ggml for the types that are read (ggml.h).
std::optional<StoredType> type_of(std::uint32_t number) {
  switch (number) {
    case 0:
      return StoredType::kF32;
    case 1:
      return StoredType::kF16;
    case 2:
      return StoredType::kQ4Block;
    case 8:
      return StoredType::kQ8Block;
    case 12:
      return StoredType::kQ4Super;
    case 13:
      return StoredType::kQ5Super;
    case 14:
      return StoredType::kQ6Super;
    case 30:
      return StoredType::kBf16;
    default:
      return std::nullopt;
  }
}

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  StoredModel read() {
    read_version();
    const auto tensors = take<std::uint64_t>("the number of tensors");
    const auto entries = take<std::uint64_t>("the number of metadata entries");
    // The least that each takes in the file: what claims more of them than could be is refused here.
    require_count(entries, 8 + 4 + 1, "metadata entries");
    for (std::uint64_t i = 0; i < entries; ++i) read_entry();
    require_count(tensors, 8 + 4 + 8 + 4 + 8, "tensors");
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(source_ + ": " + what); }
  [[noreturn]] void fail_cut(const std::string& what) const {
    fail(
        fmt::format("the file is cut: it ends after {} bytes, within {} that begins at byte {}; copy or "
                    "download it again",
                    bytes_.size(), what, at_));
  }

  template <typename T>
  T take(const std::string& what) {
    if (bytes_.size() - at_ < sizeof(T)) fail_cut(what);
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string take_string(const std::string& what) {
    const auto size = take<std::uint64_t>("the length of " + what);
    if (size > bytes_.size() - at_) fail_cut(what);
    std::string text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return text;
  }

  void require_count(std::uint64_t count, std::size_t least_bytes, const char* what) const {
    if (count <= (bytes_.size() - at_) / least_bytes) return;
    fail(fmt::format("it says that it has {} {}, for which its {} bytes have no room: it is cut or damaged",
                     count, what, bytes_.size()));
  }

  void read_version() {
    if (!is_gguf(bytes_)) fail("this is no GGUF file: it does not begin with the bytes 'GGUF'");
    at_ = kMagic.size();
    const auto version = take<std::uint32_t>("the version");
    if (version == 2 || version == 3) return;
    if (std::uint32_t swapped = __builtin_bswap32(version); swapped == 2 || swapped == 3)
      fail("the file is big-endian GGUF; only little-endian files are read");
    fail(fmt::format("GGUF version {} is not read, 2 and 3 are: convert the model again", version));
  }

  Kind take_kind(const std::string& what) {
    const std::size_t start = at_;
    const auto number = take<std::uint32_t>("the kind of " + what);
    if (number > static_cast<std::uint32_t>(Kind::kFloat64))
      fail(fmt::format("{} is of the unknown kind {} at byte {}", what, number, start));
    return static_cast<Kind>(number);
  }

  void read_entry() {
    const std::string key = take_string("a metadata key");
    const std::string what = "the metadata entry " + in_quotes(key);
    ModelValue value = take_value(take_kind(what), what);
    if (!model_.metadata.emplace(key, std::move(value)).second) fail(what + " is there twice");
  }

  ModelValue take_value(Kind kind, const std::string& what) {
    switch (kind) {
      case Kind::kUint8:
        return std::uint64_t{take<std::uint8_t>(what)};
      case Kind::kInt8:
        return std::int64_t{take<std::int8_t>(what)};
      case Kind::kUint16:
        return std::uint64_t{take<std::uint16_t>(what)};
      case Kind::kInt16:
        return std::int64_t{take<std::int16_t>(what)};
      case Kind::kUint32:
        return std::uint64_t{take<std::uint32_t>(what)};
      case Kind::kInt32:
        return std::int64_t{take<std::int32_t>(what)};
      case Kind::kFloat32:
        return double{take<float>(what)};
      case Kind::kBool:
        return take<std::uint8_t>(what) != 0;
      case Kind::kString:
        return take_string(what);
      case Kind::kArray:
        return pass_array(what);
      case Kind::kUint64:
        return take<std::uint64_t>(what);
      case Kind::kInt64:
        return take<std::int64_t>(what);
      case Kind::kFloat64:
        return take<double>(what);
    }
    return false;
  }

  ModelArray pass_array(const std::string& what) {
    const Kind kind = take_kind(what);
    if (kind == Kind::kArray) fail(what + " is an array of arrays, which is not read");
    const auto count = take<std::uint64_t>("the length of " + what);
    if (kind == Kind::kString) {
      require_count(count, 8, ("elements in " + what).c_str());
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto size = take<std::uint64_t>(what);
        if (size > bytes_.size() - at_) fail_cut(what);
        at_ += size;
      }
      return {count};
    }
    if (count > (bytes_.size() - at_) / bytes_of_kind(kind)) fail_cut(what);
    at_ += count * bytes_of_kind(kind);
    return {count};
  }

  void read_tensor() {
    StoredTensor tensor;
    tensor.name = take_string("the name of a tensor");
    const std::string what = "tensor " + in_quotes(tensor.name);
    const auto dimensions = take<std::uint32_t>("the shape of " + what);
    if (dimensions == 0 || dimensions > kMostDimensions)
      fail(fmt::format("{} has {} dimensions at byte {}; 1 to {} can be", what, dimensions, at_ - 4,
                       kMostDimensions));
    for (std::uint32_t i = 0; i < dimensions; ++i)
      tensor.shape.push_back(take<std::uint64_t>("the shape of " + what));
    std::ranges::reverse(tensor.shape);  // the file has the columns first
    const auto number = take<std::uint32_t>("the type of " + what);
    const auto type = type_of(number);
    if (!type) {
      fail(
          fmt::format("{} (described at byte {}) has numbers of ggml's type {}, which is not read; F32, F16, "
                      "BF16, Q8_0, Q4_0, Q4_K, Q5_K and Q6_K are: quantise the model as one of these",
                      what, at_ - 4, number));
    }
    tensor.type = *type;
    tensor.offset = take<std::uint64_t>("the place of " + what);
    order_.push_back(tensor.name);
    if (!model_.tensors.emplace(tensor.name, std::move(tensor)).second) fail(what + " is there twice");
  }

  std::size_t alignment() const {
    const auto found = model_.metadata.find("general.alignment");
    if (found == model_.metadata.end()) return 32;
    const auto* value = std::get_if<std::uint64_t>(&found->second);
    if (value == nullptr || !std::has_single_bit(*value) || *value > (1U << 20U))
      fail("general.alignment is no power of two up to 1 MiB");
    return *value;
  }

  void place_tensors() {
    const std::size_t unit = alignment();
    const std::size_t start = (at_ + unit - 1) / unit * unit;
    for (const std::string& name : order_) {
      StoredTensor& tensor = model_.tensors.at(name);
      const auto size = stored_bytes(tensor.type, tensor.shape);
      const std::size_t offset = tensor.offset;
      const std::string what = fmt::format("tensor {} [{}] of {}", in_quotes(name),
                                           fmt::join(tensor.shape, ","), name_of(tensor.type));
      if (!size) {
        fail(fmt::format(
            "{} cannot be: a size is 0, a row is no whole number of blocks of {}, or it is larger "
            "than any file",
            what, block_size(tensor.type)));
      }
      if (offset % unit != 0)
        fail(fmt::format("{} lies at offset {}, no multiple of the alignment {}", what, offset, unit));
      const std::size_t room = start > bytes_.size() ? 0 : bytes_.size() - start;
      if (offset > room || *size > room - offset) {
        fail(
            fmt::format("{} takes {} bytes from byte {} + {} on, and the file ends at byte {}: it is cut or "
                        "damaged",
                        what, *size, start, offset, bytes_.size()));
      }
      tensor.offset = start + offset;
      tensor.bytes = bytes_.subspan(tensor.offset, *size);
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& source_;
  std::size_t at_ = 0;
  StoredModel model_;
  std::vector<std::string> order_;
};

}  // namespace

bool is_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

StoredModel parse_gguf(std::span<const std::byte> bytes, const std::string& source) {
  return GgufReader(bytes, source).read();
}

}  // namespace headroom
