// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <span>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/experiment/sum_tolerance.h"
#include "headroom/workload/team.h"

namespace headroom::cuda {

/// Memory of exact size, aligned to 256 like device memory: the address sanitizer finds accesses past the
/// end.
class ExactMemory {
 public:
  explicit ExactMemory(std::size_t bytes) : bytes_(bytes) {
    void* made = nullptr;
    if (posix_memalign(&made, 256, std::max<std::size_t>(bytes, 1)) != 0) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(made);
    std::fill_n(data_, bytes, std::byte{0xff});
  }
  template <typename T>
  explicit ExactMemory(const std::vector<T>& values) : ExactMemory(values.size() * sizeof(T)) {
    std::ranges::copy(std::as_bytes(std::span(values)), data_);
  }
  ~ExactMemory() { std::free(data_); }
  ExactMemory(const ExactMemory&) = delete;
  ExactMemory& operator=(const ExactMemory&) = delete;

  /// Poisons the memory and returns a function that restores it: a previous launch that still runs.
  std::function<void()> written_later() const {
    const std::vector<std::byte> values(begin(), end());
    std::fill_n(data_, bytes_, std::byte{0xff});
    return [this, values] { std::ranges::copy(values, data_); };
  }
  bool is_untouched() const {
    return std::all_of(begin(), end(), [](std::byte byte) { return byte == std::byte{0xff}; });
  }

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  std::byte* begin() const { return data_; }
  std::byte* end() const { return data_ + bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

inline headroom::Team alone() {
  return [](const std::function<void(int, int)>& body) { body(0, 1); };
}

inline void expect_close(std::span<const float> actual, const std::vector<double>& expected,
                         Tolerance tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  const double rms = root_mean_square(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_LE(scaled_error(double{actual[i]}, expected[i], rms), tolerance.relative)
        << "at " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

inline void expect_close(std::span<const Bf16> actual, const std::vector<double>& expected,
                         Tolerance tolerance) {
  std::vector<float> values(actual.size());
  std::ranges::transform(actual, values.begin(), to_float);
  expect_close(values, expected, tolerance);
}

}  // namespace headroom::cuda

/// CUDA's blocks, warps and barriers on the host. Include it first: kernels then compile as C++ and run block
/// by block, each thread on its own stack, switching at barriers and warp exchanges. Throws on undefined
/// behaviour: a barrier that not all threads reach, an exchange without all lanes. Shared memory starts as
/// NaN.

namespace headroom::emulated {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
extern Index thread_index, block_index, block_size, grid_size;

/// A missing barrier shows in one of them.
enum class Order { kForward, kBackward };

/// `threads` is a multiple of 32. Throws std::logic_error on deadlock.
void launch(unsigned blocks, unsigned threads, Order order, const std::function<void()>& kernel);

/// An early launch: the first thread to wait for the previous one calls `end`, the rest of that launch.
/// Throws std::logic_error if none waits.
void launch_early(unsigned blocks, unsigned threads, Order order, const std::function<void()>& end,
                  const std::function<void()>& kernel);

/// griddepcontrol.wait, for kernels.
void wait_for_previous_launch();

/// Of the maximum size per block.
void* dynamic_shared_memory();

/// binary16, to nearest even.
std::uint16_t f16_bits(float value);
float f16_value(std::uint16_t bits);

/// __syncthreads, and an exchange of 32 bits in the warp.
void wait_for_block();
std::uint32_t exchange(std::uint32_t value, unsigned with_lane);

/// mma.m16n8k16: d += a b, with the registers of a warp; `value_of` converts 16 bits.
void multiply_tiles(const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], float (&d)[4],
                    const std::function<float(std::uint16_t)>& value_of);

}  // namespace headroom::emulated

// NOLINTBEGIN(bugprone-reserved-identifier): these are CUDA's names.
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __shared__ [[gnu::section("emulated_shared")]] static
#define threadIdx ::headroom::emulated::thread_index
#define blockIdx ::headroom::emulated::block_index
#define blockDim ::headroom::emulated::block_size
#define gridDim ::headroom::emulated::grid_size

inline void __syncthreads() {
  headroom::emulated::wait_for_block();
}
inline void __threadfence() {}
/// Whole warps only: the mask has all lanes.
inline std::uint32_t __shfl_sync(unsigned /*mask*/, std::uint32_t value, int from) {
  return headroom::emulated::exchange(value, static_cast<unsigned>(from) % 32);
}
inline float __shfl_xor_sync(unsigned mask, float value, int with) {
  const auto from = static_cast<int>(threadIdx.x % 32) ^ with;
  return std::bit_cast<float>(__shfl_sync(mask, std::bit_cast<std::uint32_t>(value), from));
}
inline float __uint_as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline std::uint32_t __float_as_uint(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
inline float rsqrtf(float value) {
  return 1 / std::sqrt(value);
}
inline std::uint32_t __funnelshift_r(std::uint32_t low, std::uint32_t high, std::uint32_t bits) {
  return static_cast<std::uint32_t>(((std::uint64_t{high} << 32) | low) >> (bits % 32));
}
inline std::uint32_t __byte_perm(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  const std::uint64_t bytes = (std::uint64_t{high} << 32) | low;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned from = (selector >> (4 * i)) % 8;
    result |= static_cast<std::uint32_t>((bytes >> (8 * from)) & 0xff) << (8 * i);
  }
  return result;
}
inline std::uint32_t atomicAdd(std::uint32_t* at, std::uint32_t added) {
  return std::atomic_ref(*at).fetch_add(added);
}
// NOLINTEND(bugprone-reserved-identifier)
