#include "ingest/swc/swc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/words.h"
#include "ingest/swc/swc_labels.h"
#include "ingest/swc/swc_source.h"
#include "ingest/text/source_hashes.h"
#include "store/graph_set.h"
#include "store/output.h"

namespace plimsoll {

enum class SwcFeature : uint8_t { radius, children, depth, type };
template <>
inline constexpr auto kWords<SwcFeature> = std::to_array<std::string_view>({"radius", "children", "depth",
                                                                            "type"});

namespace {

namespace fs = std::filesystem;

// Names of SWC types by number; all higher numbers are "other".
constexpr std::array<const char*, 9> kSwcTypes = {
    "undefined", "soma", "axon", "basal_dendrite", "apical_dendrite", "custom", "neurite", "glia", "other"};

void check(const SwcOptions& options) {
  if (options.step < 0) throw UsageError("--resample is below 0, expected a length such as 10um");
  if (options.features.empty())
    throw UsageError("--node-features is empty, expected one of radius, children, depth, type");
  for (const std::string& feature : options.features)
    if (std::ranges::count(options.features, feature) > 1)
      throw UsageError(fmt::format("--node-features: '{}' occurs twice", feature));
}

std::vector<SwcFeature> features_of(const SwcOptions& options) {
  std::vector<SwcFeature> features;
  for (const std::string& word : options.features)
    features.push_back(parse_word<SwcFeature>(word, "--node-features"));
  return features;
}

Json words_of(const SwcOptions& options) {
  return {{"format", "swc"},
          {"labels", options.labels.filename().string()},
          {"node_features", options.features},
          {"step", options.step},
          {"root", options.tree.root_at_soma ? "soma" : "first"},
          {"forest", options.tree.split ? "split" : "pick"},
          {"on_error", options.skip_errors ? "skip" : "fail"}};
}

/// The columns of trees, one graph after the other.
class TreeWriter {
 public:
  explicit TreeWriter(const SwcOptions& options) : features_(features_of(options)) {
    for (const SwcFeature feature : features_)
      if (feature == SwcFeature::type)
        names_.insert(names_.end(), kSwcTypes.begin(), kSwcTypes.end());
      else
        names_.emplace_back(word_of(feature));
    writer_.emplace(options.out, options.force, static_cast<int64_t>(names_.size()), 0);
  }

  /// Appends the nodes first .. last - 1; the first is the root.
  void append(const SwcTree& tree, size_t first, size_t last, int64_t label) {
    const size_t count = last - first;
    pos_.clear();
    x_.clear();
    edges_.clear();
    children_.assign(count, 0);
    depth_.assign(count, 0);
    const auto local = [&](size_t n) { return static_cast<size_t>(tree.nodes[n].parent) - first; };
    for (size_t n = first + 1; n < last; ++n) {
      ++children_[local(n)];
      depth_[n - first] = depth_[local(n)] + 1;
      const auto parent = static_cast<int32_t>(local(n));
      const auto child = static_cast<int32_t>(n - first);
      edges_.insert(edges_.end(), {parent, child, child, parent});
    }
    for (size_t n = first; n < last; ++n) {
      const SwcTree::Node& node = tree.nodes[n];
      pos_.insert(pos_.end(), {node.x, node.y, node.z});
      for (const SwcFeature feature : features_) {
        if (feature == SwcFeature::radius) x_.push_back(node.radius);
        if (feature == SwcFeature::children) x_.push_back(static_cast<float>(children_[n - first]));
        if (feature == SwcFeature::depth) x_.push_back(static_cast<float>(depth_[n - first]));
        if (feature != SwcFeature::type) continue;
        constexpr int32_t kOther = static_cast<int32_t>(kSwcTypes.size()) - 1;
        const int32_t type = node.type < 0 || node.type > kOther ? kOther : node.type;
        for (int32_t t = 0; t <= kOther; ++t) x_.push_back(t == type ? 1.0F : 0.0F);
      }
    }
    const std::array node_ptr{int64_t{0}, static_cast<int64_t>(count)};
    const std::array edge_ptr{int64_t{0}, static_cast<int64_t>(edges_.size() / 2)};
    writer_->append({.node_ptr = node_ptr,
                     .edge_ptr = edge_ptr,
                     .x = x_,
                     .edges = edges_,
                     .edge_attr = {},
                     .y = std::span(&label, 1),
                     .pos = pos_});
    ++graphs;
    nodes += node_ptr[1];
    edges += edge_ptr[1];
  }

  void publish(const Json& provenance) {
    GraphSetTables tables;
    tables.node_features = names_;
    tables.splits = {
        {.name = "all", .split = "", .first_graph = 0, .graphs = graphs, .attack = {}, .copy_of = {}}};
    writer_->publish(tables, provenance);
  }

  int64_t graphs = 0, nodes = 0, edges = 0;

 private:
  std::vector<SwcFeature> features_;
  std::vector<std::string> names_;
  std::optional<GraphSetWriter> writer_;
  Vector<float, Tag::ingest> pos_, x_;
  Vector<int32_t, Tag::ingest> edges_, children_, depth_;
};

void check_labels(const SwcLabels& labels, const SwcOptions& options, SwcResult& result,
                  const std::function<void(const std::string&)>& note) {
  const std::vector<SwcLabels::Unused> unused = labels.unused();
  if (unused.empty()) return;
  const std::string text =
      fmt::format("{}:{}: found '{}', expected a file of the sources{}", options.labels.string(),
                  unused[0].line, unused[0].file,
                  unused.size() > 1 ? fmt::format("; {} more lines are like this", unused.size() - 1) : "");
  if (!options.skip_errors) throw InputError(text + "; remove the lines, or give --on-error skip");
  result.skipped_labels = static_cast<int64_t>(unused.size());
  note(text);
}

SwcResult found_in(const GraphSetView& view) {
  const GraphSpans& graphs = view.graphs();
  SwcResult result{.already_there = true,
                   .graphs = graphs.graphs(),
                   .nodes = graphs.node_ptr.back(),
                   .edges = graphs.edge_ptr.back()};
  const Json& made = view.set().manifest().at("provenance").at("options");
  if (made.contains("classes")) result.classes = made.at("classes").get<std::vector<std::string>>();
  return result;
}

}  // namespace

SwcResult ingest_swc(const SwcOptions& options, const std::function<void(int64_t, int64_t)>& progress,
                     const std::function<void(const std::string&)>& note) {
  check(options);
  Charge of_sources(Tag::ingest);
  std::vector<fs::path> files = SwcSource::files(options.sources, of_sources);
  std::optional<SwcLabels> labels;
  if (!options.labels.empty()) {
    labels.emplace(options.labels);
    files.push_back(options.labels);
  }
  Json words = words_of(options);
  if (labels) words["classes"] = labels->classes();
  JsonTable hashes = source_hashes(files);
  const Json provenance = make_provenance(hashes.take(), words);
  if (is_made_already(options.out, options.force, provenance, files))
    return found_in(GraphSetView(options.out));

  SwcResult result;
  if (labels) result.classes = labels->classes();
  const auto source = SwcSource::open(options.sources);
  TreeWriter writer(options);
  SwcRows rows;
  Vector<char, Tag::ingest> text;
  for (std::string name; source->next(name, text);) {
    result.source_bytes += static_cast<int64_t>(text.size());
    try {
      const int64_t label = labels ? labels->find(name) : -1;
      if (labels && label < 0)
        throw InputError(fmt::format("{}: has no line for '{}'; add one, or give --on-error skip",
                                     options.labels.string(), name));
      read_swc({text.data(), text.size()}, name, rows);
      SwcChanges changes;
      SwcTree tree = make_swc_tree(rows, name, options.tree, changes);
      if (options.step > 0) tree = resample(tree, options.step);
      result.changes.add(changes);
      const auto& nodes = tree.nodes;
      for (size_t first = 0; first < nodes.size();) {
        size_t last = first + 1;
        while (last < nodes.size() && nodes[last].parent >= 0) ++last;
        writer.append(tree, first, last, label);
        first = last;
      }
      ++result.files;
      result.points += static_cast<int64_t>(rows.points.size());
    } catch (const InputError& error) {
      if (!options.skip_errors) throw;
      ++result.skipped_files;
      note(error.what());
    }
    progress(writer.graphs, 0);
  }
  if (writer.graphs == 0)
    throw InputError(fmt::format("{}: holds no trees, expected SWC files", options.sources.front().string()));
  if (labels) check_labels(*labels, options, result, note);
  result.graphs = writer.graphs;
  result.nodes = writer.nodes;
  result.edges = writer.edges;
  writer.publish(provenance);
  return result;
}

}  // namespace plimsoll
