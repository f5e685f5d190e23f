#include "train/model_file/gnn_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "nn/sgmp.h"
#include "train/model_file/model_options.h"
#include "train/model_file/tensor_file.h"

namespace plimsoll {
namespace {

std::unique_ptr<GraphModel> model_of(const SafetensorsView& file) {
  const std::string kind = file.meta("plimsoll.model");
  if (kind == "gnn")
    return read_model(file, [options = gnn_options(file)] { return std::make_unique<Gnn>(options, 0); });
  if (kind == "sgmp" || kind == "gtmp") {
    SgmpOptions options = sgmp_options(file);
    options.gtmp = kind == "gtmp";
    return read_model(file, [&] { return std::make_unique<Sgmp>(options, 0); });
  }
  throw InputError(
      fmt::format("{}: holds a model '{}', expected 'gnn', 'sgmp' or 'gtmp'", file.path(), kind));
}

}  // namespace

const Gnn& GnnModel::gnn() const {
  const auto* found = dynamic_cast<const Gnn*>(model.get());
  if (found == nullptr) throw Failure("a model of paths was asked to run layer by layer on one giant graph");
  return *found;
}

void save_gnn(const std::filesystem::path& path, const GnnModel& model) {
  std::map<std::string, TensorSpan> tensors = tensors_of(model.model->parameters());
  tensors["vocabulary.ids"] = as_tensor(model.vocabulary.keys);
  const auto* sgmp = dynamic_cast<const Sgmp*>(model.model.get());
  const char* kind = sgmp == nullptr ? "gnn" : sgmp->options().gtmp ? "gtmp" : "sgmp";
  const Json config = sgmp == nullptr ? options_json(model.gnn().options()) : options_json(sgmp->options());
  TensorMetadata metadata = {{"plimsoll.model", kind},
                             {"plimsoll.config", config.dump()},
                             {"plimsoll.trained_on", model.trained_on}};
  put_channel_names(model.vocabulary.channels, metadata);
  write_safetensors(path, tensors, metadata);
}

GnnModel load_gnn(const std::filesystem::path& path) {
  const SafetensorsView file(path);
  GnnModel model;
  model.model = model_of(file);
  model.vocabulary = read_ids(file, "vocabulary.ids");
  model.trained_on = file.meta("plimsoll.trained_on");
  return model;
}

}  // namespace plimsoll
