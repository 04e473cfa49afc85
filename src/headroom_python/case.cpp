// SPDX-License-Identifier: Apache-2.0
#include "headroom_python/case.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <vector>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

/// Number of collections of all generations in this process.
std::uint64_t collector_runs(PyObject* gc) {
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

/// The Python calls of one sample, and the cost of the same calls of an empty body. Needs the interpreter
/// lock.
class TimedCalls {
 public:
  /// `setup` may be null: it runs before each call of `body`, untimed. `synchronize` may be null: it runs
  /// after the last call, timed. With `takes_copy`, body and setup get the index of the copy, below
  /// `copies`. Throws PythonError.
  TimedCalls(PyObject* body, PyObject* setup, PyObject* synchronize, PyObject* nothing, bool takes_copy,
             std::size_t copies);

  /// Nanoseconds of `iterations` calls. Throws PythonError if one raises.
  double time(std::uint64_t iterations);
  /// Nanoseconds of one call of an empty body, called in the same way.
  double overhead(std::uint64_t iterations);

 private:
  void call(PyObject* function, std::size_t copy) const;
  double time_of(PyObject* body, PyObject* setup, std::uint64_t iterations);

  PyObject* body_;
  PyObject* setup_;
  PyObject* synchronize_;
  PyObject* nothing_;
  std::vector<Ref> copies_;  ///< their indices; empty: not passed
  std::size_t copy_ = 0;
};

/// Disables Python's garbage collector while it lives, if it was enabled.
class CollectorOff {
 public:
  CollectorOff();
  ~CollectorOff();
  CollectorOff(const CollectorOff&) = delete;
  CollectorOff& operator=(const CollectorOff&) = delete;

  /// Number of collections since then, which only the body can have requested. Throws PythonError.
  std::uint64_t runs() const;

 private:
  Ref gc_;
  bool was_on_ = false;
  std::uint64_t runs_before_ = 0;
};

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
  runs_before_ = collector_runs(gc_.get());
}

CollectorOff::~CollectorOff() {
  if (!was_on_) return;
  // May run while an exception propagates.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  Py_XDECREF(PyObject_CallMethod(gc_.get(), "enable", nullptr));
  PyErr_Restore(type, value, traceback);
}

std::uint64_t CollectorOff::runs() const {
  return collector_runs(gc_.get()) - runs_before_;
}

PyTypeObject* case_type = nullptr;
PyObject* ended_type = nullptr;

/// The object that Python holds. `state` is null once the function has returned.
struct Case {
  PyObject base;
  State* state;
  std::exception_ptr* pending;  ///< the C++ exception that ends the case
  std::vector<Column>* columns;
  std::uint64_t* collections;  ///< runs of the collector within samples
};

Case& self_of(PyObject* self) {
  Case& made = *reinterpret_cast<Case*>(self);
  if (made.state == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the case has ended: its state is of no use any more");
    throw PythonError{};
  }
  return made;
}

/// Calls `method(case, arguments)`. Keeps a C++ exception for run_in_python, and unwinds Python by Ended.
template <typename Method>
PyObject* guarded(PyObject* self, PyObject* arguments, Method&& method) {
  try {
    Case& made = self_of(self);
    try {
      return method(made, arguments).release();
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

/// The arguments of a call: `count` positional ones.
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

Direction direction_of(PyObject* higher_is_better) {
  return to_bool(higher_is_better) ? Direction::kHigherIsBetter : Direction::kLowerIsBetter;
}

/// spec() -> (experiment, {axis: value}, backend, variant, threads, is cold, seed)
Ref spec(Case& made, PyObject*) {
  const CaseSpec& asked = made.state->spec();
  const Ref axes = Ref::owned(PyDict_New());
  for (const auto& [name, value] : asked.axes) {
    const Ref text = to_python(value);
    if (PyDict_SetItemString(axes.get(), name.c_str(), text.get()) != 0) throw PythonError{};
  }
  return Ref::owned(Py_BuildValue("(sOssiOK)", asked.experiment.c_str(), axes.get(), asked.backend.c_str(),
                                  asked.variant.c_str(), asked.threads,
                                  asked.caches == Caches::kCold ? Py_True : Py_False,
                                  static_cast<unsigned long long>(asked.seed)));
}

Ref rotate(Case& made, PyObject* arguments) {
  return Ref::owned(PyLong_FromSize_t(made.state->rotate(to_unsigned(taken(arguments, 1)[0]))));
}

Ref last_level_cache(Case& made, PyObject* arguments) {
  made.state->last_level_cache(to_unsigned(taken(arguments, 1)[0]));
  return none();
}

Ref require_memory(Case& made, PyObject* arguments) {
  made.state->require_memory(to_unsigned(taken(arguments, 1)[0]));
  return none();
}

/// work(flops, bytes, bytes_written, dtype, exchanged)
Ref work(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 5);
  made.state->work({.flops = to_double(items[0]),
                    .bytes = to_double(items[1]),
                    .bytes_written = to_double(items[2]),
                    .dtype = to_text(items[3]),
                    .exchanged = to_double(items[4])});
  return none();
}

Ref input(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 2);
  made.state->input(to_text(items[0]), to_text(items[1]));
  return none();
}

Ref note(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 2);
  made.state->note(to_text(items[0]), to_text(items[1]));
  return none();
}

/// rate(name, amount, unit)
Ref rate(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 3);
  made.state->rate(to_text(items[0]), to_double(items[1]), to_text(items[2]));
  return none();
}

/// value(name, value, unit, higher_is_better)
Ref value(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 4);
  made.state->value(to_text(items[0]), to_double(items[1]), to_text(items[2]), direction_of(items[3]));
  return none();
}

/// column(name, unit, higher_is_better) -> its number
Ref column(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 3);
  made.columns->push_back(made.state->column(to_text(items[0]), to_text(items[1]), direction_of(items[2])));
  return Ref::owned(PyLong_FromSize_t(made.columns->size() - 1));
}

/// add(column, amount)
Ref add(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 2);
  const std::uint64_t index = to_unsigned(items[0]);
  if (index >= made.columns->size()) throw std::out_of_range("no such column");
  (*made.columns)[index].add(to_double(items[1]));
  return none();
}

/// series(name, unit, [value], {name: text})
Ref series(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 4);
  ToldSeries told{to_text(items[0]), to_text(items[1]), {}};
  const Ref iterator = Ref::owned(PyObject_GetIter(items[2]));
  while (PyObject* item = PyIter_Next(iterator.get()))
    told.values.push_back(to_double(Ref::owned(item).get()));
  if (PyErr_Occurred() != nullptr) throw PythonError{};
  PyObject *key = nullptr, *text = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(items[3], &at, &key, &text) != 0;)
    told.info[to_text(key)] = to_text(text);
  made.state->series(std::move(told));
  return none();
}

Ref skip(Case& made, PyObject* arguments) {
  made.state->skip(to_text(taken(arguments, 1)[0]));
}

Ref wrong_answer(Case& made, PyObject* arguments) {
  made.state->wrong_answer(to_text(taken(arguments, 1)[0]));
  return none();
}

/// fail(reason): fails the case by a Python exception.
Ref fail(Case&, PyObject* arguments) {
  throw std::runtime_error(to_text(taken(arguments, 1)[0]));
}

Ref verifies_samples(Case& made, PyObject*) {
  made.state->verifies_samples();
  return none();
}

Ref is_concluding(Case& made, PyObject*) {
  return Ref::borrowed(made.state->is_concluding() ? Py_True : Py_False);
}

template <typename T>
std::span<const T> values_at(PyObject* address, PyObject* count) {
  return {reinterpret_cast<const T*>(static_cast<std::uintptr_t>(to_unsigned(address))), to_unsigned(count)};
}

/// check(address, count, "f32" | "f64" | "bf16", address of float64s, count, rtol, atol, precision or None)
Ref check(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 8);
  Tolerance tolerance;
  tolerance.relative = to_double(items[5]);
  tolerance.absolute = to_double(items[6]);
  tolerance.sums_in = std::nullopt;
  if (or_null(items[7]) != nullptr) {
    const std::string precision = to_text(items[7]);
    for (const Precision known : kPrecisions) {
      if (precision == to_string(known)) tolerance.sums_in = known;
    }
    if (!tolerance.sums_in) throw Error("no precision is called " + precision);
  }
  const std::span<const double> expected = values_at<double>(items[3], items[4]);
  const std::string dtype = to_text(items[2]);
  if (dtype == "f32") made.state->check(values_at<float>(items[0], items[1]), expected, tolerance);
  if (dtype == "f64") made.state->check(values_at<double>(items[0], items[1]), expected, tolerance);
  if (dtype == "bf16") made.state->check(values_at<Bf16>(items[0], items[1]), expected, tolerance);
  return none();
}

/// A child of os.fork within a body would write to its parent's channel.
void end_where_forked(pid_t process) {
  if (getpid() != process) _exit(1);
}

/// measure(body, setup or None, synchronize or None, nothing, takes copy, before sample or None)
/// `nothing` is called like body, and does nothing.
Ref measure(Case& made, PyObject* arguments) {
  const auto items = taken(arguments, 6);
  PyObject* const before = or_null(items[5]);
  TimedCalls calls(items[0], or_null(items[1]), or_null(items[2]), items[3], to_bool(items[4]),
                   made.state->copies());
  Column overhead = made.state->column(kPythonOverhead, "ns");
  const pid_t process = getpid();
  LockReleased released;
  made.state->measure_batches([&](std::uint64_t iterations) {
    return released.with_lock([&] {
      if (before != nullptr) Ref::owned(PyObject_CallNoArgs(before));
      const CollectorOff collector;
      const double ns = calls.time(iterations);
      end_where_forked(process);
      *made.collections += collector.runs();
      overhead.add(calls.overhead(iterations) * static_cast<double>(iterations));
      return ns;
    });
  });
  return released.with_lock(none);
}

/// measure_batches(batch): `batch(iterations)` runs that many and returns their nanoseconds.
Ref measure_batches(Case& made, PyObject* arguments) {
  PyObject* const batch = taken(arguments, 1)[0];
  const pid_t process = getpid();
  LockReleased released;
  made.state->measure_batches([&](std::uint64_t iterations) {
    return released.with_lock([&] {
      const CollectorOff collector;
      const Ref count = Ref::owned(PyLong_FromUnsignedLongLong(iterations));
      const double ns =
          to_double(Ref::owned(PyObject_CallFunctionObjArgs(batch, count.get(), nullptr)).get());
      end_where_forked(process);
      *made.collections += collector.runs();
      return ns;
    });
  });
  return released.with_lock(none);
}

/// collections() -> number of collections within samples
Ref collections(Case& made, PyObject*) {
  return Ref::owned(PyLong_FromUnsignedLongLong(*made.collections));
}

template <Ref (*method)(Case&, PyObject*)>
PyObject* entry(PyObject* self, PyObject* arguments) {
  return guarded(self, arguments, method);
}

template <Ref (*method)(Case&, PyObject*)>
constexpr PyMethodDef named(const char* name) {
  return {name, entry<method>, METH_VARARGS, nullptr};
}

PyMethodDef kMethods[] = {named<spec>("spec"),
                          named<rotate>("rotate"),
                          named<last_level_cache>("last_level_cache"),
                          named<require_memory>("require_memory"),
                          named<work>("work"),
                          named<input>("input"),
                          named<note>("note"),
                          named<rate>("rate"),
                          named<value>("value"),
                          named<column>("column"),
                          named<add>("add"),
                          named<series>("series"),
                          named<skip>("skip"),
                          named<wrong_answer>("wrong_answer"),
                          named<fail>("fail"),
                          named<verifies_samples>("verifies_samples"),
                          named<is_concluding>("is_concluding"),
                          named<check>("check"),
                          named<measure>("measure"),
                          named<measure_batches>("measure_batches"),
                          named<collections>("collections"),
                          {nullptr, nullptr, 0, nullptr}};

/// Clears the current exception and returns its text, for exceptions that no Python wrapper caught.
std::string taken_error() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* text = value == nullptr ? nullptr : PyObject_Repr(value);
  std::string said = "an exception of Python";
  try {
    if (text != nullptr) said = to_text(text);
  } catch (const PythonError&) {
    PyErr_Clear();
  }
  for (PyObject* object : {text, type, value, traceback}) Py_XDECREF(object);
  PyErr_Clear();
  return said;
}

}  // namespace

PyObject* make_case_type() {
  static PyType_Slot slots[] = {{Py_tp_methods, kMethods}, {0, nullptr}};
  static PyType_Spec spec = {"headroom._door.Case", sizeof(Case), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* made = PyType_FromSpec(&spec);
  case_type = reinterpret_cast<PyTypeObject*>(made);
  return made;
}

PyObject* make_ended_type() {
  ended_type = PyErr_NewExceptionWithDoc("headroom._door.Ended", "A case has ended; let it pass.",
                                         PyExc_BaseException, nullptr);
  return ended_type;
}

void run_in_python(PyObject* function, State& state) {
  std::exception_ptr pending;
  std::vector<Column> columns;
  std::uint64_t runs = 0;
  const pid_t process = getpid();
  {
    const LockHeld lock;
    try {
      const Ref object = Ref::owned(PyType_GenericAlloc(case_type, 0));
      Case& made = *reinterpret_cast<Case*>(object.get());
      made.state = &state;
      made.pending = &pending;
      made.columns = &columns;
      made.collections = &runs;
      PyObject* result = PyObject_CallFunctionObjArgs(function, object.get(), nullptr);
      made.state = nullptr;
      end_where_forked(process);
      Ref::owned(result);
    } catch (const PythonError&) {
      const bool is_ended = PyErr_ExceptionMatches(ended_type) != 0;
      const std::string said = taken_error();
      if (!is_ended && !pending) pending = std::make_exception_ptr(std::runtime_error(said));
    }
  }
  if (pending) std::rethrow_exception(pending);
}

}  // namespace headroom
