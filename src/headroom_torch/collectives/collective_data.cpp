// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/collectives/collective_data.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::torch_runner {
namespace {

/// Calls `body` with a null pointer of the C++ type of the elements.
template <typename Body>
void with_type(at::ScalarType type, Body&& body) {
  switch (type) {
    case at::kFloat:
      return body(static_cast<float*>(nullptr));
    case at::kDouble:
      return body(static_cast<double*>(nullptr));
    case at::kHalf:
      return body(static_cast<at::Half*>(nullptr));
    case at::kInt:
      return body(static_cast<std::int32_t*>(nullptr));
    case at::kLong:
      return body(static_cast<std::int64_t*>(nullptr));
    default:
      throw Error(fmt::format("collectives are not measured with elements of {}", at::toString(type)));
  }
}

template <typename T>
T as(int value) {
  // c10's half converts from float alone.
  if constexpr (std::is_same_v<T, at::Half>) {
    return at::Half(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

at::ScalarType collective_scalar_type(const std::string& dtype) {
  if (dtype == "f32") return at::kFloat;
  if (dtype == "f64") return at::kDouble;
  if (dtype == "f16") return at::kHalf;
  if (dtype == "i32") return at::kInt;
  if (dtype == "i64") return at::kLong;
  throw Error("no dtype " + in_quotes(dtype) + " here: f32, f64, f16, i32 or i64");
}

void fill_with(at::Tensor& tensor, const ExpectedValue& expected) {
  with_type(tensor.scalar_type(), [&]<typename T>(T*) {
    T* const values = tensor.data_ptr<T>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) values[i] = as<T>(expected(i));
  });
}

void poison(at::Tensor& tensor) {
  with_type(tensor.scalar_type(),
            [&]<typename T>(T*) { tensor.fill_(static_cast<double>(std::numeric_limits<T>::lowest())); });
}

std::string what_is_wrong(const at::Tensor& tensor, const ExpectedValue& expected) {
  std::string wrong;
  with_type(tensor.scalar_type(), [&]<typename T>(T*) {
    const T* const values = tensor.data_ptr<T>();
    std::int64_t count = 0, first = 0;
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      if (values[i] == as<T>(expected(i))) continue;
      if (count++ == 0) first = i;
    }
    if (count == 0) return;
    wrong = fmt::format("element {} of {} is {:g}, not {} ({} wrong)", first, tensor.numel(),
                        static_cast<double>(values[first]), expected(first),
                        count == 1 ? "1 is" : fmt::format("{} are", count));
  });
  return wrong;
}

}  // namespace headroom::torch_runner
