// SPDX-License-Identifier: Apache-2.0
// headroom._core, the private extension of the package headroom: registry, State and protocol.

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/experiment/random.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/process/affinity.h"
#include "headroom/process/channel.h"
#include "headroom/runner/serve.h"

namespace headroom {
namespace {

/// A Python exception is set; caught before returning to Python.
struct PythonError {};

/// An owned reference. Needs the interpreter lock.
class Ref {
 public:
  Ref() = default;
  /// Takes over a new reference. Throws PythonError for null.
  static Ref owned(PyObject* object) {
    if (object == nullptr) throw PythonError{};
    Ref made;
    made.object_ = object;
    return made;
  }
  static Ref borrowed(PyObject* object) {
    Py_XINCREF(object);
    return owned(object);
  }
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

/// Also on a thread unknown to Python.
class LockHeld {
 public:
  LockHeld() : state_(PyGILState_Ensure()) {}
  ~LockHeld() { PyGILState_Release(state_); }
  LockHeld(const LockHeld&) = delete;
  LockHeld& operator=(const LockHeld&) = delete;

 private:
  PyGILState_STATE state_;
};

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

// Each throws PythonError, with a TypeError or OverflowError set.

std::string to_text(PyObject* object) {
  Py_ssize_t size = 0;
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "expected a str, not %R", object);
    throw PythonError{};
  }
  // The limited API has PyUnicode_AsUTF8AndSize only from 3.10 on.
  const Ref bytes = Ref::owned(PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace"));
  char* data = nullptr;
  if (PyBytes_AsStringAndSize(bytes.get(), &data, &size) != 0) throw PythonError{};
  return {data, static_cast<std::size_t>(size)};
}

double to_double(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) throw PythonError{};
  return value;
}

std::uint64_t to_unsigned(PyObject* object) {
  const Ref number = Ref::owned(PyNumber_Index(object));
  const unsigned long long value = PyLong_AsUnsignedLongLong(number.get());
  if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) throw PythonError{};
  return value;
}

bool to_bool(PyObject* object) {
  const int value = PyObject_IsTrue(object);
  if (value < 0) throw PythonError{};
  return value == 1;
}

template <typename Use>
void for_each(PyObject* iterable, Use&& use) {
  if (iterable == nullptr) return;
  const Ref iterator = Ref::owned(PyObject_GetIter(iterable));
  while (PyObject* item = PyIter_Next(iterator.get())) use(Ref::owned(item).get());
  if (PyErr_Occurred() != nullptr) throw PythonError{};
}

std::vector<std::string> to_texts(PyObject* sequence) {
  std::vector<std::string> texts;
  for_each(sequence, [&](PyObject* item) { texts.push_back(to_text(item)); });
  return texts;
}

Ref to_python(const std::string& text) {
  return Ref::owned(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

using Clock = std::chrono::steady_clock;

std::uint64_t collector_runs(PyObject* gc) {
  const Ref stats = Ref::owned(PyObject_CallMethod(gc, "get_stats", nullptr));
  std::uint64_t sum = 0;
  for_each(stats.get(), [&](PyObject* generation) {
    PyObject* count = PyDict_GetItemString(generation, "collections");
    if (count != nullptr) sum += to_unsigned(count);
  });
  return sum;
}

/// Needs the interpreter lock.
class TimedCalls {
 public:
  /// `setup` (may be null) runs before each call of `body`, untimed; `synchronize` (may be null) after the
  /// last call, timed. `nothing`: an empty body. `check` gets the first result. `takes_copy`: body and setup
  /// get the index of the copy, below `copies`. Throws PythonError.
  TimedCalls(PyObject* body, PyObject* setup, PyObject* synchronize, PyObject* nothing, PyObject* check,
             bool takes_copy, std::size_t copies)
      : body_(body), setup_(setup), synchronize_(synchronize), nothing_(nothing), check_(check) {
    for (std::size_t copy = 0; takes_copy && copy < copies; ++copy)
      copies_.push_back(Ref::owned(PyLong_FromSize_t(copy)));
  }

  double time(std::uint64_t iterations) {
    if (check_ == nullptr) return time_of(body_, setup_, iterations);
    // The first call, whose result is checked, counts as warm-up.
    if (setup_ != nullptr) call(setup_, copy_);
    const auto start = Clock::now();
    const Ref result = call(body_, copy_);
    if (synchronize_ != nullptr) Ref::owned(PyObject_CallNoArgs(synchronize_));
    const double first = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    if (++copy_ >= copies_.size()) copy_ = 0;
    Ref::owned(PyObject_CallFunctionObjArgs(std::exchange(check_, nullptr), result.get(), nullptr));
    return iterations > 1 ? first + time_of(body_, setup_, iterations - 1) : first;
  }

  double overhead(std::uint64_t iterations) {
    constexpr std::uint64_t kFewest = 64, kEnough = 4096;
    const std::uint64_t calls = std::clamp(iterations, kFewest, kEnough);
    const std::size_t copy = copy_;
    const double ns = time_of(nothing_, setup_ == nullptr ? nullptr : nothing_, calls);
    copy_ = copy;
    return ns / static_cast<double>(calls);
  }

 private:
  Ref call(PyObject* function, std::size_t copy) const {
    return Ref::owned(copies_.empty() ? PyObject_CallNoArgs(function)
                                      : PyObject_CallFunctionObjArgs(function, copies_[copy].get(), nullptr));
  }

  double time_of(PyObject* body, PyObject* setup, std::uint64_t iterations) {
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

  PyObject* body_;
  PyObject* setup_;
  PyObject* synchronize_;
  PyObject* nothing_;
  PyObject* check_;          ///< null once called
  std::vector<Ref> copies_;  ///< indices as Python objects; empty: not passed
  std::size_t copy_ = 0;
};

/// Disables Python's garbage collector.
class CollectorOff {
 public:
  CollectorOff() : gc_(Ref::owned(PyImport_ImportModule("gc"))) {
    was_on_ = to_bool(Ref::owned(PyObject_CallMethod(gc_.get(), "isenabled", nullptr)).get());
    if (was_on_) Ref::owned(PyObject_CallMethod(gc_.get(), "disable", nullptr));
    runs_before_ = collector_runs(gc_.get());
  }
  ~CollectorOff() {
    if (!was_on_) return;
    // May run while an exception propagates.
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(PyObject_CallMethod(gc_.get(), "enable", nullptr));
    PyErr_Restore(type, value, traceback);
  }
  CollectorOff(const CollectorOff&) = delete;
  CollectorOff& operator=(const CollectorOff&) = delete;

  /// Only the body can have requested them. Throws PythonError.
  std::uint64_t runs() const { return collector_runs(gc_.get()) - runs_before_; }

 private:
  Ref gc_;
  bool was_on_ = false;
  std::uint64_t runs_before_ = 0;
};

PyTypeObject* case_type = nullptr;
PyObject* ended_type = nullptr;

/// Returns the nanoseconds of the iterations. Needs the interpreter lock; throws PythonError.
using Batch = std::function<double(std::uint64_t)>;

/// `state` is null once the function has returned.
struct Case {
  PyObject base;
  State* state;
  std::exception_ptr* pending;  ///< the C++ exception that ends the case
  std::vector<Column>* columns;
  std::uint64_t* collections;  ///< collections within samples
  Batch* kept;  ///< receives the batch of measure(), to be sampled later; null: measure() samples
  std::vector<Ref>* checks;  ///< called after the samples
};

Case& self_of(PyObject* self) {
  Case& made = *reinterpret_cast<Case*>(self);
  if (made.state == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the case has ended: its state cannot be used any more");
    throw PythonError{};
  }
  return made;
}

/// Keeps a C++ exception for run_in_python, and unwinds Python with Ended.
template <typename Method>
PyObject* guarded(PyObject* self, Method&& method) {
  try {
    Case& made = self_of(self);
    try {
      return method(made).release();
    } catch (const PythonError&) {
      throw;
    } catch (...) {
      *made.pending = std::current_exception();
      PyErr_SetString(ended_type, "the case has ended");
      return nullptr;
    }
  } catch (const PythonError&) {
    return nullptr;
  }
}

Ref none() {
  return Ref::borrowed(Py_None);
}

std::vector<PyObject*> taken(PyObject* arguments, Py_ssize_t count) {
  if (PyTuple_Size(arguments) != count) {
    PyErr_Format(PyExc_TypeError, "expected %zd arguments, not %zd", count, PyTuple_Size(arguments));
    throw PythonError{};
  }
  std::vector<PyObject*> items;
  for (Py_ssize_t i = 0; i < count; ++i) items.push_back(PyTuple_GetItem(arguments, i));
  return items;
}

PyObject* or_null(PyObject* object) {
  return object == Py_None ? nullptr : object;
}

Direction direction_of(bool higher_is_better) {
  return higher_is_better ? Direction::kHigherIsBetter : Direction::kLowerIsBetter;
}

template <typename T>
T from_python(PyObject* object) {
  if constexpr (std::is_same_v<T, std::string>) return to_text(object);
  if constexpr (std::is_same_v<T, double>) return to_double(object);
  if constexpr (std::is_same_v<T, bool>) return to_bool(object);
  if constexpr (std::is_same_v<T, std::uint64_t>) return to_unsigned(object);
  if constexpr (std::is_same_v<T, int>) return static_cast<int>(to_unsigned(object));
  if constexpr (std::is_same_v<T, PyObject*>) return object;
}

template <typename... Given>
std::tuple<Given...> unpacked(PyObject* arguments) {
  [[maybe_unused]] const auto items = taken(arguments, sizeof...(Given));
  [[maybe_unused]] auto item = items.begin();
  return std::tuple<Given...>{from_python<Given>(*item++)...};
}

template <typename Call>
Ref returned(Call&& call) {
  using Result = decltype(call());
  if constexpr (std::is_void_v<Result>) {
    call();
    return none();
  } else if constexpr (std::is_same_v<Result, Ref>) {
    return call();
  } else if constexpr (std::is_same_v<Result, bool>) {
    return Ref::borrowed(call() ? Py_True : Py_False);
  } else {
    return Ref::owned(PyLong_FromUnsignedLongLong(call()));
  }
}

template <typename Result, typename... Given>
Ref applied(Result (*method)(Case&, Given...), Case& made, PyObject* arguments) {
  return returned([&] {
    return std::apply([&](auto&&... given) { return method(made, std::move(given)...); },
                      unpacked<std::remove_cvref_t<Given>...>(arguments));
  });
}

using Text = const std::string&;

/// All arguments, as a tuple.
struct Arguments {
  PyObject* tuple;
};

Ref applied(Ref (*method)(Case&, Arguments), Case& made, PyObject* arguments) {
  return method(made, {arguments});
}

/// (experiment, {axis: value}, backend, variant, threads, is cold, seed)
Ref spec(Case& made) {
  const CaseSpec& case_spec = made.state->spec();
  const Ref axes = Ref::owned(PyDict_New());
  for (const auto& [name, value] : case_spec.axes) {
    const Ref text = to_python(value);
    if (PyDict_SetItemString(axes.get(), name.c_str(), text.get()) != 0) throw PythonError{};
  }
  return Ref::owned(Py_BuildValue("(sOssiOK)", case_spec.experiment.c_str(), axes.get(),
                                  case_spec.backend.c_str(), case_spec.variant.c_str(), case_spec.threads,
                                  case_spec.caches == Caches::kCold ? Py_True : Py_False,
                                  static_cast<unsigned long long>(case_spec.seed)));
}

void work(Case& made, double flops, double bytes, double bytes_written, std::string dtype, double exchanged) {
  made.state->work({.flops = flops,
                    .bytes = bytes,
                    .bytes_written = bytes_written,
                    .dtype = std::move(dtype),
                    .exchanged = exchanged});
}

/// Returns the number of the column.
std::uint64_t column(Case& made, Text name, Text unit, bool higher_is_better) {
  made.columns->push_back(made.state->column(name, unit, direction_of(higher_is_better)));
  return made.columns->size() - 1;
}

void add(Case& made, std::uint64_t column, double amount) {
  if (column >= made.columns->size()) throw std::out_of_range("no such column");
  (*made.columns)[column].add(amount);
}

/// series(name, unit, [value], {name: text or number})
void series(Case& made, std::string name, std::string unit, PyObject* values, PyObject* info) {
  ReportedSeries recorded{std::move(name), std::move(unit), {}};
  for_each(values, [&](PyObject* item) { recorded.values.push_back(to_double(item)); });
  PyObject *key = nullptr, *about = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(info, &at, &key, &about) != 0;) {
    if (PyUnicode_Check(about))
      recorded.info[to_text(key)] = to_text(about);
    else
      recorded.numbers[to_text(key)] = to_double(about);
  }
  made.state->series(std::move(recorded));
}

template <typename T>
std::span<const T> values_at(std::uint64_t address, std::uint64_t count) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return {reinterpret_cast<const T*>(static_cast<std::uintptr_t>(address)), count};
}

/// `dtype`: "f32", "f64" or "bf16"; the expected values are float64s. `precision`: a text or None.
void check(Case& made, std::uint64_t address, std::uint64_t count, Text dtype, std::uint64_t expected_address,
           std::uint64_t expected_count, double rtol, double atol, PyObject* precision) {
  Tolerance tolerance;
  tolerance.relative = rtol;
  tolerance.absolute = atol;
  tolerance.sums_in = std::nullopt;
  if (or_null(precision) != nullptr) {
    const std::string named = to_text(precision);
    for (const Precision known : kPrecisions) {
      if (named == to_string(known)) tolerance.sums_in = known;
    }
    if (!tolerance.sums_in) throw Error("unknown precision " + named);
  }
  const std::span<const double> expected = values_at<double>(expected_address, expected_count);
  if (dtype == "f32") made.state->check(values_at<float>(address, count), expected, tolerance);
  if (dtype == "f64") made.state->check(values_at<double>(address, count), expected, tolerance);
  if (dtype == "bf16") made.state->check(values_at<Bf16>(address, count), expected, tolerance);
}

/// A child of os.fork in a body must not write to the parent's channel.
void end_where_forked(pid_t process) {
  if (getpid() != process) _exit(1);
}

Ref sampled(Case& made, Batch batch) {
  if (made.kept != nullptr) {
    if (*made.kept) throw std::logic_error("the case is measured twice");
    *made.kept = std::move(batch);
    return none();
  }
  LockReleased released;
  made.state->measure_batches(
      [&](std::uint64_t iterations) { return released.with_lock([&] { return batch(iterations); }); });
  return released.with_lock(none);
}

/// measure(body, setup or None, synchronize or None, nothing, takes copy, before sample or None, check), see
/// TimedCalls.
Ref measure(Case& made, Arguments arguments) {
  const auto items = taken(arguments.tuple, 7);
  const auto calls = std::make_shared<TimedCalls>(items[0], or_null(items[1]), or_null(items[2]), items[3],
                                                  items[6], to_bool(items[4]), made.state->copies());
  Column overhead = made.state->column(kPythonOverhead, "ns");
  const auto held = std::make_shared<Ref>(Ref::borrowed(arguments.tuple));
  return sampled(made, [calls, overhead, held, before = or_null(items[5]), process = getpid(),
                        collections = made.collections](std::uint64_t iterations) mutable {
    if (before != nullptr) Ref::owned(PyObject_CallNoArgs(before));
    const CollectorOff collector;
    const double ns = calls->time(iterations);
    end_where_forked(process);
    *collections += collector.runs();
    overhead.add(calls->overhead(iterations) * static_cast<double>(iterations));
    return ns;
  });
}

/// measure_batches(batch): `batch(iterations)` returns nanoseconds.
Ref measure_batches(Case& made, PyObject* function) {
  const auto batch = std::make_shared<Ref>(Ref::borrowed(function));
  return sampled(made, [batch, process = getpid(), collections = made.collections](std::uint64_t iterations) {
    const CollectorOff collector;
    const Ref count = Ref::owned(PyLong_FromUnsignedLongLong(iterations));
    const double ns =
        to_double(Ref::owned(PyObject_CallFunctionObjArgs(batch->get(), count.get(), nullptr)).get());
    end_where_forked(process);
    *collections += collector.runs();
    return ns;
  });
}

template <auto method>
constexpr PyMethodDef named(const char* name) {
  const auto entry = [](PyObject* self, PyObject* arguments) {
    return guarded(self, [&](Case& made) { return applied(+method, made, arguments); });
  };
  return {name, entry, METH_VARARGS, nullptr};
}

PyMethodDef methods[] = {
    named<spec>("spec"),
    named<[](Case& one, std::uint64_t bytes) { return std::uint64_t{one.state->rotate(bytes)}; }>("rotate"),
    named<[](Case& one, std::uint64_t bytes) { one.state->last_level_cache(bytes); }>("last_level_cache"),
    named<[](Case& one, std::uint64_t bytes) { one.state->require_memory(bytes); }>("require_memory"),
    named<work>("work"),
    named<[](Case& one, Text name, Text about) { one.state->input(name, about); }>("input"),
    named<[](Case& one, Text name, Text text) { one.state->note(name, text); }>("note"),
    named<[](Case& one, Text name, double amount, Text unit) { one.state->rate(name, amount, unit); }>(
        "rate"),
    named<[](Case& one, Text name, double value, Text unit, bool higher_is_better) {
      one.state->value(name, value, unit, direction_of(higher_is_better));
    }>("value"),
    named<column>("column"),
    named<add>("add"),
    named<series>("series"),
    named<[](Case& one, Text reason) { one.state->skip(reason); }>("skip"),
    named<[](Case& one, Text reason) { one.state->wrong_answer(reason); }>("wrong_answer"),
    named<[](Case&, Text reason) { throw std::runtime_error(reason); }>("fail"),
    named<[](Case& one) { one.state->verifies_samples(); }>("verifies_samples"),
    named<[](Case& one, PyObject* check) { one.checks->push_back(Ref::borrowed(check)); }>("after_samples"),
    named<[](Case& one) { return one.state->is_concluding(); }>("is_concluding"),
    named<check>("check"),
    named<measure>("measure"),
    named<measure_batches>("measure_batches"),
    named<[](Case& one) { return *one.collections; }>("collections"),
    {nullptr, nullptr, 0, nullptr}};

/// Clears the exception and describes it (headroom._errors).
std::string take_python_error() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value != nullptr && traceback != nullptr) PyException_SetTraceback(value, traceback);
  std::string message = "a Python exception";
  try {
    const Ref errors = Ref::owned(PyImport_ImportModule("headroom._errors"));
    message = to_text(Ref::owned(PyObject_CallMethod(errors.get(), "describe", "O", value)).get());
  } catch (const PythonError&) {
    PyErr_Clear();
  }
  // Otherwise a traceback keeps the inputs of the case alive.
  if (value != nullptr) PyException_SetTraceback(value, Py_None);
  for (PyObject* object : {type, value, traceback}) Py_XDECREF(object);
  PyErr_Clear();
  return message;
}

template <typename Function>
PyObject* guarded(Function&& function) {
  try {
    return function().release();
  } catch (const PythonError&) {
    return nullptr;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
    return nullptr;
  }
}

constexpr const char* kRegistryName = "headroom._core.Registry";

struct Caller {
  PyObject* interrupt = nullptr;  ///< called for Ctrl-C
  bool withholds_reply = false;   ///< for the request that Ctrl-C ended
  Ref type, value, traceback;     ///< raised by another signal's handler
};

struct Declared {
  Registry registry;
  Caller caller;
};

Declared& declared_of(PyObject* capsule) {
  auto* found = static_cast<Declared*>(PyCapsule_GetPointer(capsule, kRegistryName));
  if (found == nullptr) throw PythonError{};
  return *found;
}

Registry& registry_of(PyObject* capsule) {
  return declared_of(capsule).registry;
}

/// registry() -> capsule of experiments
Ref make_registry() {
  auto made = std::make_unique<Declared>();
  Ref capsule = Ref::owned(PyCapsule_New(made.get(), kRegistryName, [](PyObject* object) {
    delete static_cast<Declared*>(PyCapsule_GetPointer(object, kRegistryName));
  }));
  static_cast<void>(made.release());
  return capsule;
}

PyObject* member(PyObject* dict, const char* key) {
  PyObject* found = PyDict_GetItemString(dict, key);
  return found == Py_None ? nullptr : found;
}

std::string text_member(PyObject* dict, const char* key) {
  PyObject* found = member(dict, key);
  return found == nullptr ? std::string() : to_text(found);
}

/// Of (name, "integer" | "text" | "free" | "whole" | "real", [value], ["written" | "text" | "real"]), the
/// last of the values in their order.
Axis axis_of(PyObject* object) {
  const char *name = nullptr, *kind = nullptr;
  PyObject *values = nullptr, *types = nullptr;
  if (PyArg_ParseTuple(object, "ssOO", &name, &kind, &values, &types) == 0) throw PythonError{};
  const std::string called = kind;
  Axis axis{name, Axis::Kind::kText, to_texts(values)};
  if (called == "integer") axis.kind = Axis::Kind::kInteger;
  if (called == "free") axis.kind = Axis::Kind::kFree;
  if (called == "whole") axis.kind = Axis::Kind::kWhole;
  if (called == "real") axis.kind = Axis::Kind::kReal;
  for (std::string& value : axis.values) value = axis_text(axis, value);
  for (const std::string& type : to_texts(types)) {
    const bool is_text = type == "text", is_real = type == "real";
    axis.types.push_back(is_text ? AxisType::kText : is_real ? AxisType::kReal : AxisType::kAsWritten);
  }
  return axis;
}

/// On one thread, or alternating between two.
class RunningCase {
 public:
  explicit RunningCase(State& state) : state_(state) {}

  /// Calls `function` with a Case and returns its result. `kept`: measure() only fills that. Throws what
  /// ended the case: SkipCase, WrongAnswer, or for a Python exception PythonError with `kept`, else
  /// std::runtime_error. Needs the interpreter lock.
  Ref call(PyObject* function, Batch* kept) {
    const pid_t process = getpid();
    try {
      object_ = Ref::owned(PyType_GenericAlloc(case_type, 0));
      Case& made = as_case();
      made.state = &state_;
      made.pending = &pending_;
      made.columns = &columns_;
      made.collections = &collections_;
      made.kept = kept;
      made.checks = &checks_;
      PyObject* result = PyObject_CallFunctionObjArgs(function, object_.get(), nullptr);
      end_where_forked(process);
      if (result != nullptr && pending_) Py_CLEAR(result);
      if (pending_) {
        PyErr_Clear();
        std::rethrow_exception(pending_);
      }
      return Ref::owned(result);
    } catch (const PythonError&) {
      if (kept != nullptr) throw;
      throw std::runtime_error(take_python_error());
    }
  }

  /// Calls what after_samples() was given. Throws as call() with `kept`. Needs the interpreter lock.
  void check() {
    for (const Ref& check : checks_) {
      PyObject* result = PyObject_CallNoArgs(check.get());
      if (pending_) {
        PyErr_Clear();
        Py_XDECREF(result);
        std::rethrow_exception(std::exchange(pending_, nullptr));
      }
      Ref::owned(result);
    }
  }

  /// Python may keep the Case. Needs the interpreter lock.
  void end() {
    checks_.clear();
    if (object_.get() != nullptr) as_case().state = nullptr;
    object_ = Ref();
  }

 private:
  Case& as_case() { return *reinterpret_cast<Case*>(object_.get()); }

  State& state_;
  Ref object_;
  std::exception_ptr pending_;
  std::vector<Column> columns_;
  std::uint64_t collections_ = 0;
  std::vector<Ref> checks_;
};

/// Runs the case on its own thread. Call without the interpreter lock.
void run_in_python(PyObject* function, State& state) {
  const LockHeld lock;
  RunningCase running(state);
  state.after_samples([&] {
    const LockHeld held;  // measure() has released it
    running.check();
  });
  try {
    running.call(function, nullptr);
  } catch (...) {
    running.end();
    throw;
  }
  running.end();
}

void interrupt(Caller& caller) {
  PyErr_Clear();
  if (caller.interrupt != nullptr) Py_XDECREF(PyObject_CallNoArgs(caller.interrupt));
  PyErr_Clear();
}

/// Runs the case on the serving thread: first the function, which returns a callback for the end, then each
/// sample. Call without the interpreter lock.
void run_on_server(PyObject* function, State& state, Caller& caller) {
  RunningCase running(state);
  Batch batch;
  Ref end;
  // Ctrl-C ends the measurement.
  const auto with_interpreter = [&](auto&& work) {
    const LockHeld lock;
    try {
      return work();
    } catch (const PythonError&) {
      if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) throw std::runtime_error(take_python_error());
      interrupt(caller);
      caller.withholds_reply = true;
      throw std::runtime_error("interrupted");
    }
  };
  const auto finish = [&] {
    state.on_server([&] {
      with_interpreter([&] {
        if (end.get() != nullptr) Py_XDECREF(PyObject_CallNoArgs(end.get()));
        PyErr_Clear();
        end = Ref();
        batch = nullptr;
        running.end();
      });
    });
  };
  state.after_samples([&] { state.on_server([&] { with_interpreter([&] { running.check(); }); }); });
  try {
    state.on_server([&] { with_interpreter([&] { end = running.call(function, &batch); }); });
    if (batch) {
      state.measure_batches_on_server(
          [&](std::uint64_t iterations) { return with_interpreter([&] { return batch(iterations); }); });
    }
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

/// Released with the lock, while the interpreter exists.
std::shared_ptr<PyObject> keep_function(PyObject* function) {
  Py_INCREF(function);
  return {function, [](PyObject* object) {
            if (Py_IsInitialized() == 0) return;
            const LockHeld lock;
            Py_DECREF(object);
          }};
}

bool flag_member(PyObject* dict, const char* key) {
  PyObject* found = member(dict, key);
  return found != nullptr && to_bool(found);
}

Experiment::Function function_of(PyObject* function, bool on_server, Caller& caller) {
  const auto held = keep_function(function);
  if (!on_server) return [held](State& state) { run_in_python(held.get(), state); };
  return [held, &caller](State& state) { run_on_server(held.get(), state, caller); };
}

/// Throws ValueError if the name is taken.
void add_experiment(PyObject* capsule, Text name, PyObject* function, PyObject* about) {
  Declared& declared = declared_of(capsule);
  Experiment& made =
      declared.registry.add(name, function_of(function, flag_member(about, "on_server"), declared.caller));
  made.summary(text_member(about, "summary"));
  for_each(member(about, "axes"), [&](PyObject* item) { made.axis(axis_of(item)); });
  if (PyObject* backends = member(about, "backends")) {
    const std::vector<std::string> names = to_texts(backends);
    made.backends(std::span<const std::string>(names));
  }
  if (PyObject* variants = member(about, "variants")) {
    PyObject *backend = nullptr, *names = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(variants, &at, &backend, &names) != 0;)
      made.variants(to_text(backend), to_texts(names));
  }
  std::vector<int> threads;
  for_each(member(about, "threads"),
           [&](PyObject* item) { threads.push_back(static_cast<int>(to_unsigned(item))); });
  made.threads(std::move(threads));
  if (PyObject* metrics = member(about, "also_metrics")) made.also_metrics(to_texts(metrics));
  if (const std::string metric = text_member(about, "metric"); !metric.empty()) made.metric(metric);
  if (const std::string device = text_member(about, "device"); !device.empty()) made.device(device);
  if (const std::string model = text_member(about, "model"); !model.empty()) made.model(model);
  if (flag_member(about, "on_request")) made.on_request();
  if (flag_member(about, "places_itself")) made.places_itself();
  if (flag_member(about, "each_rank_counts")) made.each_rank_counts();
}

/// set_threads(registry, name, count): sets the default number of threads.
void set_threads(PyObject* capsule, Text name, int count) {
  Experiment* found = registry_of(capsule).find(name);
  if (found == nullptr) throw Error("unknown experiment " + name);
  found->threads({count});
}

/// serve(registry, name, descriptor, refusal or None): takes over a socket and answers headroom until it asks
/// to end.
void serve_at(PyObject* capsule, Text name, int descriptor, PyObject* refusal) {
  Registry& registry = registry_of(capsule);
  if (refusal != Py_None) registry.require_with([reason = to_text(refusal)] { throw Error(reason); });
  const LockReleased released;
  serve(Channel(descriptor), registry, name, {});
}

/// An exception of a handler, other than KeyboardInterrupt.
struct HandlerRaised {};

/// Throws HandlerRaised. Needs the interpreter lock.
void handle_signals(Caller& caller) {
  if (PyErr_CheckSignals() == 0) return;
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) return interrupt(caller);
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  caller.type = Ref::owned(type);
  if (value != nullptr) caller.value = Ref::owned(value);
  if (traceback != nullptr) caller.traceback = Ref::owned(traceback);
  throw HandlerRaised{};
}

class ServingCaller {
 public:
  ServingCaller(Caller& caller, PyObject* interrupted) : caller_(caller), cpus_(allowed_cpus()) {
    caller_.interrupt = interrupted;
  }
  ~ServingCaller() {
    pin_this_thread(cpus_);
    caller_.interrupt = nullptr;
  }
  ServingCaller(const ServingCaller&) = delete;
  ServingCaller& operator=(const ServingCaller&) = delete;

 private:
  Caller& caller_;
  const std::vector<int> cpus_;
};

/// serve_here(registry, name, descriptor, interrupt): like serve(). Experiments added with "on_server" run on
/// this thread. interrupt() is called for Ctrl-C and should end headroom; an exception of another signal's
/// handler ends the conversation and is raised here.
void serve_here(PyObject* capsule, Text name, int descriptor, PyObject* interrupted) {
  Declared& declared = declared_of(capsule);
  Caller& caller = declared.caller;
  {
    const ServingCaller serving(caller, interrupted);
    LockReleased released;
    const IdleHooks idle_hooks{[&] { released.with_lock([&] { handle_signals(caller); }); },
                               [&] { return !std::exchange(caller.withholds_reply, false); }};
    try {
      serve_connection(Channel(descriptor), declared.registry, name, {}, idle_hooks);
    } catch (const HandlerRaised&) {
    }
  }
  if (caller.type.get() == nullptr) return;
  PyErr_Restore(caller.type.release(), caller.value.release(), caller.traceback.release());
  throw PythonError{};
}

struct Conversation {
  Ref registry;
  std::unique_ptr<RegistryServer> server;
};

constexpr const char* kConversationName = "headroom._core.Conversation";

/// conversation(registry) -> answers requests without a channel
Ref make_conversation(PyObject* registry) {
  auto made = std::make_unique<Conversation>();
  made->server = std::make_unique<RegistryServer>(registry_of(registry));
  made->registry = Ref::borrowed(registry);
  Ref held = Ref::owned(PyCapsule_New(made.get(), kConversationName, [](PyObject* object) {
    auto* ended = static_cast<Conversation*>(PyCapsule_GetPointer(object, kConversationName));
    {
      const LockReleased released;  // its cases end in Python
      ended->server.reset();
    }
    delete ended;
  }));
  static_cast<void>(made.release());
  return held;
}

/// answer(conversation, request) -> reply, both JSON. ValueError for an invalid request.
Ref answer(PyObject* capsule, Text request) {
  auto* conversation = static_cast<Conversation*>(PyCapsule_GetPointer(capsule, kConversationName));
  if (conversation == nullptr) throw PythonError{};
  std::string reply;
  {
    const LockReleased released;
    reply = dump_json(conversation->server->answer(parse_json(request, "request")));
  }
  return to_python(reply);
}

template <typename T>
void fill_at(std::uint64_t address, std::uint64_t count, std::uint64_t seed) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  fill_random(std::span<T>(reinterpret_cast<T*>(static_cast<std::uintptr_t>(address)), count), seed);
}

/// fill_random(address, count, "f32" | "f64" | "bf16" | "int8", seed)
void fill_random_at(std::uint64_t address, std::uint64_t count, Text dtype, std::uint64_t seed) {
  const LockReleased released;
  if (dtype == "f32") fill_at<float>(address, count, seed);
  if (dtype == "f64") fill_at<double>(address, count, seed);
  if (dtype == "bf16") fill_at<Bf16>(address, count, seed);
  if (dtype == "int8") fill_at<std::int8_t>(address, count, seed);
}

template <typename Result, typename... Given>
Ref applied(Result (*function)(Given...), PyObject* arguments) {
  return returned([&] {
    return std::apply([&](auto&&... given) { return function(std::move(given)...); },
                      unpacked<std::remove_cvref_t<Given>...>(arguments));
  });
}

template <auto function>
constexpr PyMethodDef exported(const char* name) {
  const auto entry = [](PyObject*, PyObject* arguments) {
    return guarded([&] { return applied(+function, arguments); });
  };
  return {name, entry, METH_VARARGS, nullptr};
}

PyMethodDef functions[] = {exported<make_registry>("registry"),  exported<add_experiment>("add"),
                           exported<set_threads>("set_threads"), exported<serve_at>("serve"),
                           exported<serve_here>("serve_here"),   exported<make_conversation>("conversation"),
                           exported<answer>("answer"),           exported<fill_random_at>("fill_random"),
                           {nullptr, nullptr, 0, nullptr}};

PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "_core", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

bool add_type(PyObject* module, const char* name, PyObject* type) {
  if (type == nullptr) return false;
  // PyModule_AddObject steals a reference; ours lives as long as the process.
  Py_INCREF(type);
  return PyModule_AddObject(module, name, type) == 0;
}

/// Returns a new reference, or null with an exception set.
PyObject* make_case_type() {
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  static PyType_Spec spec = {"headroom._core.Case", sizeof(Case), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* made = PyType_FromSpec(&spec);
  case_type = reinterpret_cast<PyTypeObject*>(made);
  return made;
}

/// The exception that ends a skipped, wrong or released case; no `except Exception` catches it. Returns a new
/// reference, or null with an exception set.
PyObject* make_ended_type() {
  ended_type = PyErr_NewExceptionWithDoc("headroom._core.Ended", "Ends a case; do not catch it.",
                                         PyExc_BaseException, nullptr);
  return ended_type;
}

}  // namespace
}  // namespace headroom

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): Python's name
PyMODINIT_FUNC PyInit__core() {
  PyObject* module = PyModule_Create(&headroom::module_definition);
  if (module == nullptr) return nullptr;
  if (!headroom::add_type(module, "Case", headroom::make_case_type()) ||
      !headroom::add_type(module, "Ended", headroom::make_ended_type()) ||
      PyModule_AddStringConstant(module, "version", HEADROOM_VERSION) != 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
