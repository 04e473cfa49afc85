// SPDX-License-Identifier: Apache-2.0
#include "headroom_python/timed_calls.h"

#include <algorithm>
#include <chrono>

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

/// How often all generations were collected in this process.
std::uint64_t collections(PyObject* gc) {
  const Ref stats = Ref::owned(PyObject_CallMethod(gc, "get_stats", nullptr));
  std::uint64_t sum = 0;
  const Ref iterator = Ref::owned(PyObject_GetIter(stats.get()));
  while (PyObject* item = PyIter_Next(iterator.get())) {
    const Ref generation = Ref::owned(item);
    PyObject* count = PyDict_GetItemString(generation.get(), "collections");
    if (count != nullptr) sum += to_unsigned(count);
  }
  return sum;
}

}  // namespace

TimedCalls::TimedCalls(PyObject* body, PyObject* setup, PyObject* synchronize, PyObject* nothing,
                       bool takes_copy, std::size_t copies)
    : body_(body), setup_(setup), synchronize_(synchronize), nothing_(nothing) {
  for (std::size_t copy = 0; takes_copy && copy < copies; ++copy)
    copies_.push_back(Ref::owned(PyLong_FromSize_t(copy)));
}

void TimedCalls::call(PyObject* function, std::size_t copy) const {
  PyObject* result = copies_.empty() ? PyObject_CallNoArgs(function)
                                     : PyObject_CallFunctionObjArgs(function, copies_[copy].get(), nullptr);
  if (result == nullptr) throw PythonError{};
  Py_DECREF(result);
}

double TimedCalls::time_of(PyObject* body, PyObject* setup, std::uint64_t iterations) {
  const auto next = [&] {
    if (++copy_ >= copies_.size()) copy_ = 0;
  };
  Clock::duration sum{};
  if (setup != nullptr) {
    for (; iterations > 0; --iterations, next()) {
      call(setup, copy_);
      const auto start = Clock::now();
      call(body, copy_);
      if (synchronize_ != nullptr) Ref::owned(PyObject_CallNoArgs(synchronize_));
      sum += Clock::now() - start;
    }
  } else if (copies_.empty()) {
    const auto start = Clock::now();
    for (; iterations > 0; --iterations) {
      PyObject* result = PyObject_CallNoArgs(body);
      if (result == nullptr) throw PythonError{};
      Py_DECREF(result);
    }
    if (synchronize_ != nullptr) Ref::owned(PyObject_CallNoArgs(synchronize_));
    sum = Clock::now() - start;
  } else {
    const auto start = Clock::now();
    for (; iterations > 0; --iterations, next()) call(body, copy_);
    if (synchronize_ != nullptr) Ref::owned(PyObject_CallNoArgs(synchronize_));
    sum = Clock::now() - start;
  }
  return std::chrono::duration<double, std::nano>(sum).count();
}

double TimedCalls::time(std::uint64_t iterations) {
  return time_of(body_, setup_, iterations);
}

double TimedCalls::overhead(std::uint64_t iterations) {
  constexpr std::uint64_t kFewest = 64, kEnough = 4096;
  const std::uint64_t calls = std::clamp(iterations, kFewest, kEnough);
  const std::size_t copy = copy_;
  const double ns = time_of(nothing_, setup_ == nullptr ? nullptr : nothing_, calls);
  copy_ = copy;
  return ns / static_cast<double>(calls);
}

CollectorOff::CollectorOff() : gc_(Ref::owned(PyImport_ImportModule("gc"))) {
  was_on_ = to_bool(Ref::owned(PyObject_CallMethod(gc_.get(), "isenabled", nullptr)).get());
  if (was_on_) Ref::owned(PyObject_CallMethod(gc_.get(), "disable", nullptr));
  runs_before_ = collections(gc_.get());
}

CollectorOff::~CollectorOff() {
  if (!was_on_) return;
  // It may end while an exception is on its way.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  Py_XDECREF(PyObject_CallMethod(gc_.get(), "enable", nullptr));
  PyErr_Restore(type, value, traceback);
}

std::uint64_t CollectorOff::runs() const {
  return collections(gc_.get()) - runs_before_;
}

}  // namespace headroom
