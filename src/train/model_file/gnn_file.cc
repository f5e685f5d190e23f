#include "train/model_file/gnn_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "store/metadata_json.h"
#include "train/model_file/tensor_file.h"

namespace plimsoll {
namespace {

// What files of 0.1 do not have: all models of them give classes.
constexpr std::string_view kValues = "values";

// The options by name: the one list that both directions use.
template <typename Options, typename Visit>
void visit_options(Options& options, Visit&& visit) {
  visit("conv", options.conv);
  visit("in_features", options.in_features);
  visit("edge_features", options.edge_features);
  visit("num_ids", options.num_ids);
  visit("embedding", options.embedding);
  visit("layers", options.layers);
  visit("hidden", options.hidden);
  visit("heads", options.heads);
  visit("norm", options.norm);
  visit("jk", options.jk);
  visit("pooling", options.pooling);
  visit("dropout", options.dropout);
  visit("classes", options.classes);
  visit("node_head", options.node_head);
  visit("values", options.values);
}

GnnOptions read_options(const SafetensorsView& file, const std::string& path) {
  if (file.meta("plimsoll.model") != "gnn")
    throw InputError(
        fmt::format("{}: holds a model '{}', expected 'gnn'", path, file.meta("plimsoll.model")));
  GnnOptions options;
  read_metadata(file, "plimsoll.config", [&](const Json& config) {
    visit_options(options, [&](const char* key, auto& value) {
      if (key == kValues && !config.contains(key)) return;
      value = config.at(key).get<std::remove_reference_t<decltype(value)>>();
    });
  });
  constexpr int64_t kMost = int64_t{1} << 24;
  for (const int64_t size : {options.in_features, options.embedding, options.layers, options.hidden,
                             options.heads, options.classes})
    if (size < 1 || size > kMost)
      throw InputError(path + ": metadata 'plimsoll.config' holds an impossible size");
  return options;
}

}  // namespace

void save_gnn(const std::filesystem::path& path, const GnnModel& model) {
  std::map<std::string, TensorSpan> tensors = tensors_of(model.model->parameters());
  const std::vector<int64_t> vocabulary = widen(model.vocabulary);
  tensors["vocabulary.ids"] = as_tensor(vocabulary);
  Json config = Json::object();
  visit_options(model.model->options(), [&](const char* key, const auto& value) { config[key] = value; });
  write_safetensors(path, tensors,
                    {{"plimsoll.model", "gnn"},
                     {"plimsoll.config", config.dump()},
                     {"plimsoll.trained_on", model.trained_on}});
}

GnnModel load_gnn(const std::filesystem::path& path) {
  const SafetensorsView file(path);
  GnnModel model;
  model.model = std::make_unique<Gnn>(read_options(file, path.string()), 0);
  read_tensors(file, path.string(), model.model->parameters());
  model.vocabulary = read_ids(file, "vocabulary.ids");
  model.trained_on = file.meta("plimsoll.trained_on");
  return model;
}

}  // namespace plimsoll
