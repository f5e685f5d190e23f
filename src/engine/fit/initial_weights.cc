#include "engine/fit/initial_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/error.h"
#include "nn/target_units.h"
#include "store/safetensors.h"

namespace plimsoll {
namespace {

// Returns whether a tensor of a model file is not a weight but another fact about the model
// (engine/model_file).
bool is_fact(const std::string& name) {
  constexpr std::array kFacts = {"vocabulary.", "profile.", "timing.", "fusion.", "trained."};
  return std::ranges::any_of(kFacts, [&](const char* fact) { return name.starts_with(fact); });
}

}  // namespace

InitialWeights init_from(const std::filesystem::path& path, const ParameterList& parameters, bool own_scale) {
  const SafetensorsView file(path);
  InitialWeights found;
  std::vector<std::string> model_names;
  for (const ParameterList::Entry& entry : parameters.all()) {
    model_names.push_back(entry.name);
    const auto of_file = file.tensors().find(entry.name);
    if (of_file == file.tensors().end()) {
      found.absent.push_back(entry.name);
      continue;
    }
    if (own_scale && TargetUnits::is_buffer(entry.name)) {
      found.of_data.push_back(entry.name);
      continue;
    }
    const TensorSpan& tensor = of_file->second;
    if (tensor.dtype != "F32" || tensor.shape != entry.value.sizes().vec()) {
      found.other_shape.push_back(fmt::format("{} [{}], in the file {} [{}]", entry.name,
                                              fmt::join(entry.value.sizes(), ", "), tensor.dtype,
                                              fmt::join(tensor.shape, ", ")));
      continue;
    }
    std::copy_n(reinterpret_cast<const float*>(tensor.data.data()), entry.value.numel(),
                entry.value.data_ptr<float>());
    ++found.taken;
  }
  if (found.taken == 0)
    throw InputError(fmt::format("init_from: {} has no tensor with a name and shape of the model; it has {}",
                                 path.string(), fmt::join(file.tensors() | std::views::keys, ", ")));
  for (const auto& [name, tensor] : file.tensors())
    if (std::ranges::find(model_names, name) == model_names.end() && !is_fact(name))
      found.unused.push_back(name);
  return found;
}

std::string in_words(const InitialWeights& weights) {
  std::string text;
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("{}: {}\n", what, fmt::join(names, ", "));
  };
  add("not in the file, newly initialised", weights.absent);
  add("in the file with another shape, newly initialised", weights.other_shape);
  add("only in the file", weights.unused);
  add("from the data, not from the file (init_target_scale)", weights.of_data);
  return text;
}

}  // namespace plimsoll
