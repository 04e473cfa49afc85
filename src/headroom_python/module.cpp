// SPDX-License-Identifier: Apache-2.0
// headroom._door: headroom's registry, State and protocol for experiments in Python. The package headroom
// beside it is what people see.

#include <exception>
#include <memory>
#include <span>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/experiment/random.h"
#include "headroom/experiment/registry.h"
#include "headroom/process/channel.h"
#include "headroom/runner/serve.h"
#include "headroom_python/case.h"
#include "headroom_python/python.h"

namespace headroom {
namespace {

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

Ref none() {
  return Ref::borrowed(Py_None);
}

constexpr const char* kRegistryName = "headroom._door.Registry";

Registry& registry_of(PyObject* capsule) {
  auto* found = static_cast<Registry*>(PyCapsule_GetPointer(capsule, kRegistryName));
  if (found == nullptr) throw PythonError{};
  return *found;
}

/// registry() -> experiments to be served together
PyObject* make_registry(PyObject*, PyObject*) {
  return guarded([] {
    auto made = std::make_unique<Registry>();
    Ref capsule = Ref::owned(PyCapsule_New(made.get(), kRegistryName, [](PyObject* object) {
      delete static_cast<Registry*>(PyCapsule_GetPointer(object, kRegistryName));
    }));
    made.release();
    return capsule;
  });
}

/// The value of `key`; null where it is not there or None.
PyObject* member(PyObject* dict, const char* key) {
  PyObject* found = PyDict_GetItemString(dict, key);
  return found == Py_None ? nullptr : found;
}

std::string text_member(PyObject* dict, const char* key) {
  PyObject* found = member(dict, key);
  return found == nullptr ? std::string() : to_text(found);
}

/// Of (name, "integer" | "text" | "free", [value]).
Axis axis_of(PyObject* object) {
  const char *name = nullptr, *kind = nullptr;
  PyObject* values = nullptr;
  if (PyArg_ParseTuple(object, "ssO", &name, &kind, &values) == 0) throw PythonError{};
  const std::string called = kind;
  const Axis::Kind is = called == "integer" ? Axis::Kind::kInteger
                        : called == "free"  ? Axis::Kind::kFree
                                            : Axis::Kind::kText;
  return {name, is, to_texts(values)};
}

template <typename Use>
void for_each(PyObject* iterable, Use&& use) {
  if (iterable == nullptr) return;
  const Ref iterator = Ref::owned(PyObject_GetIter(iterable));
  while (PyObject* item = PyIter_Next(iterator.get())) use(Ref::owned(item).get());
  if (PyErr_Occurred() != nullptr) throw PythonError{};
}

/// A function of Python as that of an experiment. It lives as long as the experiment, and dies with the lock
/// held where the interpreter is still there.
Experiment::Function function_of(PyObject* function) {
  Py_INCREF(function);
  const std::shared_ptr<PyObject> held(function, [](PyObject* object) {
    if (Py_IsInitialized() == 0) return;
    const LockHeld lock;
    Py_DECREF(object);
  });
  return [held](State& state) { run_in_python(held.get(), state); };
}

/// add(registry, name, function, {...}): an experiment. A name that is taken is a ValueError.
PyObject* add(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *capsule = nullptr, *function = nullptr, *about = nullptr;
    const char* name = nullptr;
    if (PyArg_ParseTuple(arguments, "OsOO", &capsule, &name, &function, &about) == 0) throw PythonError{};
    Experiment& made = registry_of(capsule).add(name, function_of(function));
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
    if (member(about, "on_request") != nullptr && to_bool(member(about, "on_request"))) made.on_request();
    if (member(about, "places_itself") != nullptr && to_bool(member(about, "places_itself")))
      made.places_itself();
    if (member(about, "each_rank_counts") != nullptr && to_bool(member(about, "each_rank_counts")))
      made.each_rank_counts();
    return none();
  });
}

/// serve(registry, name, descriptor, refusal or None, whether the process is there for that alone): answers
/// headroom at the other end of a socket, which it takes over, until that asks to end.
PyObject* serve_at(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *capsule = nullptr, *refusal = nullptr;
    const char* name = nullptr;
    int descriptor = -1, is_all = 0;
    if (PyArg_ParseTuple(arguments, "OsiOp", &capsule, &name, &descriptor, &refusal, &is_all) == 0)
      throw PythonError{};
    Registry& registry = registry_of(capsule);
    if (refusal != Py_None) {
      const std::string reason = to_text(refusal);
      registry.require_with([reason] { throw Error(reason); });
    }
    const std::string called = name;
    LockReleased released;
    (is_all != 0 ? serve : converse)(Channel(descriptor), registry, called, {});
    return released.with_lock(none);
  });
}

/// One conversation about the experiments of a registry, which lives as long.
struct Conversation {
  Ref registry;
  std::unique_ptr<RegistryServer> server;
};

constexpr const char* kConversationName = "headroom._door.Conversation";

/// conversation(registry) -> what answers requests of the protocol, where somebody else has the line
PyObject* make_conversation(PyObject*, PyObject* capsule) {
  return guarded([&] {
    auto made = std::make_unique<Conversation>();
    made->server = std::make_unique<RegistryServer>(registry_of(capsule));
    made->registry = Ref::borrowed(capsule);
    Ref held = Ref::owned(PyCapsule_New(made.get(), kConversationName, [](PyObject* object) {
      auto* ended = static_cast<Conversation*>(PyCapsule_GetPointer(object, kConversationName));
      {
        const LockReleased released;  // its cases end in Python
        ended->server.reset();
      }
      delete ended;
    }));
    made.release();
    return held;
  });
}

/// answer(conversation, request) -> reply, JSON both. What it does not understand is a ValueError.
PyObject* answer(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject* capsule = nullptr;
    const char* text = nullptr;
    if (PyArg_ParseTuple(arguments, "Os", &capsule, &text) == 0) throw PythonError{};
    auto* conversation = static_cast<Conversation*>(PyCapsule_GetPointer(capsule, kConversationName));
    if (conversation == nullptr) throw PythonError{};
    const std::string request = text;
    std::string reply;
    {
      const LockReleased released;
      reply = dump_json(conversation->server->answer(parse_json(request, "request")));
    }
    return to_python(reply);
  });
}

template <typename T>
void fill_at(std::uint64_t address, std::uint64_t count, std::uint64_t seed) {
  fill_random(std::span<T>(reinterpret_cast<T*>(static_cast<std::uintptr_t>(address)), count), seed);
}

/// fill_random(address, count, "f32" | "f64" | "bf16" | "int8", seed)
PyObject* fill_random_at(PyObject*, PyObject* arguments) {
  return guarded([&] {
    unsigned long long address = 0, count = 0, seed = 0;
    const char* dtype = nullptr;
    if (PyArg_ParseTuple(arguments, "KKsK", &address, &count, &dtype, &seed) == 0) throw PythonError{};
    const std::string called = dtype;
    LockReleased released;
    if (called == "f32") fill_at<float>(address, count, seed);
    if (called == "f64") fill_at<double>(address, count, seed);
    if (called == "bf16") fill_at<Bf16>(address, count, seed);
    if (called == "int8") fill_at<std::int8_t>(address, count, seed);
    return released.with_lock(none);
  });
}

PyMethodDef kFunctions[] = {{"registry", make_registry, METH_NOARGS, nullptr},
                            {"add", add, METH_VARARGS, nullptr},
                            {"serve", serve_at, METH_VARARGS, nullptr},
                            {"conversation", make_conversation, METH_O, nullptr},
                            {"answer", answer, METH_VARARGS, nullptr},
                            {"fill_random", fill_random_at, METH_VARARGS, nullptr},
                            {nullptr, nullptr, 0, nullptr}};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_door", nullptr, -1, kFunctions, nullptr, nullptr, nullptr, nullptr};

bool add_type(PyObject* module, const char* name, PyObject* type) {
  if (type == nullptr) return false;
  // The module takes a reference over; ours lives as long as the process.
  Py_INCREF(type);
  return PyModule_AddObject(module, name, type) == 0;
}

}  // namespace
}  // namespace headroom

PyMODINIT_FUNC PyInit__door() {
  PyObject* module = PyModule_Create(&headroom::kModule);
  if (module == nullptr) return nullptr;
  if (!headroom::add_type(module, "Case", headroom::make_case_type()) ||
      !headroom::add_type(module, "Ended", headroom::make_ended_type()) ||
      PyModule_AddStringConstant(module, "version", HEADROOM_VERSION) != 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
