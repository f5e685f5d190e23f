#include "run/training_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "base/units.h"
#include "base/word_text.h"
#include "sample/block/feature_selection.h"
#include "store/graph.h"
#include "store/graph_set.h"

namespace plimsoll {

namespace {

using Openers =
    std::map<std::string, OpenedData (*)(const std::filesystem::path&, const Recipe&, const MessageIds&)>;

Openers& openers() {
  static Openers all;
  return all;
}

using OverlapFinder = Overlap (*)(const DataSetView&);

OverlapFinder& overlap_finder() {
  static OverlapFinder find = [](const DataSetView&) { return Overlap(); };
  return find;
}

// Throws UsageError for options that do not work with one giant graph.
void require_for_giant_graph(const Recipe& recipe) {
  if (!recipe.data.without.empty())
    throw UsageError(
        "data.without is not for one giant graph; leave it out, and ingest the graph without these features "
        "(`plimsoll ingest graph`)");
  if (recipe.gnn.norm == NormKind::graph)
    throw UsageError(
        "gnn.norm: graph is computed over whole graphs, but a block of a giant graph is a sample of it; set "
        "gnn.norm: batch");
  const auto hops = static_cast<int64_t>(recipe.sampling.fan_outs.size());
  if (hops != recipe.gnn.layers)
    throw UsageError(
        fmt::format("sampling.fan_outs has {} hops, but gnn.layers is {}; give one hop per layer", hops,
                    recipe.gnn.layers));
}

// Throws UsageError for a recipe that reads columns which data of this kind cannot have.
void require_columns(const std::filesystem::path& folder, const std::string& kind, const Recipe& recipe) {
  if (recipe.gnn.edge_weight && kind != kGraphKind)
    throw UsageError(fmt::format(
        "gnn.edge_weight is for one giant graph with the column edge_weight, but {} is a {}; leave it out",
        folder.string(), kind));
  if (recipe.uses_paths() && kind != kGraphSetKind)
    throw UsageError(fmt::format(
        "model {} needs node coordinates, which only a graph_set can have, but {} is a {}; set another model",
        recipe.model, folder.string(), kind));
}

// Returns the number of graphs between training and validation that belong to neither side. With split.rule
// 1, the two sides may share data.
int64_t embargo_of(const SplitSection& split, const Overlap& overlap) {
  const int64_t needed = split.rule == 1 ? 0 : overlap.graphs;
  if (split.embargo.is_auto()) return std::max<int64_t>(needed, 1);
  const int64_t given = split.embargo.number<int64_t>();
  if (given < needed)
    throw UsageError(
        fmt::format("split.embargo is {}, but {} with the {} after it, so both sides of the split would "
                    "share data; set split.embargo to {} or more, or to auto",
                    given, overlap.what, needed, needed));
  return given;
}

NeighbourSourceOptions neighbour_options(const Recipe& recipe, const DataOptions& options) {
  const auto seed = static_cast<uint64_t>(recipe.seed);
  return {.neighbours = {.fan_outs = recipe.sampling.fan_outs,
                         .replace = recipe.sampling.replace,
                         .weighted = recipe.sampling.weighted},
          .blocks = {.epochs = recipe.training.max_epochs,
                     .batch_size = recipe.training.batch_size,
                     .block_seeds = std::min(recipe.training.block.seeds, recipe.training.batch_size),
                     .seed = seed},
          .seed = seed,
          .splits = options.seeds ? std::vector<std::string>{"train", "valid"} : std::vector<std::string>(),
          .edges = {.weight = recipe.gnn.edge_weight, .features = is_attention(recipe.gnn.conv)},
          .negatives = options.seeds ? options.negatives : std::nullopt,
          .labels = options.labels,
          .exclude_targets = recipe.sampling.exclude_targets,
          .scratch = options.scratch,
          .row_places = options.on_device};
}

}  // namespace

void register_opener(const std::string& kind,
                     OpenedData (*open)(const std::filesystem::path& folder, const Recipe& recipe,
                                        const MessageIds& vocabulary)) {
  openers()[kind] = open;
}

std::vector<std::string> opened_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, open] : openers()) kinds.push_back(kind);
  return kinds;
}

void register_overlap(Overlap (*find)(const DataSetView& set)) {
  overlap_finder() = find;
}

TrainingData::TrainingData(const std::filesystem::path& folder, const Recipe& recipe, DataOptions options)
    : root_(recipe.pretraining.root) {
  const std::string kind = kind_of(folder);
  require_columns(folder, kind, recipe);
  if (kind == kGraphKind) {
    open_graph(folder, recipe, options);
    return;
  }
  const auto opener = openers().find(kind);
  if (opener != openers().end())
    take(opener->second(folder, recipe, options.vocabulary));
  else
    open_graph_set(folder, recipe, options);
  hide_features(recipe);
}

TrainingData::TrainingData(const std::filesystem::path& folder, const Recipe& recipe, OpenedData opened)
    : root_(recipe.pretraining.root) {
  require_columns(folder, kind_of(folder), recipe);
  take(std::move(opened));
  hide_features(recipe);
}

void TrainingData::open_graph(const std::filesystem::path& folder, const Recipe& recipe,
                              const DataOptions& options) {
  require_for_giant_graph(recipe);
  auto graph = std::make_unique<NeighbourSource>(folder, neighbour_options(recipe, options));
  identity_ = graph->graph().set().identity();
  unit_ = "blocks";
  neighbours_ = graph.get();
  source_ = std::move(graph);
}

void TrainingData::open_graph_set(const std::filesystem::path& folder, const Recipe& recipe,
                                  const DataOptions& options) {
  auto graphs =
      std::make_unique<GraphSetSource>(folder, GraphColumnsAsked{options.targets, recipe.uses_paths()});
  identity_ = graphs->set().identity();
  overlap_ = overlap_finder()(graphs->set());
  source_ = std::move(graphs);
  if (!options.forests) return;
  auto forests = std::make_unique<ForestSource>(std::move(source_), root_);
  forests_ = forests.get();
  source_ = std::move(forests);
}

void TrainingData::take(OpenedData opened) {
  owner_ = std::move(opened.owner);
  source_ = std::move(opened.source);
  identity_ = std::move(opened.identity);
  unit_ = opened.unit;
  overlap_ = std::move(opened.overlap);
}

void TrainingData::hide_features(const Recipe& recipe) {
  if (!recipe.data.without.empty())
    source_ = std::make_unique<FeatureSelection>(std::move(source_), recipe.data.without);
}

void TrainingData::order_features(const FeatureOrder& order) {
  if (neighbours_ == nullptr && (order.nodes.changes() || order.edges.changes()))
    source_ = std::make_unique<OrderedFeatures>(std::move(source_), order);
}

std::string TrainingData::forests_in_words() const {
  const ForestCounts counts = forests();
  if (counts.graphs == 0) return {};
  return fmt::format(
      "{} of {} graphs became breadth-first forests from {}; {} edges were left out",
      format_count(counts.graphs), format_count(source_->graphs()),
      root_ == ForestSource::kMaxNeighbours ? "the node with the most edges" : fmt::format("node {}", root_),
      format_count(counts.edges_left_out));
}

std::string TrainingData::identity_hash() const {
  Hasher hasher;
  const std::string text = identity_.dump();
  hasher.add(text.data(), text.size());
  return hasher.hex64();
}

Recipe block_recipe(Recipe recipe, const TrainingData& data) {
  if (data.neighbours() == nullptr) return recipe;
  constexpr auto kNone = std::numeric_limits<int64_t>::max();
  recipe.training.batch_size = data.neighbours()->blocks().per_batch();
  recipe.training.block = {.graphs = 1, .nodes = kNone, .edges = kNone};
  return recipe;
}

int threads_that_read(const std::filesystem::path& folder) {
  // For one giant graph: one thread that samples, and three that read rows ahead (rows/spilled_features.h).
  // Thread pools for reading account for their own memory (memory/enforce.h).
  constexpr int kOfGraph = 4;
  return kind_of(folder) == kGraphKind ? kOfGraph : 0;
}

TrainingSplit split_for(const Recipe& recipe, const TrainingData& data, std::span<const GraphShape> shapes) {
  if (const NeighbourSource* const graph = data.neighbours())
    return {.training = graph->blocks().numbers(0),
            .validation = graph->blocks().numbers(1),
            .fresh_epochs = true};
  const BlockSource& source = data.source();
  const SplitSection& split = recipe.split;
  const auto seed = static_cast<uint64_t>(recipe.seed);
  const GraphSetTables& tables = source.tables();
  if (split.by == SplitBy::graph) {
    if (!split.leave_out.empty())
      throw UsageError(
          "split.leave_out names attacks of recordings, but split.by is graph; set split.by: time or "
          "recording");
    return split_by_graph(tables, shapes, split.validation, split.test, seed, split.rule);
  }
  if (tables.recordings.empty())
    throw UsageError(
        fmt::format("split.by is '{}', but the data set has no recordings; set split.by: graph", split.by));
  return split.by == SplitBy::recording
             ? split_by_recording(tables, split.validation, seed, split.leave_out)
             : split_by_time(tables, split.validation, embargo_of(split, data.overlap()), split.leave_out);
}

}  // namespace plimsoll
