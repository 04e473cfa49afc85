// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/stored_model.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/experiment/bf16.h"

namespace headroom {
namespace {

std::string reason() {
  return std::strerror(errno);
}

constexpr std::size_t kBlock = 32, kSuper = 256;

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
float half_at(const std::byte* from) {
  return float_of_half(load<std::uint16_t>(from));
}
unsigned byte_at(const std::byte* from, std::size_t index) {
  return std::to_integer<unsigned>(from[index]);
}

void read_q8(const std::byte* block, float* values) {
  const float scale = half_at(block);
  for (std::size_t i = 0; i < kBlock; ++i)
    values[i] = scale * static_cast<float>(load<std::int8_t>(block + 2 + i));
}

/// The low halves of the bytes are the first sixteen numbers, the high halves the others; optional fifth bits
/// in four bytes before, and an optional minimum instead of the zero point (dequantize_row_q4_0 to _q5_1).
template <bool kHasFifths, bool kHasMinimum>
void read_block(const std::byte* block, float* values) {
  const float scale = half_at(block), least = kHasMinimum ? half_at(block + 2) : 0;
  const std::byte* bits = block + (kHasMinimum ? 4 : 2);
  std::uint32_t fifths = 0;
  if (kHasFifths) {
    fifths = load<std::uint32_t>(bits);
    bits += sizeof fifths;
  }
  const int zero = kHasMinimum ? 0 : kHasFifths ? 16 : 8;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const unsigned two = byte_at(bits, i % (kBlock / 2));
    const unsigned four = i < kBlock / 2 ? two & 15U : two >> 4U;
    const auto q = static_cast<int>(four | ((fifths >> i) & 1U) << 4U) - zero;
    values[i] = static_cast<float>(q) * scale;
    if (kHasMinimum) values[i] += least;
  }
}

/// Eight pairs of 6 bits in 12 bytes (get_scale_min_k4 of ggml-quants.c).
std::array<unsigned, 2> scale_and_minimum(const std::byte* packed, std::size_t index) {
  if (index < 4) return {byte_at(packed, index) & 63U, byte_at(packed, index + 4) & 63U};
  const unsigned low = byte_at(packed, index + 4);
  return {(low & 15U) | (byte_at(packed, index - 4) >> 6U << 4U),
          (low >> 4U) | (byte_at(packed, index) >> 6U << 4U)};
}

/// Eight parts of 32, each with a scale and a minimum; 32 bytes with the fifth bits of all parts (Q5_K); the
/// halves (dequantize_row_q4_K, dequantize_row_q5_K).
template <bool kHasFifths>
void read_super(const std::byte* block, float* values) {
  const float scale = half_at(block), least = half_at(block + 2);
  const std::byte *fifths = block + 16, *bits = block + (kHasFifths ? 48 : 16);
  for (std::size_t part = 0; part < 8; ++part) {
    const auto [factor, minimum] = scale_and_minimum(block + 4, part);
    const float d = scale * static_cast<float>(factor), m = least * static_cast<float>(minimum);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const unsigned two = byte_at(bits, part / 2 * kBlock + i);
      const unsigned four = part % 2 == 0 ? two & 15U : two >> 4U;
      const unsigned fifth = kHasFifths ? (byte_at(fifths, i) >> part) & 1U : 0;
      values[part * kBlock + i] = d * static_cast<float>(four | fifth << 4U) - m;
    }
  }
}

/// 128 low halves, 64 pairs of high bits, 16 scales, one scale of all (dequantize_row_q6_K).
void read_q6_super(const std::byte* block, float* values) {
  const float scale = half_at(block + 208);
  for (std::size_t half = 0; half < 2; ++half) {
    const std::byte *low = block + 64 * half, *high = block + 128 + 32 * half,
                    *scales = block + 192 + 8 * half;
    for (std::size_t i = 0; i < 128; ++i) {
      const std::size_t quarter = i / 32, at = i % 32;
      const unsigned two = byte_at(low, at + quarter % 2 * 32);
      const unsigned four = quarter < 2 ? two & 15U : two >> 4U;
      const unsigned upper = (byte_at(high, at) >> (2 * quarter)) & 3U;
      const auto q = static_cast<int>(four | (upper << 4U)) - 32;
      const auto factor = static_cast<float>(load<std::int8_t>(scales + at / 16 + 2 * quarter));
      values[128 * half + i] = scale * factor * static_cast<float>(q);
    }
  }
}

void read_f32(const std::byte* from, float* value) {
  *value = load<float>(from);
}
void read_f16(const std::byte* from, float* value) {
  *value = half_at(from);
}
void read_bf16(const std::byte* from, float* value) {
  *value = to_float(load<Bf16>(from));
}

template <auto kRead, std::size_t kSize, std::size_t kBytes>
void read_all(const std::byte* blocks, std::span<float> values) {
  for (std::size_t at = 0; at + kSize <= values.size(); at += kSize, blocks += kBytes)
    kRead(blocks, values.data() + at);
}

struct TypeLine {
  StoredType type;
  std::uint32_t number;  ///< of ggml.h
  const char* name;
  std::size_t size, bytes;
  void (*read)(const std::byte* blocks, std::span<float> values);
};
template <auto kRead, std::size_t kSize, std::size_t kBytes>
constexpr TypeLine line(StoredType type, std::uint32_t number, const char* name) {
  return {type, number, name, kSize, kBytes, read_all<kRead, kSize, kBytes>};
}
/// In the order of StoredType.
constexpr std::array<TypeLine, 11> kTypes{
    {line<read_f32, 1, 4>(StoredType::kF32, 0, "F32"), line<read_f16, 1, 2>(StoredType::kF16, 1, "F16"),
     line<read_bf16, 1, 2>(StoredType::kBf16, 30, "BF16"),
     line<read_q8, kBlock, 34>(StoredType::kQ8Block, 8, "Q8_0"),
     line<read_block<false, false>, kBlock, 18>(StoredType::kQ4Block, 2, "Q4_0"),
     line<read_block<false, true>, kBlock, 20>(StoredType::kQ4Least, 3, "Q4_1"),
     line<read_block<true, false>, kBlock, 22>(StoredType::kQ5Block, 6, "Q5_0"),
     line<read_block<true, true>, kBlock, 24>(StoredType::kQ5Least, 7, "Q5_1"),
     line<read_super<false>, kSuper, 144>(StoredType::kQ4Super, 12, "Q4_K"),
     line<read_super<true>, kSuper, 176>(StoredType::kQ5Super, 13, "Q5_K"),
     line<read_q6_super, kSuper, 210>(StoredType::kQ6Super, 14, "Q6_K")}};

const TypeLine& line_of(StoredType type) {
  return kTypes.at(static_cast<std::size_t>(type));
}

constexpr std::string_view kMagic = "GGUF";
constexpr std::size_t kMaxDimensions = 4;

/// Numbered as in the format.
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

std::size_t bytes_of_kind(Kind kind) {
  constexpr std::size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes[static_cast<std::size_t>(kind)];
}

std::string unsupported_type_name(std::uint32_t number) {
  constexpr std::array<std::pair<std::uint32_t, const char*>, 23> kNames{
      {{9, "Q8_1"},     {10, "Q2_K"},  {11, "Q3_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
       {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"},
       {24, "I8"},      {25, "I16"},   {26, "I32"},    {27, "I64"},   {28, "F64"},     {29, "IQ1_M"},
       {34, "TQ1_0"},   {35, "TQ2_0"}, {39, "MXFP4"},  {4, "Q4_2"},   {5, "Q4_3"}}};
  const auto* found = std::ranges::find(kNames, number, &std::pair<std::uint32_t, const char*>::first);
  if (found == kNames.end()) return fmt::format("ggml's type {}", number);
  return fmt::format("{}, ggml's type {}", found->second, number);
}

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  StoredModel read() {
    read_version();
    const auto tensors = take<std::uint64_t>("the number of tensors");
    const auto entries = take<std::uint64_t>("the number of metadata entries");
    // Least bytes per entry, to reject impossible counts before reading.
    require_count(entries, 8 + 4 + 1, "metadata entries");
    for (std::uint64_t i = 0; i < entries; ++i) read_entry();
    require_count(tensors, 8 + 4 + 8 + 4 + 8, "tensors");
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(source_ + ": " + what); }
  [[noreturn]] void fail_truncated(const std::string& what) const {
    fail(
        fmt::format("the file is truncated: it ends after {} bytes, within {} that begins at byte {}; copy "
                    "or download it again",
                    bytes_.size(), what, at_));
  }

  template <typename T>
  T take(const std::string& what) {
    if (bytes_.size() - at_ < sizeof(T)) fail_truncated(what);
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string take_string(const std::string& what) {
    const auto size = take<std::uint64_t>("the length of " + what);
    if (size > bytes_.size() - at_) fail_truncated(what);
    std::string text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return text;
  }

  void require_count(std::uint64_t count, std::size_t least_bytes, const char* what) const {
    if (count <= (bytes_.size() - at_) / least_bytes) return;
    fail(fmt::format("it declares {} {}, which do not fit in its {} bytes: it is truncated or damaged", count,
                     what, bytes_.size()));
  }

  void read_version() {
    if (!is_gguf(bytes_)) fail("this is not a GGUF file: it does not begin with the bytes 'GGUF'");
    at_ = kMagic.size();
    const auto version = take<std::uint32_t>("the version");
    if (version == 2 || version == 3) return;
    if (std::uint32_t swapped = __builtin_bswap32(version); swapped == 2 || swapped == 3)
      fail("the file is big-endian GGUF; only little-endian files are supported");
    fail(fmt::format("GGUF version {} is not supported, only 2 and 3: convert the model again", version));
  }

  Kind take_kind(const std::string& what) {
    const std::size_t start = at_;
    const auto number = take<std::uint32_t>("the kind of " + what);
    if (number > static_cast<std::uint32_t>(Kind::kFloat64))
      fail(fmt::format("{} has the unknown kind {} at byte {}", what, number, start));
    return static_cast<Kind>(number);
  }

  void read_entry() {
    const std::string key = take_string("a metadata key");
    const std::string what = "the metadata entry " + quote(key);
    ModelValue value = take_value(take_kind(what), what);
    if (!model_.metadata.emplace(key, std::move(value)).second) fail(what + " appears twice");
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
        return skip_array(what);
      case Kind::kUint64:
        return take<std::uint64_t>(what);
      case Kind::kInt64:
        return take<std::int64_t>(what);
      case Kind::kFloat64:
        return take<double>(what);
    }
    return false;
  }

  ModelArray skip_array(const std::string& what) {
    const Kind kind = take_kind(what);
    if (kind == Kind::kArray) fail(what + " is an array of arrays, which is not supported");
    const auto count = take<std::uint64_t>("the length of " + what);
    if (kind == Kind::kString) {
      require_count(count, 8, ("elements in " + what).c_str());
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto size = take<std::uint64_t>(what);
        if (size > bytes_.size() - at_) fail_truncated(what);
        at_ += size;
      }
      return {count};
    }
    if (count > (bytes_.size() - at_) / bytes_of_kind(kind)) fail_truncated(what);
    at_ += count * bytes_of_kind(kind);
    return {count};
  }

  void read_tensor() {
    StoredTensor tensor;
    tensor.name = take_string("the name of a tensor");
    const std::string what = "tensor " + quote(tensor.name);
    const auto dimensions = take<std::uint32_t>("the shape of " + what);
    if (dimensions == 0 || dimensions > kMaxDimensions)
      fail(fmt::format("{} has {} dimensions at byte {}; expected 1 to {}", what, dimensions, at_ - 4,
                       kMaxDimensions));
    for (std::uint32_t i = 0; i < dimensions; ++i)
      tensor.shape.push_back(take<std::uint64_t>("the shape of " + what));
    std::ranges::reverse(tensor.shape);  // the file has the columns first
    const auto number = take<std::uint32_t>("the type of " + what);
    const auto* const type = std::ranges::find(kTypes, number, &TypeLine::number);
    if (type == kTypes.end()) {
      fail(fmt::format(
          "{} [{}] (described at byte {}) has type {}, which is not supported; F32, F16, BF16, Q8_0, Q4_0, "
          "Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K are: quantise the model as one of these",
          what, fmt::join(tensor.shape, ","), at_ - 4, unsupported_type_name(number)));
    }
    tensor.type = type->type;
    tensor.offset = take<std::uint64_t>("the offset of " + what);
    order_.push_back(tensor.name);
    if (!model_.tensors.emplace(tensor.name, std::move(tensor)).second) fail(what + " appears twice");
  }

  std::size_t alignment() const {
    const auto found = model_.metadata.find("general.alignment");
    if (found == model_.metadata.end()) return 32;
    const auto* value = std::get_if<std::uint64_t>(&found->second);
    if (value == nullptr || !std::has_single_bit(*value) || *value > (1U << 20U))
      fail("general.alignment is not a power of two up to 1 MiB");
    return *value;
  }

  void place_tensors() {
    const std::size_t unit = alignment();
    const std::size_t start = (at_ + unit - 1) / unit * unit;
    for (const std::string& name : order_) {
      StoredTensor& tensor = model_.tensors.at(name);
      const auto size = stored_bytes(tensor.type, tensor.shape);
      const std::size_t offset = tensor.offset;
      const std::string what = fmt::format("tensor {} [{}] of {}", quote(name), fmt::join(tensor.shape, ","),
                                           name_of(tensor.type));
      if (!size) {
        fail(
            fmt::format("{} is impossible: a size is 0, a row is not a whole number of blocks of {}, or it "
                        "is larger than any file",
                        what, block_size(tensor.type)));
      }
      if (offset % unit != 0)
        fail(fmt::format("{} has offset {}, not a multiple of the alignment {}", what, offset, unit));
      const std::size_t bytes_left = start > bytes_.size() ? 0 : bytes_.size() - start;
      if (offset > bytes_left || *size > bytes_left - offset) {
        fail(fmt::format(
            "{} takes {} bytes from byte {} + {}, but the file ends at byte {}: it is truncated or damaged",
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

constexpr std::size_t kLengthBytes = 8;
/// Limit of the format's reference reader.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

std::optional<StoredType> type_of(const std::string& name) {
  for (const StoredType type : {StoredType::kF32, StoredType::kF16, StoredType::kBf16}) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

std::vector<std::size_t> sizes_of(const Json& entry, const char* key, const std::string& where) {
  std::vector<std::size_t> sizes;
  for (const Json& one : json_array(entry, key, where)) {
    if (!one.is_number_unsigned()) throw Error(where + "/" + key + ": expected whole numbers from 0 on");
    sizes.push_back(one.get<std::uint64_t>());
  }
  return sizes;
}

StoredTensor tensor_of(const std::string& name, const Json& entry, std::span<const std::byte> data,
                       std::size_t start, const std::string& source) {
  const std::string what = source + ": tensor " + quote(name);
  StoredTensor tensor;
  tensor.name = name;
  const std::string type = json_string(entry, "dtype", what);
  const auto known = type_of(type);
  if (!known) {
    throw Error(what + " has type " + quote(type) +
                ", which is not supported; F32, F16 and BF16 are: convert the model to one of these");
  }
  tensor.type = *known;
  tensor.shape = sizes_of(entry, "shape", what);
  const std::vector<std::size_t> ends = sizes_of(entry, "data_offsets", what);
  if (ends.size() != 2 || ends[0] > ends[1]) throw Error(what + ": data_offsets must be a start and an end");
  const auto size = stored_bytes(tensor.type, tensor.shape);
  if (!size || *size != ends[1] - ends[0]) {
    throw Error(fmt::format("{} [{}] of {} at byte {} does not take its declared {} bytes", what,
                            fmt::join(tensor.shape, ","), type, start + ends[0], ends[1] - ends[0]));
  }
  if (ends[1] > data.size()) {
    throw Error(fmt::format("{} ends at byte {} + {}, but the file at byte {}: it is truncated or damaged",
                            what, start, ends[1], start + data.size()));
  }
  tensor.offset = start + ends[0];
  tensor.bytes = data.subspan(ends[0], *size);
  return tensor;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const std::string what = quote(path.string());
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) throw Error(what + ": " + reason());
  if (!S_ISREG(status.st_mode)) throw Error(what + " is not a file");
  if (status.st_size == 0) throw Error(what + " is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) throw Error(what + " cannot be mapped: " + reason());
  bytes_ = {static_cast<const std::byte*>(mapped), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

const char* name_of(StoredType type) {
  return line_of(type).name;
}
std::size_t block_size(StoredType type) {
  return line_of(type).size;
}
std::size_t block_bytes(StoredType type) {
  return line_of(type).bytes;
}

float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U, exponent = (bits >> 10U) & 31U, rest = bits & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (rest << 13U));
  if (exponent > 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23U) | (rest << 13U));
  const float small = static_cast<float>(rest) * 0x1p-24F;
  return sign == 0 ? small : -small;
}

void dequantise(StoredType type, const std::byte* blocks, std::span<float> values) {
  line_of(type).read(blocks, values);
}

std::string StoredTensor::describe() const {
  return fmt::format("{} [{}] of {} at byte {}", quote(name), fmt::join(shape, ","), name_of(type), offset);
}

std::optional<std::size_t> stored_bytes(StoredType type, std::span<const std::size_t> shape) {
  constexpr std::size_t kMax = std::size_t{1} << 62;
  if (!shape.empty() && shape.back() % block_size(type) != 0) return std::nullopt;
  std::size_t count = 1;
  for (const std::size_t size : shape) {
    if (size == 0) return std::nullopt;
    if (count > kMax / size) return std::nullopt;
    count *= size;
  }
  if (shape.empty() && block_size(type) > 1) return std::nullopt;
  const std::size_t blocks = count / block_size(type);
  if (blocks > kMax / block_bytes(type)) return std::nullopt;
  return blocks * block_bytes(type);
}

const StoredTensor* StoredModel::find(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

bool is_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

StoredModel parse_gguf(std::span<const std::byte> bytes, const std::string& source) {
  return GgufReader(bytes, source).read();
}

StoredModel parse_safetensors(std::span<const std::byte> bytes, const std::string& source) {
  std::uint64_t length = 0;
  if (bytes.size() < kLengthBytes)
    throw Error(fmt::format("{}: this is not a safetensors file: it has {} bytes", source, bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    throw Error(
        fmt::format("{}: its header should take {} bytes, but the file has {}: it is truncated, or not a "
                    "safetensors file",
                    source, length, bytes.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  const Json header = parse_json(text, source + " (header)");
  if (!header.is_object()) throw Error(source + ": its header is not a JSON object");
  const std::size_t start = kLengthBytes + length;
  StoredModel model;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    if (!entry.is_object())
      throw Error(source + ": tensor " + quote(name) + " is not described by an object");
    StoredTensor tensor = tensor_of(name, entry, bytes.subspan(start), start, source);
    if (!model.tensors.emplace(name, std::move(tensor)).second)
      throw Error(source + ": tensor " + quote(name) + " appears twice");
  }
  return model;
}

}  // namespace headroom
