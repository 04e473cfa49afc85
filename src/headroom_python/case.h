// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"
#include "headroom_python/python.h"

namespace headroom {

/// The type `Case` of the extension: what a function of Python sees of the State of its case. A new
/// reference, or null with an exception set.
PyObject* make_case_type();

/// The exception by which a case ends that was skipped, is wrong or was released: no `except Exception`
/// catches it. A new reference, or null with an exception set.
PyObject* make_ended_type();

/// Calls `function` with a new Case for `state`, on this thread, and throws what ended it: SkipCase,
/// WrongAnswer, or std::runtime_error with what Python raised. Without the interpreter lock.
void run_in_python(PyObject* function, State& state);

}  // namespace headroom
