#include "detect/stream_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "base/unknown_ids.h"

namespace plimsoll {
namespace {

WindowOptions windows_of(WindowOptions windows, const DetectOptions& options) {
  const auto of = [&](const std::optional<WindowLength>& given, int64_t trained) {
    if (!given) return trained;
    if (given->unit != windows.unit)
      throw UsageError(fmt::format("the detector was trained on windows of {}: {} is of the other kind",
                                   WindowLength{windows.window, windows.unit}.text(), given->text()));
    return given->value;
  };
  windows.window = of(options.window, windows.window);
  windows.stride = of(options.stride, windows.stride);
  return windows;
}

float threshold_of(const DetectorFile& model, const DetectOptions& options) {
  const float level = options.threshold ? *options.threshold : model.threshold(options.false_alarms);
  if (!std::isfinite(level)) throw UsageError(fmt::format("a threshold of {} is no finite number", level));
  return level;
}

void require_fit(const DetectorFile& model, const GatConfig& config, int64_t node_features,
                 int64_t edge_features) {
  const auto ids = static_cast<int64_t>(model.known.vocabulary.size()) + 1;
  if (config.in_features == node_features && config.num_ids == ids &&
      (config.edge_features == 0 || config.edge_features == edge_features))
    return;
  throw InputError(fmt::format(
      "{}: the model reads {} node features, {} edge features and {} IDs; its windows have {}, {} and {}; "
      "train it again",
      model.file.path(), config.in_features, config.edge_features, config.num_ids, node_features,
      edge_features, ids));
}

}  // namespace

StreamDetector::StreamDetector(const std::filesystem::path& model, const DetectOptions& options)
    : StreamDetector(DetectorFile(model), options) {}

StreamDetector::StreamDetector(const DetectorFile& model, const DetectOptions& options)
    : trained_windows_(model.windows),
      windows_(windows_of(model.windows, options)),
      vocabulary_(model.known.vocabulary),
      stream_(windows_, model.known),
      network_(model.file),
      unknown_ids_apart_(model.unknown_ids_apart),
      threshold_(threshold_of(model, options)) {
  GraphSetTables tables = stream_.tables();
  const auto columns = [&](std::vector<std::string>& names) {
    return KeptColumns(names, static_cast<int64_t>(names.size()), model.without);
  };
  node_columns_ = columns(tables.node_features);
  edge_columns_ = columns(tables.edge_features);
  require_fit(model, network_.config(), node_columns_.count(), edge_columns_.count());
  const bool hidden = std::ranges::find(model.without, "id_index") != model.without.end();
  unknown_index_ = hidden ? 0.0F : static_cast<float>(vocabulary_.size());
}

bool StreamDetector::next(Verdict& verdict) {
  if (!stream_.next(verdict.window)) return false;
  GraphBlock& graph = stream_.graph();
  const FrameSpans frames = stream_.frames();
  verdict.labelled = frames.size() > 0 && frames.label.front() != kUnlabelled;
  verdict.attack = graph.y.front() == 1;
  node_columns_.keep(graph.x);
  edge_columns_.keep(graph.edge_attr);
  verdict.score = network_.score(graph);
  if (unknown_ids_apart_) {
    const int64_t nodes = graph.nodes();
    int64_t unknown = 0;
    for (int64_t n = 0; n < nodes; ++n)
      unknown += graph.x[static_cast<size_t>(n * node_columns_.count())] == unknown_index_;
    if (is_stranger_among_known(nodes, unknown)) verdict.score += kUnknownIdEvidence;
  }
  verdict.alarm = !(verdict.score <= threshold_);  // what is no number is no clean bill
  return true;
}

// Nodes of compat stand in the order of the vocabulary, with one for all unknown IDs.
std::vector<uint32_t> StreamDetector::node_ids() const {
  if (windows_.features == "behaviour") return stream_.node_ids();
  std::vector<uint32_t> ids;
  std::unordered_set<uint32_t> nodes;
  for (const uint32_t id : stream_.frames().can_id)
    if (nodes.insert(static_cast<uint32_t>(vocabulary_.index(id))).second) ids.push_back(id);
  std::ranges::sort(ids, {}, [&](uint32_t id) { return vocabulary_.index(id); });
  return ids;
}

}  // namespace plimsoll
