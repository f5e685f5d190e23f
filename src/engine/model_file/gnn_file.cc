#include "engine/model_file/gnn_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "engine/model_file/graph_models.h"
#include "engine/model_file/tensor_file.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

constexpr const char* kTrainedGraphs = "trained.graphs";
constexpr const char* kTrainedRecordings = "plimsoll.trained_recordings";
constexpr const char* kTrainedSplit = "plimsoll.trained_split";

// Files of older versions have none of these.
TrainedContents contents_of(const SafetensorsView& file) {
  TrainedContents contents;
  if (file.metadata().contains(kTrainedRecordings))
    contents.recordings = read_metadata(
        file, kTrainedRecordings, [](const Json& list) { return list.get<std::vector<std::string>>(); });
  if (file.metadata().contains(kTrainedSplit)) contents.split = file.meta(kTrainedSplit);
  const auto found = file.tensors().find(kTrainedGraphs);
  if (found == file.tensors().end()) return contents;
  const TensorSpan& tensor = found->second;
  if (tensor.dtype != "I64" || tensor.shape.size() != 1)
    throw InputError(fmt::format("{}: tensor '{}' is {} {}, expected I64 of one dimension", file.path(),
                                 kTrainedGraphs, tensor.dtype, Json(tensor.shape).dump()));
  contents.graphs.resize(tensor.data.size() / sizeof(int64_t));
  if (!contents.graphs.empty()) std::memcpy(contents.graphs.data(), tensor.data.data(), tensor.data.size());
  if (!std::ranges::is_sorted(contents.graphs))
    throw InputError(fmt::format("{}: tensor '{}' is not ascending", file.path(), kTrainedGraphs));
  return contents;
}

// Class names are indexed by the model's outputs.
void require_names(const GnnModel& model, const std::string& file) {
  const std::vector<std::string>& classes = model.names.classes;
  if (!classes.empty() && std::ssize(classes) != model.model->classes())
    throw InputError(
        fmt::format("{}: found names of {} classes, expected {}, the number of the model's outputs; train "
                    "the model again",
                    file, classes.size(), model.model->classes()));
}

}  // namespace

const Gnn& GnnModel::gnn() const {
  const auto* found = dynamic_cast<const Gnn*>(model.get());
  if (found == nullptr) throw Failure("a model of paths was asked to run layer by layer on one giant graph");
  return *found;
}

void save_gnn(const std::filesystem::path& path, const GnnModel& model) {
  std::map<std::string, TensorStream> tensors = streams_of(model.model->parameters());
  tensors["vocabulary.ids"] = stream_of(as_tensor(model.vocabulary.keys));
  const ModelDescription description = describe_model(*model.model);
  TensorMetadata metadata = {{"plimsoll.model", std::string(description.kind)},
                             {"plimsoll.config", description.options.dump()},
                             {"plimsoll.trained_on", model.trained_on}};
  const TrainedContents& contents = model.contents;
  if (!contents.graphs.empty())
    tensors[kTrainedGraphs] =
        stream_of({"I64", {std::ssize(contents.graphs)}, std::as_bytes(std::span(contents.graphs))});
  if (!contents.recordings.empty()) metadata[kTrainedRecordings] = Json(contents.recordings).dump();
  if (!contents.split.empty()) metadata[kTrainedSplit] = contents.split;
  put_channel_names(model.vocabulary.channels, metadata);
  put_names(model.names, metadata);
  write_safetensors(path, tensors, metadata);
}

GnnModel load_gnn(const std::filesystem::path& path) {
  GnnModel model;
  model.file = std::make_shared<const SafetensorsView>(path);
  const SafetensorsView& file = *model.file;
  model.model = read_graph_model(file);
  model.vocabulary = read_ids(file, "vocabulary.ids");
  model.trained_on = file.meta("plimsoll.trained_on");
  model.contents = contents_of(file);
  model.names = read_names(file);
  require_names(model, file.path());
  return model;
}

}  // namespace plimsoll
