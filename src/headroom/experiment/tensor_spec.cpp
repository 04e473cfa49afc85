// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/tensor_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

struct Dtype {
  const char* name;
  std::array<const char*, 2> other_names;
  double bytes;
  std::int64_t least = 0, most = 0;  ///< of integers; equal: no integer
};

const std::vector<Dtype>& dtypes() {
  static const std::vector<Dtype> all{
      {"f64", {"float64", "double"}, 8},
      {"f32", {"float32", "float"}, 4},
      {"f16", {"float16", "half"}, 2},
      {"bf16", {"bfloat16", "bfloat16"}, 2},
      {"i64",
       {"int64", "long"},
       8,
       INT64_MIN,
       INT64_MAX - 1},  // torch's random takes an exclusive upper bound
      {"i32", {"int32", "int"}, 4, INT32_MIN, INT32_MAX},
      {"i16", {"int16", "short"}, 2, INT16_MIN, INT16_MAX},
      {"int8", {"i8", "s8"}, 1, INT8_MIN, INT8_MAX},
      {"u8", {"uint8", "byte"}, 1, 0, UINT8_MAX},
      {"bool", {"bool", "bool"}, 1},
  };
  return all;
}

const Dtype* find_dtype(std::string_view name) {
  for (const Dtype& dtype : dtypes()) {
    if (name == dtype.name || std::ranges::count(dtype.other_names, name) > 0) return &dtype;
  }
  return nullptr;
}

class SpecReader {
 public:
  explicit SpecReader(std::string_view text) : text_(text) {}

  TensorSpec read() {
    TensorSpec spec;
    const Dtype& dtype = read_dtype();
    spec.dtype = dtype.name;
    expect('[', "'[' and the sizes");
    if (!take(']')) read_sizes(spec);
    if (at_ < text_.size()) read_range(dtype, spec);
    return spec;
  }

 private:
  const Dtype& read_dtype() {
    const std::size_t end = std::min(text_.find_first_of("[:, "), text_.size());
    const Dtype* dtype = find_dtype(text_.substr(0, end));
    if (dtype == nullptr) refuse("a dtype: one of " + join(tensor_dtypes(), ", "));
    at_ = end;
    return *dtype;
  }

  void read_sizes(TensorSpec& spec) {
    do {
      const std::size_t begin = at_;
      const std::int64_t size = read_integer("a size, an integer of at least 1");
      if (size < 1) refuse_at(begin, "a size, an integer of at least 1");
      spec.sizes.push_back(size);
      if (spec.elements() > kMaxElements) refuse_at(begin, "fewer than 2^40 elements in all");
    } while (take(','));
    expect(']', "',' and another size, or ']'");
  }

  void read_range(const Dtype& dtype, TensorSpec& spec) {
    if (dtype.least == dtype.most) refuse("the end: only integers take :LOW..HIGH");
    expect(':', "the end, or :LOW..HIGH");
    spec.low = read_bound(dtype);
    expect('.', "'..' and the highest value");
    expect('.', "'..' and the highest value");
    const std::size_t begin = at_;
    spec.high = read_bound(dtype);
    if (spec.high < spec.low) refuse_at(begin, fmt::format("a highest value of at least {}", spec.low));
    if (at_ < text_.size()) refuse("the end");
  }

  std::int64_t read_bound(const Dtype& dtype) {
    const std::size_t begin = at_;
    const std::string wanted = fmt::format("an integer from {} to {}", dtype.least, dtype.most);
    const std::int64_t bound = read_integer(wanted);
    if (bound < dtype.least || bound > dtype.most) refuse_at(begin, wanted);
    return bound;
  }

  std::int64_t read_integer(const std::string& wanted) {
    std::size_t end = at_;
    if (end < text_.size() && text_[end] == '-') ++end;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
    const auto number = to_integer(text_.substr(at_, end - at_));
    if (!number) refuse(wanted);
    at_ = end;
    return *number;
  }

  bool take(char letter) {
    if (at_ == text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }
  void expect(char letter, const std::string& wanted) {
    if (!take(letter)) refuse(wanted);
  }

  [[noreturn]] void refuse(const std::string& wanted) const { refuse_at(at_, wanted); }
  [[noreturn]] void refuse_at(std::size_t at, const std::string& wanted) const {
    throw Error(fmt::format("tensor {}: column {}: expected {} (an example: f32[1,3,224,224])", quote(text_),
                            at + 1, wanted));
  }

  static constexpr double kMaxElements = 0x1p40;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

double TensorSpec::elements() const {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
}

double TensorSpec::bytes() const {
  const Dtype* found = find_dtype(dtype);
  return found == nullptr ? 0 : elements() * found->bytes;
}

const std::vector<std::string>& tensor_dtypes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const Dtype& dtype : dtypes()) made.emplace_back(dtype.name);
    return made;
  }();
  return names;
}

TensorSpec parse_tensor_spec(std::string_view text) {
  return SpecReader(text).read();
}

std::string to_string(const TensorSpec& spec) {
  std::string text = fmt::format("{}[{}]", spec.dtype, fmt::join(spec.sizes, ","));
  if (spec.low != TensorSpec{}.low || spec.high != TensorSpec{}.high)
    text += fmt::format(":{}..{}", spec.low, spec.high);
  return text;
}

}  // namespace headroom
