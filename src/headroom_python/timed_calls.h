// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headroom_python/python.h"

namespace headroom {

/// The calls that one sample of a body in Python is made of, and what they cost when the body does nothing.
/// With the interpreter lock.
class TimedCalls {
 public:
  /// `setup` may be null: it runs before each call of `body`, and is not timed. `synchronize` may be null: it
  /// runs after the last one, and is timed. With `takes_copy` body and setup are called with the index of the
  /// copy, below `copies`. Throws PythonError.
  TimedCalls(PyObject* body, PyObject* setup, PyObject* synchronize, PyObject* nothing, bool takes_copy,
             std::size_t copies);

  /// The nanoseconds of that many calls. Throws PythonError where one raises.
  double time(std::uint64_t iterations);
  /// The nanoseconds of one call of a body that does nothing, called in the same way.
  double overhead(std::uint64_t iterations);

 private:
  void call(PyObject* function, std::size_t copy) const;
  double time_of(PyObject* body, PyObject* setup, std::uint64_t iterations);

  PyObject* body_;
  PyObject* setup_;
  PyObject* synchronize_;
  PyObject* nothing_;
  std::vector<Ref> copies_;  ///< their indices; empty: they are not told
  std::size_t copy_ = 0;
};

/// Switches Python's garbage collector off while it lives, where it was on.
class CollectorOff {
 public:
  CollectorOff();
  ~CollectorOff();
  CollectorOff(const CollectorOff&) = delete;
  CollectorOff& operator=(const CollectorOff&) = delete;

  /// How often it ran since, all the same: because the body asked for it. Throws PythonError.
  std::uint64_t runs() const;

 private:
  Ref gc_;
  bool was_on_ = false;
  std::uint64_t runs_before_ = 0;
};

}  // namespace headroom
