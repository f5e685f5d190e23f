#include "train/model_file/gnn_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "nn/sgmp.h"
#include "store/metadata_json.h"
#include "train/model_file/tensor_file.h"

namespace plimsoll {
namespace {

// What older files do not have: all models of them give classes, sum messages and nodes, and walk all paths.
constexpr std::array<std::string_view, 4> kNewer = {"values", "aggregate", "spanning_trees", "readout"};

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

template <typename Options, typename Visit>
void visit_sgmp(Options& options, Visit&& visit) {
  visit("in_features", options.in_features);
  visit("hidden", options.hidden);
  visit("layers", options.layers);
  visit("mode", options.mode);
  visit("cutoff", options.cutoff);
  visit("tile", options.tile);
  visit("direction", options.direction);
  visit("distances_only", options.distances_only);
  visit("aggregate", options.aggregate);
  visit("spanning_trees", options.spanning_trees);
  visit("readout", options.readout);
  visit("classes", options.classes);
  visit("node_head", options.node_head);
  visit("values", options.values);
}

// Sets what `visit_list` lists from the metadata of a file.
template <typename Options, typename VisitList>
Options read_options(const SafetensorsView& file, const VisitList& visit_list) {
  Options options;
  read_metadata(file, "plimsoll.config", [&](const Json& config) {
    visit_list(options, [&](const char* key, auto& value) {
      if (std::ranges::find(kNewer, key) != kNewer.end() && !config.contains(key)) return;
      value = config.at(key).template get<std::remove_reference_t<decltype(value)>>();
    });
  });
  return options;
}

void require_possible(const std::vector<int64_t>& sizes, const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 24;
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 1 || size > kMost; }))
    throw InputError(path + ": metadata 'plimsoll.config' holds an impossible size");
}

std::unique_ptr<GraphModel> model_of(const SafetensorsView& file, const std::string& path) {
  const std::string kind = file.meta("plimsoll.model");
  if (kind == "gnn") {
    const auto options =
        read_options<GnnOptions>(file, [](auto& list, auto visit) { visit_options(list, visit); });
    require_possible({options.in_features, options.embedding, options.layers, options.hidden, options.heads,
                      options.classes},
                     path);
    return std::make_unique<Gnn>(options, 0);
  }
  if (kind == "sgmp" || kind == "gtmp") {
    auto options = read_options<SgmpOptions>(file, [](auto& list, auto visit) { visit_sgmp(list, visit); });
    require_possible({options.in_features, options.layers, options.hidden, options.classes, options.tile},
                     path);
    if (!(options.cutoff > 0 && std::isfinite(options.cutoff)))
      throw InputError(path + ": metadata 'plimsoll.config' holds an impossible cutoff");
    if (options.spanning_trees < 0 || options.spanning_trees > 65535)
      throw InputError(path + ": metadata 'plimsoll.config' holds an impossible number of spanning trees");
    options.gtmp = kind == "gtmp";
    return std::make_unique<Sgmp>(options, 0);
  }
  throw InputError(fmt::format("{}: holds a model '{}', expected 'gnn', 'sgmp' or 'gtmp'", path, kind));
}

}  // namespace

const Gnn& GnnModel::gnn() const {
  const auto* found = dynamic_cast<const Gnn*>(model.get());
  if (found == nullptr) throw Failure("a model of paths was asked to run layer by layer on one giant graph");
  return *found;
}

void save_gnn(const std::filesystem::path& path, const GnnModel& model) {
  std::map<std::string, TensorSpan> tensors = tensors_of(model.model->parameters());
  const std::vector<int64_t> vocabulary = widen(model.vocabulary);
  tensors["vocabulary.ids"] = as_tensor(vocabulary);
  Json config = Json::object();
  const auto write = [&](const char* key, const auto& value) { config[key] = value; };
  std::string kind = "gnn";
  if (const auto* sgmp = dynamic_cast<const Sgmp*>(model.model.get())) {
    kind = sgmp->options().gtmp ? "gtmp" : "sgmp";
    visit_sgmp(sgmp->options(), write);
  } else {
    visit_options(model.gnn().options(), write);
  }
  write_safetensors(path, tensors,
                    {{"plimsoll.model", kind},
                     {"plimsoll.config", config.dump()},
                     {"plimsoll.trained_on", model.trained_on}});
}

GnnModel load_gnn(const std::filesystem::path& path) {
  const SafetensorsView file(path);
  GnnModel model;
  model.model = model_of(file, path.string());
  read_tensors(file, path.string(), model.model->parameters());
  model.vocabulary = read_ids(file, "vocabulary.ids");
  model.trained_on = file.meta("plimsoll.trained_on");
  return model;
}

}  // namespace plimsoll
