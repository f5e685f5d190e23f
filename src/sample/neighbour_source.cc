#include "sample/neighbour_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/workers.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

// Blocks that may be under way at once: one that is read again is among the last so many.
constexpr size_t kRecent = 64;
// Of a cache, the share that topology has if it needs it.
constexpr int64_t kTopologyShare = 2;

SeedList list_of(const GraphView& graph, const std::string& name) {
  const auto* const split = std::ranges::find(kGraphSplits, name);
  const std::span<const int64_t> nodes = graph.split(static_cast<size_t>(split - kGraphSplits.begin()));
  SeedList list{name, {nodes.begin(), nodes.end()}, {}};
  for (const int64_t node : nodes) {
    if (node < 0 || node >= graph.nodes())
      throw InputError(fmt::format("{}: {}_idx names node {}, expected 0 .. {}; run `plimsoll verify`",
                                   graph.set().folder().string(), name, node, graph.nodes() - 1));
    list.labels.push_back(graph.y()[static_cast<size_t>(node)]);
  }
  return list;
}

std::vector<SeedList> lists_of(const GraphView& graph, const std::vector<std::string>& names) {
  const std::string folder = graph.set().folder().string();
  if (graph.x().empty())
    throw InputError(folder + ": nodes have no features (column x); give some to `plimsoll ingest graph`");
  if (graph.y().empty())
    throw InputError(folder + ": nodes have no labels (column y); give some to `plimsoll ingest graph`");
  std::vector<SeedList> lists;
  for (const std::string& name : names) lists.push_back(list_of(graph, name));
  return lists;
}

}  // namespace

NeighbourSource::NeighbourSource(const std::filesystem::path& folder, const NeighbourSourceOptions& options)
    : graph_(folder),
      options_(options),
      topology_(graph_),
      blocks_(lists_of(graph_, options.splits), options.blocks),
      width_(graph_.node_features()),
      rows_(FeatureFile::column(graph_.set(), "x")),
      sampler_(topology_, options.neighbours, options.seed) {
  tables_.node_features = graph_.tables().node_features;
}

void NeighbourSource::sample(NeighbourSampler& sampler, int64_t number, Sample& into) const {
  const SeedBlocks::Block block = blocks_.block(number);
  blocks_.seeds(block, into.seeds, into.labels);
  sampler.sample(into.seeds, block.epoch, into.graph);
}

GraphShape NeighbourSource::shape_of(const Sample& sample) {
  const SampledSubgraph& graph = sample.graph;
  GraphShape shape;
  shape.nodes = static_cast<int32_t>(graph.node.size());
  shape.edges = static_cast<int32_t>(graph.row.size());
  // Edges into a node stand together: it was expanded once.
  for (size_t first = 0, end = 0; first < graph.col.size(); first = end) {
    int32_t loops = 0;
    for (; end < graph.col.size() && graph.col[end] == graph.col[first]; ++end)
      loops += graph.row[end] == graph.col[end];
    const auto in = static_cast<int32_t>(end - first);
    shape.self_loops += loops;
    shape.most_in = std::max(shape.most_in, in);
    shape.most_in_without_loops = std::max(shape.most_in_without_loops, in - loops);
  }
  for (const int64_t label : sample.labels) {
    shape.labelled_nodes += label >= 0;
    shape.highest_node_label = std::max(shape.highest_node_label, static_cast<int32_t>(label));
  }
  return shape;
}

Vector<GraphShape, Tag::columns> NeighbourSource::shapes(int threads) const {
  Vector<GraphShape, Tag::columns> shapes(static_cast<size_t>(graphs()));
  // Nothing else needs the memory yet, and samples take little.
  const Ledger& ledger = Ledger::process();
  const bool unlimited = ledger.cap() == Ledger::kUnlimited;
  resize_topology(unlimited ? topology_.most_bytes() : (ledger.cap() - ledger.held()) / 2);
  struct Own {
    NeighbourSampler sampler;
    Sample sample;
  };
  {
    std::vector<Own> own;
    for (int i = 0; i < threads; ++i) own.push_back({{topology_, options_.neighbours, options_.seed}, {}});
    Workers workers(threads);
    workers.run_ordered(graphs(), [&](int64_t number, Turn& turn) {
      Own& mine = own[static_cast<size_t>(turn.worker())];
      sample(mine.sampler, number, mine.sample);
      shapes[static_cast<size_t>(number)] = shape_of(mine.sample);
    });
  }
  resize_topology(0);
  give_back_freed_memory();
  // What is read needs room that does not grow once the run is planned.
  const std::lock_guard lock(mutex_);
  for (const auto of : {&GraphShape::nodes, &GraphShape::edges}) {
    const int64_t largest = std::ranges::max_element(shapes, {}, of) - shapes.begin();
    sample(sampler_, largest, sample_);
    sample(sampler_, largest, coming_);
  }
  rows_.reserve(static_cast<int64_t>(sample_.graph.node.capacity()));
  return shapes;
}

void NeighbourSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  const std::lock_guard lock(mutex_);
  block.clear();
  for (const int64_t number : graphs) append(number, block);
}

void NeighbourSource::append(int64_t number, GraphBlock& block) const {
  sample(sampler_, number, sample_);
  const SampledSubgraph& graph = sample_.graph;
  const size_t nodes = graph.node.size();
  const size_t first = block.node_y.size();
  block.graph.push_back(number);
  block.node_ptr.push_back(block.node_ptr.back() + static_cast<int64_t>(nodes));
  block.edge_ptr.push_back(block.edge_ptr.back() + static_cast<int64_t>(graph.row.size()));
  block.y.push_back(0);
  block.node_y.insert(block.node_y.end(), sample_.labels.begin(), sample_.labels.end());
  block.node_y.resize(first + nodes, -1);
  for (size_t e = 0; e < graph.row.size(); ++e) {
    block.edges.push_back(static_cast<int32_t>(graph.row[e]));
    block.edges.push_back(static_cast<int32_t>(graph.col[e]));
  }
  const size_t begin = block.x.size();
  block.x.resize(begin + nodes * static_cast<size_t>(width_));
  gather(number, graph.node, reinterpret_cast<std::byte*>(block.x.data() + begin));
}

// The block that comes behind another where a run goes on: its epoch's, then those that validate.
std::optional<int64_t> NeighbourSource::behind(int64_t number) const {
  const SeedBlocks::Block block = blocks_.block(number);
  const int64_t per_epoch = blocks_.per_epoch();
  const int64_t next = number + 1;
  if (block.list == 0) {
    last_epoch_ = block.epoch;
    const bool epoch_goes_on = next % per_epoch != 0;
    if (epoch_goes_on) return next;
    if (blocks_.lists().size() > 1) return blocks_.numbers(1).front();
    return next < blocks_.blocks() ? std::optional(next) : std::nullopt;
  }
  if (next < blocks_.blocks() && blocks_.block(next).list == block.list) return next;
  const int64_t epoch = int64_t{last_epoch_} * per_epoch;
  if (block.list == 1 && last_epoch_ > 0 && blocks_.block(epoch).list == 0) return epoch;
  return std::nullopt;
}

void NeighbourSource::forget_plan() const {
  rows_.cache().forget_plan();
  planned_.clear();
  rows_of_planned_.clear();
  planned_rows_ = 0;
  early_.clear();
}

void NeighbourSource::plan_ahead() const {
  while (planned_rows_ < rows_.horizon()) {
    const std::optional<int64_t> next = behind(last_);
    if (!next) return;
    sample(sampler_, *next, coming_);
    const auto count = static_cast<int64_t>(coming_.graph.node.size());
    if (planned_rows_ + count > rows_.horizon()) return;
    try {
      rows_.cache().plan(coming_.graph.node);
    } catch (const BudgetExceeded&) {
      return;  // so far the budget allows to plan
    }
    planned_.push_back(*next);
    rows_of_planned_.push_back(count);
    planned_rows_ += count;
    last_ = *next;
  }
}

void NeighbourSource::gather(int64_t number, std::span<const int64_t> nodes, std::byte* out) const {
  const auto drop_front = [&] {
    planned_rows_ -= rows_of_planned_.front();
    rows_of_planned_.pop_front();
    planned_.pop_front();
  };
  if (!planned_.empty() && planned_.front() == number) {
    drop_front();
    rows_.cache().gather_planned(out);
  } else if (const auto at = std::ranges::find(planned_, number); at != planned_.end()) {
    early_.insert(number);
    rows_.cache().gather_early(at - planned_.begin(), out);
  } else {
    if (std::ranges::find(recent_, number) == recent_.end()) {  // the run goes on elsewhere
      forget_plan();
      last_ = number;
    }
    rows_.cache().gather(nodes, out);
  }
  recent_.push_back(number);
  if (recent_.size() > kRecent) recent_.pop_front();
  // A front that nobody reads would keep the plan where it is.
  while (!planned_.empty() && (early_.erase(planned_.front()) > 0 || early_.size() > kRecent)) {
    drop_front();
    rows_.cache().skip_planned();
  }
  plan_ahead();
}

void NeighbourSource::resize_topology(int64_t bytes) const {
  topology_.resize(std::clamp(bytes, topology_.least_bytes(), topology_.most_bytes()));
}

int64_t NeighbourSource::most_cache_bytes() const {
  return rows_.most_bytes() + topology_.most_bytes();
}

void NeighbourSource::resize_cache(int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  planned_.clear();
  rows_of_planned_.clear();
  planned_rows_ = 0;
  early_.clear();
  recent_.clear();
  // Features go first, lest both be there at once.
  rows_.resize(0);
  const int64_t least = topology_.least_bytes();
  const int64_t for_topology = std::max(bytes / kTopologyShare, bytes - rows_.most_bytes());
  resize_topology(least + for_topology);
  rows_.resize(bytes - std::min(for_topology, topology_.most_bytes() - least));
}

std::optional<RowCounters> NeighbourSource::row_counters() const {
  const std::lock_guard lock(mutex_);
  return rows_.counters();
}

}  // namespace plimsoll
