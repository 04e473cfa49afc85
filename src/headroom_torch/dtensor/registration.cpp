// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <list>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_torch/dtensor/dispatch.h"
#include "headroom_torch/dtensor/rule.h"
#include "headroom_torch/dtensor/selecting_gradients.h"
#include "headroom_torch/dtensor/wrapper.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// The keys that distributed tensors can have: below autograd, used by no kernel of libtorch, and such that
/// autograd and view tracking work on the wrapper. Fake leaves the backend of the device in place; the others
/// are backends themselves, which ATen's composite kernels would be called for before a fallback: operators
/// are registered for them one by one.
constexpr c10::DispatchKey kKeys[] = {c10::DispatchKey::Fake, c10::DispatchKey::PrivateUse3,
                                      c10::DispatchKey::PrivateUse2, c10::DispatchKey::PrivateUse1};
constexpr c10::DispatchKey kAutogradKeys[] = {
    c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA, c10::DispatchKey::AutogradPrivateUse3,
    c10::DispatchKey::AutogradPrivateUse2, c10::DispatchKey::AutogradPrivateUse1};

using Registrations = std::list<torch::Library>;

torch::Library& library(Registrations& registrations, torch::Library::Kind kind, const char* space,
                        c10::DispatchKey key) {
  return registrations.emplace_back(kind, space, key, __FILE__, __LINE__);
}

std::optional<c10::OperatorHandle> find_operator(const std::string& name) {
  const std::size_t dot = name.find('.');
  const auto found = c10::Dispatcher::singleton().findSchema(
      {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
  return found ? std::optional(*found) : std::nullopt;
}

/// Whether another library has kernels for the key: of any operator that has a rule.
bool has_kernels(c10::DispatchKey key) {
  for (const RuleEntry& entry : all_rules()) {
    const auto op = find_operator(entry.op);
    if (op && op->hasKernelForDispatchKey(key)) return true;
  }
  return false;
}

/// Every operator of ATen, but those that it composes of others for every backend, and differentiates so:
/// they stay composed.
void register_operators(torch::Library& aten) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    const bool is_composed = op && op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    if (!op || is_composed || name.name.rfind("aten::", 0) != 0) continue;
    const std::string full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    aten.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&dispatch>());
  }
}

bool take(c10::DispatchKey key, Registrations& registrations) {
  if (has_kernels(key)) return false;
  try {
    library(registrations, torch::Library::IMPL, "_", key)
        .fallback(torch::CppFunction::makeFromBoxedFunction<&dispatch>());
  } catch (const c10::Error&) {
    return false;
  }
  if (key != c10::DispatchKey::Fake)
    register_operators(library(registrations, torch::Library::IMPL, "aten", key));
  for (const c10::DispatchKey autograd : kAutogradKeys) {
    register_selecting_gradients(library(registrations, torch::Library::IMPL, "aten", autograd));
  }
  return true;
}

c10::DispatchKey take_first_free(Registrations& registrations) {
  std::vector<std::string> names;
  for (const c10::DispatchKey key : kKeys) {
    if (take(key, registrations)) return key;
    names.emplace_back(c10::toString(key));
  }
  throw Error(
      fmt::format("distributed tensors need one of the dispatch keys {}, and other libraries of this process "
                  "have taken them all: load fewer of them",
                  join(names, ", ")));
}

}  // namespace

void register_dispatch() {
  static const Registrations kRegistrations = [] {
    Registrations registrations;
    Wrapper::take(take_first_free(registrations));
    return registrations;
  }();
}

}  // namespace headroom::torch_runner::dtensor
