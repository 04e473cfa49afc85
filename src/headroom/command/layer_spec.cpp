// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/layer_spec.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom/base/glob.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

LayerSpec in_variable(std::string name, std::string variable,
                      std::vector<std::pair<std::string, std::string>> settings = {},
                      std::vector<LayerPart> parts = {}) {
  return {std::move(name),     LayerSpec::Kind::kVariable, std::move(variable),
          std::move(settings), std::move(parts),           ""};
}

/// As torch/_inductor has them: precompiled headers of C++ lie below TMPDIR whatever the variable says.
std::vector<LayerPart> inductor_parts() {
  return {{"inductor.fx_graph", {"fxgraph"}},
          {"inductor.aot_autograd", {"aotautograd"}},
          {"inductor.headers", {"precompiled_headers"}, true},
          {"inductor.triton", {"triton"}, false, "TRITON_CACHE_DIR"},
          {"inductor.autotune", {"cache", "*.best_config"}},
          {"inductor.code"}};
}

bool fits_any(const std::vector<std::string>& globs, const fs::path& path) {
  return std::ranges::any_of(path, [&](const fs::path& name) {
    return std::ranges::any_of(globs,
                               [&](const std::string& glob) { return fits_glob(glob, name.string()); });
  });
}

/// To add a layer that an environment variable places: a line here. The settings make the cache keep what a
/// benchmark compiles, where its defaults would not.
const std::vector<LayerSpec>& table() {
  static const std::vector<LayerSpec> layers{
      in_variable("inductor", "TORCHINDUCTOR_CACHE_DIR", {}, inductor_parts()),
      in_variable("triton", "TRITON_CACHE_DIR"),
      in_variable("cuda", "CUDA_CACHE_PATH"),
      in_variable("pocl", "POCL_CACHE_DIR"),
      in_variable("ccache", "CCACHE_DIR"),
      in_variable("jax", "JAX_COMPILATION_CACHE_DIR",
                  {{"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"},
                   {"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1"}}),
      in_variable("xla", "XLA_PERSISTENT_CACHE_PATH"),
      in_variable("openvino", "OPENVINO_TORCH_CACHE_DIR", {{"OPENVINO_TORCH_MODEL_CACHING", "True"}}),
  };
  return layers;
}

std::string expanded(std::string_view path) {
  const char* home = std::getenv("HOME");
  if (!path.starts_with("~/") || home == nullptr) return std::string(path);
  return home + std::string(path.substr(1));
}

bool is_variable_name(std::string_view text) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, fits);
}

LayerSpec layer_at(const std::string& text, LayerSpec::Kind kind, std::string_view path) {
  if (path.empty()) throw Error("no path in the cache layer " + in_quotes(text));
  return {text, kind, "", {}, {}, expanded(path)};
}

}  // namespace

std::string LayerSpec::method() const {
  if (kind == Kind::kVariable) {
    const bool in_both = std::ranges::any_of(parts, &LayerPart::in_temporary);
    return "fresh folder in " + variable + (in_both ? ", and TMPDIR" : "");
  }
  if (kind == Kind::kFolder) return path + " set aside";
  return path.empty() ? "all of the page cache dropped" : path + " dropped from the page cache";
}

std::optional<std::size_t> LayerSpec::part_of(const fs::path& file, bool in_temporary) const {
  if (parts.empty()) return in_temporary ? std::nullopt : std::optional<std::size_t>(0);
  std::optional<std::size_t> rest;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].in_temporary != in_temporary) continue;
    if (parts[i].entries.empty()) rest = i;
    if (fits_any(parts[i].entries, file)) return i;
  }
  return rest;
}

std::span<const LayerSpec> named_layers() {
  return table();
}

LayerSpec parse_layer(std::string_view asked) {
  const std::string text(asked);
  const auto after = [&](std::string_view prefix) { return std::string_view(asked).substr(prefix.size()); };
  if (text == "pages") return {text, LayerSpec::Kind::kPages, "", {}, {}, ""};
  if (text.starts_with("pages:")) return layer_at(text, LayerSpec::Kind::kPages, after("pages:"));
  if (text.starts_with("folder:")) return layer_at(text, LayerSpec::Kind::kFolder, after("folder:"));
  if (text.starts_with("env:")) {
    const std::string variable(after("env:"));
    if (!is_variable_name(variable)) {
      throw Error("no name of an environment variable in the cache layer " + in_quotes(text));
    }
    return in_variable(text, variable);
  }
  std::vector<std::string> names;
  for (const LayerSpec& layer : table()) {
    if (layer.name == text) return layer;
    names.push_back(layer.name);
  }
  throw Error("unknown cache layer " + in_quotes(text) + did_you_mean(text, names) + "; known are " +
              join(names, ", ") + ", and env:VARIABLE, folder:PATH, pages:PATH, pages");
}

}  // namespace headroom
