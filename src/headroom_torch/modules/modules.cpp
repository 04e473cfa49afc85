// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/modules/modules.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/experiment/sum_tolerance.h"
#include "headroom/experiment/tensor_spec.h"
#include "headroom_torch/calls/flop_counter.h"
#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

constexpr const char* kSource = "the call spec of the package";

std::size_t count_leaves(const Json& tree) {
  if (json_member(tree, "type", kSource).is_null()) return 1;
  std::size_t leaves = 0;
  for (const Json& child : json_array(tree, "children_spec", kSource)) leaves += count_leaves(child);
  return leaves;
}

c10::IValue take(const Json& tree, std::span<const at::Tensor>& leaves) {
  if (tree.at("type").is_null()) {
    c10::IValue leaf(leaves.front());
    leaves = leaves.subspan(1);
    return leaf;
  }
  std::vector<c10::IValue> children;
  for (const Json& child : tree.at("children_spec")) children.push_back(take(child, leaves));
  return c10::ivalue::Tuple::create(std::move(children));
}

}  // namespace

CallSpec::CallSpec(const std::string& text) {
  const Json document = parse_json(text, kSource);
  if (!document.is_array() || document.size() != 2) {
    throw Error(std::string(kSource) + ": expected [1, {\"type\": ...}], found " + text.substr(0, 80));
  }
  tree_ = document[1];
  size_ = count_leaves(tree_);
}

c10::IValue CallSpec::arranged(const std::vector<at::Tensor>& leaves) const {
  std::span<const at::Tensor> rest(leaves);
  if (leaves.size() == size_) return take(tree_, rest);
  return c10::ivalue::Tuple::create(std::vector<c10::IValue>(leaves.begin(), leaves.end()));
}

#if HEADROOM_TORCH_HAS_PACKAGES

namespace {

/// The libtorch.so next to this process's libtorch_cpu.so, which a package requires; the system's would
/// crash. Throws if loading fails.
void load_whole_libtorch() {
  Dl_info part{};
  if (::dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &part) == 0) return;
  const std::filesystem::path whole = std::filesystem::path(part.dli_fname).parent_path() / "libtorch.so";
  if (!std::filesystem::exists(whole)) return;
  if (::dlopen(whole.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) throw std::runtime_error(::dlerror());
}

std::unique_ptr<torch::inductor::AOTIModelPackageLoader> load(const std::string& path) {
  load_whole_libtorch();
  return std::make_unique<torch::inductor::AOTIModelPackageLoader>(path);
}

/// Makes a package check its inputs at its first call.
constexpr const char* kChecks = "AOTI_RUNTIME_CHECK_INPUTS";

class ChecksOfInputs {
 public:
  ChecksOfInputs() : set_here_(std::getenv(kChecks) == nullptr) {
    if (set_here_) ::setenv(kChecks, "1", 1);
  }
  ~ChecksOfInputs() {
    if (set_here_) ::unsetenv(kChecks);
  }
  ChecksOfInputs(const ChecksOfInputs&) = delete;
  ChecksOfInputs& operator=(const ChecksOfInputs&) = delete;

 private:
  bool set_here_;
};

/// Arguments (0) or results (1).
std::optional<CallSpec> spec_of(const std::vector<std::string>& specs, std::size_t which) {
  if (which >= specs.size() || specs[which].empty()) return std::nullopt;
  return CallSpec(specs[which]);
}

}  // namespace

PackagedModule::PackagedModule(const std::string& path, std::size_t inputs)
    : path_(path), loader_(load(path)) {
  const std::vector<std::string> specs = loader_->get_call_spec();
  const auto spec = [&](std::size_t which) {
    return with_context(quote(path), [&] { return spec_of(specs, which); });
  };
  results_ = spec(1);
  const std::optional<CallSpec> arguments = spec(0);
  if (!arguments || arguments->size() == inputs) return;
  throw Error(fmt::format("{} takes {} input{}, not {}: use one --input for each, in order", quote(path),
                          arguments->size(), arguments->size() == 1 ? "" : "s", inputs));
}

c10::IValue PackagedModule::value_of(const Results& results) const {
  if (results_) return results_->arranged(results);
  return results.size() == 1 ? c10::IValue(results.front()) : c10::IValue(results);
}

void PackagedModule::require(const Inputs& inputs) const {
  // Checks a second loader: the measured one must not check.
  const ChecksOfInputs checks;
  torch::inductor::AOTIModelPackageLoader(path_).run(inputs);
}

#endif

namespace {

/// A zip file lists its members at its end.
constexpr std::string_view kPackageFolder = "data/aotinductor/";
constexpr std::streamoff kListBytes = 1 << 20;

bool is_package(const std::string& path) {
  if (path.ends_with(".pt2")) return true;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (size <= 0) return false;
  std::string end(static_cast<std::size_t>(std::min(size, kListBytes)), '\0');
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  return end.find(kPackageFolder) != std::string::npos;
}

LoadedModule load_package(const std::string& path, [[maybe_unused]] std::size_t inputs) {
#if HEADROOM_TORCH_HAS_PACKAGES
  try {
    return PackagedModule(path, inputs);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(
        fmt::format("{} is not an AOTInductor package that libtorch {} can load: {}; "
                    "torch._inductor.aoti_compile_and_package writes one",
                    quote(path), kTorchVersion, failure_text(error)));
  }
#else
  throw Error(
      fmt::format("{} is an AOTInductor package: it needs libtorch 2.5 or newer, this headroom-torch was "
                  "built with {} (docs/how-to/torch.md: how to build it with another)",
                  quote(path), kTorchVersion));
#endif
}

void require_inputs(const std::string& path, const torch::jit::Module& module, std::size_t inputs) {
  const auto forward = module.find_method("forward");
  if (!forward) throw Error(quote(path) + " has no method forward() to call");
  std::vector<std::string> wanted;
  std::size_t least = 0;
  for (const c10::Argument& argument : forward->function().getSchema().arguments()) {
    if (argument.name() == "self") continue;
    wanted.push_back(argument.type()->str() + " " + argument.name());
    if (!argument.default_value()) ++least;
  }
  if (inputs >= least && inputs <= wanted.size()) return;
  throw Error(fmt::format("{}: forward({}) got {} input{}: use one --input for each, in this order",
                          quote(path), join(wanted, ", "), inputs, inputs == 1 ? "" : "s"));
}

torch::jit::Module load_script(const std::string& path) {
  try {
    torch::jit::Module module = torch::jit::load(path, at::kCPU);
    module.eval();
    return module;
  } catch (const std::exception& error) {
    throw Error(
        fmt::format("{} is not a TorchScript module that libtorch {} can read: {}; torch.jit.save writes one",
                    quote(path), kTorchVersion, failure_text(error)));
  }
}

}  // namespace

LoadedModule load_module(const std::string& path, std::size_t inputs) {
  if (is_package(path)) return load_package(path, inputs);
  torch::jit::Module module = load_script(path);
  require_inputs(path, module, inputs);
  return ScriptModule(std::move(module));
}

struct RegisteredModule {
  std::string name;  ///< also the backend's name
  std::string path;
  LoadedModule program;
};

struct RegisteredModules {
  std::vector<RegisteredModule> modules;
  std::vector<TensorSpec> inputs;
};

/// First the module must answer without NaN and three times alike, by when TorchScript has compiled it.
/// Counts FLOPs in the first call. Cold applies to inputs only. Throws Error and WrongAnswer.
void measure_module(State& state, RegisteredModules& registered);

namespace {

/// A compiled run may add in another order.
double tolerance_of(at::ScalarType type) {
  if (type == at::kDouble) return 1e-9;
  if (type == at::kBFloat16) return 0x1p-5;
  if (type == at::kHalf) return 0x1p-8;
  return at::isFloatingType(type) ? 1e-4 : 0;
}

void add(const at::Tensor& tensor, Answer& answer) {
  if (!tensor.defined() || tensor.is_complex()) return;
  const at::Tensor dense = (tensor.is_quantized() ? tensor.dequantize() : tensor).detach();
  const at::Tensor numbers = dense.to(at::kDouble).contiguous();
  const double* const first = numbers.data_ptr<double>();
  answer.values.insert(answer.values.end(), first, first + numbers.numel());
  answer.tolerance.relative = std::max(answer.tolerance.relative, tolerance_of(tensor.scalar_type()));
}

std::string shape_text(const at::Tensor& tensor) {
  return fmt::format("{}[{}]", at::toString(tensor.scalar_type()), fmt::join(tensor.sizes().vec(), ","));
}

/// Returns the shapes.
std::string collect(const c10::IValue& value, Answer& answer) {
  if (value.isTensor()) {
    add(value.toTensor(), answer);
    return value.toTensor().defined() ? shape_text(value.toTensor()) : "none";
  }
  std::vector<std::string> parts;
  if (value.isTuple()) {
    for (const c10::IValue& part : value.toTupleRef().elements()) parts.push_back(collect(part, answer));
  } else if (value.isList()) {
    for (const c10::IValue& part : value.toListRef()) parts.push_back(collect(part, answer));
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) parts.push_back(collect(entry.value(), answer));
  } else {
    return value.tagKind();
  }
  return "(" + join(parts, ", ") + ")";
}

/// Smaller inputs would need millions of copies, for the same time.
constexpr double kLeastBytes = 65536;

std::vector<at::Tensor> random_inputs(const std::vector<TensorSpec>& specs, std::uint64_t seed) {
  std::vector<at::Tensor> inputs;
  for (const TensorSpec& spec : specs) inputs.push_back(random_tensor(spec, seed + inputs.size()));
  return inputs;
}

template <typename Program>
std::vector<typename Program::Inputs> rotated(State& state, const std::vector<TensorSpec>& specs,
                                              const std::vector<at::Tensor>& first) {
  double bytes = 0;
  for (const TensorSpec& spec : specs) bytes += spec.bytes();
  const std::size_t copies = state.rotate(static_cast<std::size_t>(std::max(bytes, kLeastBytes)));
  state.require_memory(static_cast<std::size_t>(bytes) * copies);
  std::vector<typename Program::Inputs> rotation{Program::bind(first)};
  while (rotation.size() < copies) {
    std::vector<at::Tensor> copy;
    for (const at::Tensor& tensor : first) copy.push_back(tensor.clone());
    rotation.push_back(Program::bind(copy));
  }
  return rotation;
}

template <typename Call>
auto understandable(const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error("the module threw: " + failure_text(error));
  }
}

/// `first` must live until the measurement ends.
void verify(State& state, const Answer& first, const std::function<Answer()>& again) {
  if (const auto index = first_nan(first)) {
    state.wrong_answer(fmt::format("the module returns NaN at index {} of {} for inputs without NaN", *index,
                                   first.values.size()));
  }
  Answer last;
  for (int run = 2; run <= 3; ++run) {
    last = again();
    const double difference = largest_difference(last, first);
    if (difference <= first.tolerance.relative) continue;
    return state.wrong_answer(fmt::format(
        "run {} differs from run 1 on the same inputs: {} and {}, largest difference {:.2g} (tolerance "
        "{:.2g}); a module that is random, or changes its inputs or itself, cannot be verified",
        run, last.shapes, first.shapes, difference, first.tolerance.relative));
  }
  const auto check = [&state, &first](const Answer& answer) {
    state.check(std::span<const double>(answer.values), first.values, first.tolerance);
  };
  check(last);
  state.after_samples([check, again] { check(again()); });
}

void describe(State& state, const RegisteredModules& registered, const RegisteredModule& module,
              const char* kind) {
  for (std::size_t i = 0; i < registered.inputs.size(); ++i) {
    const TensorSpec& spec = registered.inputs[i];
    const bool is_float = spec.dtype.find('f') != std::string::npos;
    state.input(std::to_string(i), to_string(spec) + (is_float ? " normal(0,1)" : " uniform"));
  }
  state.note("module", module.path);
  state.note("module_bytes", std::to_string(std::filesystem::file_size(module.path)));
  state.note("module_kind", kind);
  state.note("libtorch", kTorchVersion);
  state.note("torch_threads", std::to_string(at::get_num_threads()));
}

/// By convention the first dimension of the first input.
double batch_of(const std::vector<TensorSpec>& inputs) {
  if (inputs.empty() || inputs.front().sizes.size() < 2) return 1;
  return static_cast<double>(inputs.front().sizes.front());
}

void report(State& state, const FlopCount& count, const Answer& answer,
            const std::vector<TensorSpec>& inputs) {
  // No single peak applies to several dtypes.
  state.work({.flops = count.flops, .dtype = count.dtypes.size() == 1 ? *count.dtypes.begin() : ""});
  state.rate("throughput", batch_of(inputs), "samples/s");
  state.note("output", answer.shapes);
  if (!count.counted.empty()) state.note("flops_counted", calls_text(count.counted));
  if (!count.not_counted.empty()) state.note("flops_not_counted", calls_text(count.not_counted));
}

template <typename Program>
Answer answer_to(Program& program, const typename Program::Inputs& inputs) {
  return answer_of(program.value_of(program(inputs)));
}

std::string difference_text(RegisteredModule& first, const std::vector<at::Tensor>& inputs,
                            const Answer& answer) {
  try {
    const Answer expected = std::visit(
        [&](auto& program) {
          const auto bound = program.bind(inputs);
          program.require(bound);
          return answer_to(program, bound);
        },
        first.program);
    if (answer.shapes != expected.shapes) return "other shapes: " + expected.shapes;
    return fmt::format("{:.3g}", largest_difference(answer, expected));
  } catch (const std::exception& error) {
    return "it threw: " + failure_text(error);
  }
}

template <typename Program>
void measure_program(State& state, RegisteredModules& registered, const RegisteredModule& module,
                     Program& program) {
  const std::vector<at::Tensor> inputs = random_inputs(registered.inputs, state.seed());
  const auto rotation = rotated<Program>(state, registered.inputs, inputs);
  understandable([&] { program.require(rotation.front()); });
  const auto answer = [&] { return understandable([&] { return answer_to(program, rotation.front()); }); };
  typename Program::Results results;
  const FlopCount count =
      count_flops([&] { results = understandable([&] { return program(rotation.front()); }); });
  const Answer first = answer_of(program.value_of(results));
  describe(state, registered, module, Program::kKind);
  report(state, count, first, registered.inputs);
  verify(state, first, answer);
  RegisteredModule& baseline = registered.modules.front();
  if (&baseline != &module)
    state.note("difference_to_" + baseline.name, difference_text(baseline, inputs, first));
  state.measure([&](std::size_t copy) { program(rotation[copy]); });
}

struct Request {
  std::vector<std::string> files;
  std::vector<TensorSpec> inputs;
};

Request parse(const std::vector<std::string>& arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (option != "--module" && option != "--input") {
      throw Error("headroom-torch takes --module FILE and --input SPEC, not " + quote(option));
    }
    if (i + 1 == arguments.size()) throw Error(option + " needs a value");
    if (option == "--module") {
      request.files.push_back(arguments[i + 1]);
    } else {
      request.inputs.push_back(parse_tensor_spec(arguments[i + 1]));
    }
  }
  if (request.files.empty()) throw Error("--input needs a module to call: name one with --module FILE");
  return request;
}

/// Stems; whole paths where stems repeat, numbered where paths repeat.
std::vector<std::string> names_of(const std::vector<std::string>& files) {
  const auto stem = [](const std::string& file) { return std::filesystem::path(file).stem().string(); };
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto same =
        std::ranges::count_if(files, [&](const std::string& file) { return stem(file) == stem(files[i]); });
    const auto earlier = std::count(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(i), files[i]);
    std::string name = same == 1 ? stem(files[i]) : files[i];
    if (earlier > 0) name += "#" + std::to_string(earlier + 1);
    names.push_back(std::move(name));
  }
  return names;
}

std::string inputs_text(const std::vector<TensorSpec>& inputs) {
  std::vector<std::string> texts;
  for (const TensorSpec& input : inputs) texts.push_back(to_string(input));
  return texts.empty() ? "none" : join(texts, " ");
}

}  // namespace

Answer answer_of(const c10::IValue& value) {
  Answer answer;
  answer.tolerance.relative = 0;
  answer.tolerance.sums_in = std::nullopt;  // compared with another run: no exact answer
  answer.shapes = collect(value, answer);
  return answer;
}

std::optional<std::size_t> first_nan(const Answer& answer) {
  const auto found = std::ranges::find_if(answer.values, [](double value) { return std::isnan(value); });
  if (found == answer.values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - answer.values.begin());
}

double largest_difference(const Answer& answer, const Answer& expected) {
  if (answer.shapes != expected.shapes || answer.values.size() != expected.values.size()) return INFINITY;
  const double rms = root_mean_square(expected.values);
  double largest = 0;
  for (std::size_t i = 0; i < answer.values.size(); ++i) {
    largest = std::max(largest, scaled_error(answer.values[i], expected.values[i], rms));
  }
  return largest;
}

void measure_module(State& state, RegisteredModules& registered) {
  use_threads_of(state);
  const at::NoGradGuard no_grad;
  const auto module = std::ranges::find(registered.modules, state.backend(), &RegisteredModule::name);
  if (module == registered.modules.end()) throw Error("there is no module " + state.backend());
  std::visit([&](auto& program) { measure_program(state, registered, *module, program); }, module->program);
}

void register_modules(Registry& registry, const std::vector<std::string>& arguments) {
  const Request request = parse(arguments);
  const std::vector<std::string> names = names_of(request.files);
  auto registered = std::make_shared<RegisteredModules>();
  registered->inputs = request.inputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    registered->modules.push_back(
        {names[i], request.files[i], load_module(request.files[i], request.inputs.size())});
  }
  registry.add("module", [registered](State& state) { measure_module(state, *registered); })
      .summary("programs from files, called with random inputs")
      .axis(Axis{"input", Axis::Kind::kText, {inputs_text(request.inputs)}})
      .backends(names);
}

}  // namespace headroom::torch_runner
