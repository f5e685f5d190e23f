#include "engine/fit/initial_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
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

// Rows that belong to nodes mean nothing for another number of nodes, and cannot be read at another width.
void require_same_rows(const SafetensorsView& file, const ParameterList::Entry& table,
                       const TensorSpan& found) {
  if (found.dtype == "F32" && found.shape == table.shape()) return;
  throw InputError(fmt::format(
      "init_from: {} has embeddings of nodes {} [{}], expected F32 [{}], one row for each node of the data "
      "and "
      "gnn.embedding numbers in it; use the nodes and the gnn.embedding of that run, or leave out init_from",
      file.path(), found.dtype, fmt::join(found.shape, ", "), fmt::join(table.shape(), ", ")));
}

}  // namespace

InitialWeights init_from(const std::filesystem::path& path, const ParameterList& parameters, bool own_scale) {
  const auto opened = std::make_shared<const SafetensorsView>(path);
  const SafetensorsView& file = *opened;
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
    if (entry.lazy) require_same_rows(file, entry, tensor);
    if (tensor.dtype != "F32" || tensor.shape != entry.shape()) {
      found.other_shape.push_back(fmt::format("{} [{}], in the file {} [{}]", entry.name,
                                              fmt::join(entry.shape(), ", "), tensor.dtype,
                                              fmt::join(tensor.shape, ", ")));
      continue;
    }
    const auto* const numbers = reinterpret_cast<const float*>(tensor.data.data());
    if (entry.stored != nullptr)
      entry.stored->start_from({numbers, tensor.data.size() / sizeof(float)}, opened);
    else
      std::copy_n(numbers, entry.value.numel(), entry.value.data_ptr<float>());
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
