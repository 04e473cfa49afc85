// SPDX-License-Identifier: Apache-2.0
#include "headroom_python/python.h"

namespace headroom {

Ref Ref::owned(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  Ref made;
  made.object_ = object;
  return made;
}

Ref Ref::borrowed(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  Py_INCREF(object);
  return owned(object);
}

std::string to_text(PyObject* object) {
  Py_ssize_t size = 0;
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "expected a str, not %R", object);
    throw PythonError{};
  }
  // Its UTF-8 as bytes: the text's own is in the limited API from 3.10 on only.
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

std::vector<std::string> to_texts(PyObject* sequence) {
  std::vector<std::string> texts;
  const Ref iterator = Ref::owned(PyObject_GetIter(sequence));
  while (PyObject* item = PyIter_Next(iterator.get())) {
    const Ref held = Ref::owned(item);
    texts.push_back(to_text(held.get()));
  }
  if (PyErr_Occurred() != nullptr) throw PythonError{};
  return texts;
}

Ref to_python(const std::string& text) {
  return Ref::owned(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

}  // namespace headroom
