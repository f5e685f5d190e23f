#include "can/detector/window_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "can/detector/fusion.h"
#include "can/profile/unknown_ids.h"
#include "can/score/profile_statistics.h"

namespace plimsoll {
namespace {

KeptColumns columns_of(const std::vector<std::string>& names, const DetectorFile& model) {
  std::vector<std::string> kept = names;
  return {kept, static_cast<int64_t>(names.size()), model.without};
}

}  // namespace

WindowScorer::WindowScorer(const DetectorFile& model, const GraphSetTables& tables)
    : node_columns_(columns_of(tables.node_features, model)),
      edge_columns_(columns_of(tables.edge_features, model)),
      network_(model.file),
      unknown_ids_apart_(model.unknown_ids_apart),
      unknown_index_(model.hides_identity() ? 0.0F : static_cast<float>(model.ids - 1)),
      parts_() {
  parts_.fill(std::numeric_limits<float>::quiet_NaN());
  const GatOptions& config = network_.config();
  if (config.in_features == node_columns_.count() && config.num_ids == model.ids &&
      (config.edge_features == 0 || config.edge_features == edge_columns_.count()))
    return;
  throw InputError(fmt::format(
      "{}: the model expects {} node features, {} edge features and {} IDs; its windows have {}, {} and {}; "
      "train it again",
      model.file.path(), config.in_features, config.edge_features, config.num_ids, node_columns_.count(),
      edge_columns_.count(), model.ids));
}

float WindowScorer::log_odds(GraphBlock& graph) {
  node_columns_.keep(graph.x);
  edge_columns_.keep(graph.edge_attr);
  const float score = network_.score(graph);
  if (!unknown_ids_apart_) return score;
  const int64_t nodes = graph.nodes();
  int64_t unknown = 0;
  for (int64_t n = 0; n < nodes; ++n)
    unknown += graph.x[static_cast<size_t>(n * node_columns_.count())] == unknown_index_;
  return is_stranger_among_known(nodes, unknown) ? score + kUnknownIdEvidence : score;
}

std::span<const float> WindowScorer::parts(GraphBlock& graph, const FrameStatistics& frames,
                                           bool own_profile) {
  std::ranges::copy(profile_statistics(graph, 0, frames, own_profile), parts_.begin());
  parts_[FusedRows::kGat] = log_odds(graph);
  return parts_;
}

}  // namespace plimsoll
