// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/safetensors_file.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::size_t kLengthBytes = 8;
/// What the format's own reader takes at most.
constexpr std::uint64_t kMostHeader = 100'000'000;

std::optional<StoredType> type_of(const std::string& name) {
  for (const StoredType type : {StoredType::kF32, StoredType::kF16, StoredType::kBf16}) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

/// Whole numbers that are not negative.
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
  const std::string what = source + ": tensor " + in_quotes(name);
  StoredTensor tensor;
  tensor.name = name;
  const std::string type = json_string(entry, "dtype", what);
  const auto known = type_of(type);
  if (!known) {
    throw Error(what + " has numbers of " + in_quotes(type) +
                ", which is not read; F32, F16 and BF16 are: convert the model to one of these");
  }
  tensor.type = *known;
  tensor.shape = sizes_of(entry, "shape", what);
  const std::vector<std::size_t> ends = sizes_of(entry, "data_offsets", what);
  if (ends.size() != 2 || ends[0] > ends[1]) throw Error(what + ": data_offsets are no beginning and end");
  const auto size = stored_bytes(tensor.type, tensor.shape);
  if (!size || *size != ends[1] - ends[0]) {
    throw Error(fmt::format("{} [{}] of {} at byte {} does not take the {} bytes that it says", what,
                            fmt::join(tensor.shape, ","), type, start + ends[0], ends[1] - ends[0]));
  }
  if (ends[1] > data.size()) {
    throw Error(fmt::format("{} ends at byte {} + {}, and the file at byte {}: it is cut or damaged", what,
                            start, ends[1], start + data.size()));
  }
  tensor.offset = start + ends[0];
  tensor.bytes = data.subspan(ends[0], *size);
  return tensor;
}

}  // namespace

StoredModel parse_safetensors(std::span<const std::byte> bytes, const std::string& source) {
  std::uint64_t length = 0;
  if (bytes.size() < kLengthBytes)
    throw Error(fmt::format("{}: this is no safetensors file: it has {} bytes", source, bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kMostHeader || length > bytes.size() - kLengthBytes) {
    throw Error(
        fmt::format("{}: its header is said to take {} bytes, and the file has {}: it is cut, or no "
                    "safetensors file",
                    source, length, bytes.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  const Json header = parse_json(text, source + " (header)");
  if (!header.is_object()) throw Error(source + ": its header is no JSON object");
  const std::size_t start = kLengthBytes + length;
  StoredModel model;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    if (!entry.is_object())
      throw Error(source + ": tensor " + in_quotes(name) + " is described by no object");
    StoredTensor tensor = tensor_of(name, entry, bytes.subspan(start), start, source);
    if (!model.tensors.emplace(name, std::move(tensor)).second)
      throw Error(source + ": tensor " + in_quotes(name) + " is there twice");
  }
  return model;
}

}  // namespace headroom
