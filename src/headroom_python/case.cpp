// SPDX-License-Identifier: Apache-2.0
#include "headroom_python/case.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <stdexcept>

#include "headroom/base/error.h"
#include "headroom_python/timed_calls.h"

namespace headroom {
namespace {

PyTypeObject* case_type = nullptr;
PyObject* ended_type = nullptr;

/// The object that Python has. `state` is null once the function has returned.
struct Case {
  PyObject base;
  State* state;
  std::exception_ptr* pending;  ///< what ends the case in C++
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

/// Calls `method(case, arguments)`. What C++ throws is kept for run_in_python, and Python unwinds by Ended.
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

/// The arguments of a call: `count` of them, positional.
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

/// fail(reason): the case failed by what Python raised.
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

/// A child of os.fork in a body would speak on its parent's line.
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

/// collections() -> how often the collector ran within samples all the same
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

/// The text of the exception that is set, which is none after that: for what no wrapper in Python caught.
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
