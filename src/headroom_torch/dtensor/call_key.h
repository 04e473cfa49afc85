// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "headroom_torch/dtensor/rule.h"
#include "headroom_torch/dtensor/wrapper.h"

namespace headroom::torch_runner::dtensor {

/// What a plan depends on, as words: the operator, the specs of its tensors, its static arguments. Each value
/// says where it ends, so that two calls of an operator have equal words only where all of these are equal.
/// No allocation.
class CallKey {
 public:
  CallKey(const void* op, c10::ArrayRef<c10::IValue> arguments, Statics statics)
      : values_(statics == Statics::kValues) {
    add(reinterpret_cast<std::uintptr_t>(op));
    for (const c10::IValue& argument : arguments) add(argument);
  }

  /// Whether everything is in the key. A call with more arguments, or of other types, has no plan in the
  /// cache.
  bool complete() const { return complete_; }
  c10::ArrayRef<std::uint64_t> words() const { return {words_.data(), count_}; }
  std::uint64_t hash() const { return hash_; }

 private:
  /// The first word of a value that is no distributed tensor: kind, and what fits beside it. The pointer to a
  /// Spec, the word of a distributed tensor, has zeros where these have the kind.
  enum Kind : std::uint64_t { kNone = 1, kInt, kDouble, kBool, kList, kText, kPlain };
  static_assert(alignof(Spec) >= 8);

  void add(std::uint64_t word) {
    if (count_ == words_.size()) {
      complete_ = false;
      return;
    }
    words_[count_++] = word;
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15ULL;
    hash_ ^= hash_ >> 32;
  }

  void add(Kind kind, std::uint64_t beside) { add(kind | beside << 3); }

  void add(const at::Tensor& tensor) {
    if (const Wrapper* wrapper = wrapper_of(tensor))
      return add(reinterpret_cast<std::uintptr_t>(wrapper->spec()));
    if (!tensor.defined()) return add(kNone, 1);
    add(kPlain,
        static_cast<std::uint64_t>(tensor.scalar_type()) << 8 | static_cast<std::uint64_t>(tensor.dim()));
    for (const std::int64_t size : tensor.sizes()) add(static_cast<std::uint64_t>(size));
  }

  void add(const std::string& text) {
    add(kText, text.size());
    for (std::size_t place = 0; place < text.size(); place += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + place, std::min(sizeof word, text.size() - place));
      add(word);
    }
  }

  void add(const c10::IValue& value) {
    if (value.isTensor()) return add(value.toTensor());
    if (value.isNone()) return add(kNone, 0);
    if (value.isInt()) {
      add(kInt, 0);
      return values_ ? add(static_cast<std::uint64_t>(value.toInt())) : void();
    }
    if (value.isDouble()) {
      add(kDouble, 0);
      return values_ ? add(std::bit_cast<std::uint64_t>(value.toDouble())) : void();
    }
    if (value.isBool()) return add(kBool, value.toBool() ? 1 : 0);
    if (value.isList()) {
      const c10::ArrayRef<c10::IValue> elements = value.toListRef();
      add(kList, elements.size());
      for (const c10::IValue& element : elements) add(element);
      return;
    }
    if (value.isString()) return add(value.toStringRef());
    if (value.isDevice()) {
      return add(kInt, 1 | static_cast<std::uint64_t>(value.toDevice().type()) << 8 |
                           static_cast<std::uint64_t>(static_cast<std::uint8_t>(value.toDevice().index()))
                               << 24);
    }
    complete_ = false;
  }

  std::array<std::uint64_t, 64> words_;  // only the first count_ are ever read
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
  bool values_;
  bool complete_ = true;
};

}  // namespace headroom::torch_runner::dtensor
