// SPDX-License-Identifier: Apache-2.0
#pragma once

// One extension for every CPython from 3.9 on.
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

/// A Python exception is set. Thrown through C++ to where Python is again, and nowhere else.
struct PythonError {};

/// A reference that is ours. Only with the interpreter lock.
class Ref {
 public:
  Ref() = default;
  /// Takes over a new reference; a null one is an exception that is set. Throws PythonError.
  static Ref owned(PyObject* object);
  static Ref borrowed(PyObject* object);
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

/// Holds the interpreter lock, from a thread that may be unknown to Python.
class LockHeld {
 public:
  LockHeld() : state_(PyGILState_Ensure()) {}
  ~LockHeld() { PyGILState_Release(state_); }
  LockHeld(const LockHeld&) = delete;
  LockHeld& operator=(const LockHeld&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Lets other threads have the interpreter lock, from a thread that holds it; back() takes it for a while.
class LockReleased {
 public:
  LockReleased() : thread_(PyEval_SaveThread()) {}
  ~LockReleased() { PyEval_RestoreThread(thread_); }
  LockReleased(const LockReleased&) = delete;
  LockReleased& operator=(const LockReleased&) = delete;

  template <typename Function>
  auto with_lock(Function&& function) {
    PyEval_RestoreThread(thread_);
    const Again again{thread_};
    return function();
  }

 private:
  struct Again {
    PyThreadState*& thread;
    ~Again() { thread = PyEval_SaveThread(); }
  };

  PyThreadState* thread_;
};

// From Python's values. Each throws PythonError, with a TypeError or OverflowError set.
std::string to_text(PyObject* object);
double to_double(PyObject* object);
std::uint64_t to_unsigned(PyObject* object);
bool to_bool(PyObject* object);
std::vector<std::string> to_texts(PyObject* sequence);

/// A new str.
Ref to_python(const std::string& text);

}  // namespace headroom
