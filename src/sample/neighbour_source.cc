#include "sample/neighbour_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/error.h"
#include "base/workers.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

// Blocks that may be under way at once: one that is read again is among the last so many.
constexpr size_t kRecent = 64;
// Blocks in which it is counted how often a node is used: a byte has room for all.
constexpr int64_t kCountedBlocks = 255;
// Of a cache, what the topology has if it needs it: a page of lists is wanted by more blocks than the rows of
// features that would fit in its place.
constexpr int64_t kTopologyQuarters = 3;

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

SeedList edges_of(const GraphView& graph, const std::string& name) {
  const auto split = static_cast<size_t>(std::ranges::find(kGraphSplits, name) - kGraphSplits.begin());
  if (!graph.set().has_column(edges_column(split)))
    throw InputError(fmt::format(
        "{}: found no edges to predict (column {}), expected a graph whose edges are split; make one by "
        "`plimsoll split-edges`",
        graph.set().folder().string(), edges_column(split)));
  return {.name = name, .edges = graph.split_edges(split)};
}

std::vector<SeedList> lists_of(const GraphView& graph, const NeighbourSourceOptions& options) {
  const std::string folder = graph.set().folder().string();
  if (graph.x().empty())
    throw InputError(folder + ": nodes have no features (column x); give some to `plimsoll ingest graph`");
  std::vector<SeedList> lists;
  if (options.negatives) {
    for (const std::string& name : options.splits) lists.push_back(edges_of(graph, name));
    return lists;
  }
  if (graph.y().empty())
    throw InputError(folder + ": nodes have no labels (column y); give some to `plimsoll ingest graph`");
  for (const std::string& name : options.splits) lists.push_back(list_of(graph, name));
  return lists;
}

// Source and target of each edge.
template <typename Edges>
void pair_edges(const SampledSubgraph& graph, Edges& edges) {
  edges.clear();
  for (size_t e = 0; e < graph.row.size(); ++e) {
    edges.push_back(static_cast<int32_t>(graph.row[e]));
    edges.push_back(static_cast<int32_t>(graph.col[e]));
  }
}

}  // namespace

NeighbourSource::NeighbourSource(const std::filesystem::path& folder, const NeighbourSourceOptions& options)
    : graph_(folder),
      options_(options),
      topology_(graph_),
      blocks_(lists_of(graph_, options), options.blocks),
      width_(graph_.node_features()),
      rows_(FeatureFile::column(graph_.set(), "x")),
      sampler_(topology_, options.neighbours, options.seed),
      ahead_sampler_(topology_, options.neighbours, options.seed) {
  tables_.node_features = graph_.tables().node_features;
}

void NeighbourSource::sample(NeighbourSampler& sampler, int64_t number, Sample& into) const {
  const SeedBlocks::Block block = blocks_.block(number);
  if (options_.negatives) {
    if (!into.links) into.links.emplace(topology_, graph_, *options_.negatives, options_.seed);
    into.links->make(blocks_, block, into.seeds, into.pairs, into.pair_y);
  } else {
    blocks_.seeds(block, into.seeds, into.labels);
  }
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
  shape.pairs = static_cast<int32_t>(sample.pair_y.size());
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
  resize_topology(unlimited ? topology_.most_bytes() : (ledger.cap() - ledger.held()) / 4 * 3);
  struct Own {
    NeighbourSampler sampler;
    Sample sample;
  };
  {
    std::vector<Own> own;
    for (int i = 0; i < threads; ++i) own.push_back({{topology_, options_.neighbours, options_.seed}, {}});
    Workers workers(threads);
    uses_.assign(static_cast<size_t>(graph_.nodes()), 0);
    const int64_t step = (graphs() + kCountedBlocks - 1) / kCountedBlocks;
    workers.run_ordered(graphs(), [&](int64_t number, Turn& turn) {
      Own& mine = own[static_cast<size_t>(turn.worker())];
      sample(mine.sampler, number, mine.sample);
      shapes[static_cast<size_t>(number)] = shape_of(mine.sample);
      if (number % step != 0) return;
      for (const int64_t node : mine.sample.graph.node)
        std::atomic_ref(uses_[static_cast<size_t>(node)]).fetch_add(1, std::memory_order_relaxed);
    });
  }
  resize_topology(0);
  give_back_freed_memory();
  // What is read needs room that does not grow once the run is planned.
  const std::lock_guard lock(mutex_);
  for (const auto of : {&GraphShape::nodes, &GraphShape::edges}) {
    const int64_t largest = std::ranges::max_element(shapes, {}, of) - shapes.begin();
    sample(sampler_, largest, sample_);
    sample(ahead_sampler_, largest, ahead_sample_);
    edges_.reserve(2 * sample_.graph.row.size());
  }
  rows_.reserve(static_cast<int64_t>(sample_.graph.node.capacity()));
  rows_.set_uses(uses_);
  return shapes;
}

void NeighbourSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  std::unique_lock lock(mutex_);
  block.clear();
  for (const int64_t number : graphs) append(number, block, lock);
}

// Returns where the features of its nodes go.
float* NeighbourSource::append_graph(int64_t number, const Judged& judged, int64_t nodes,
                                     std::span<const int32_t> edges, GraphBlock& block) const {
  const size_t first = block.node_y.size();
  const auto first_node = static_cast<int32_t>(block.nodes());
  for (const int32_t node : judged.pairs) block.pairs.push_back(first_node + node);
  block.pair_y.insert(block.pair_y.end(), judged.pair_y.begin(), judged.pair_y.end());
  const size_t begin = block.x.size();
  block.graph.push_back(number);
  block.node_ptr.push_back(block.node_ptr.back() + nodes);
  block.edge_ptr.push_back(block.edge_ptr.back() + static_cast<int64_t>(edges.size() / 2));
  block.y.push_back(0);
  block.node_y.insert(block.node_y.end(), judged.labels.begin(), judged.labels.end());
  block.node_y.resize(first + static_cast<size_t>(nodes), -1);
  block.edges.insert(block.edges.end(), edges.begin(), edges.end());
  block.x.resize(begin + static_cast<size_t>(nodes * width_));
  return block.x.data() + begin;
}

void NeighbourSource::append(int64_t number, GraphBlock& block, std::unique_lock<std::mutex>& lock) const {
  changed_.wait(lock, [&] { return sampling_ != number; });
  const auto found = std::ranges::find(coming_, number, &Coming::number);
  if (found == coming_.end()) {
    append_now(number, block);
  } else {
    float* const x = append_graph(number, {found->labels, found->pairs, found->pair_y},
                                  static_cast<int64_t>(found->nodes.size()), found->edges, block);
    if (found == coming_.begin() && !found->early) {
      // It leaves the plan as well, whatever becomes of reading.
      coming_bytes_ -= found->bytes;
      coming_.pop_front();
      rows_.cache().gather_planned(reinterpret_cast<std::byte*>(x));
    } else {
      found->early = true;
      rows_.cache().gather_early(found - coming_.begin(), reinterpret_cast<std::byte*>(x));
    }
  }
  recent_.push_back(number);
  if (recent_.size() > kRecent) recent_.pop_front();
  drop_read();
  changed_.notify_all();
}

// A block that nobody knew to come, or that is read again.
void NeighbourSource::append_now(int64_t number, GraphBlock& block) const {
  if (std::ranges::find(recent_, number) == recent_.end()) start_behind(number);
  sample(sampler_, number, sample_);
  pair_edges(sample_.graph, edges_);
  const std::span<const int64_t> nodes = sample_.graph.node;
  float* const x = append_graph(number, {sample_.labels, sample_.pairs, sample_.pair_y},
                                static_cast<int64_t>(nodes.size()), edges_, block);
  rows_.cache().gather(nodes, reinterpret_cast<std::byte*>(x));
}

// Blocks in front that were read before their turn, or that nobody comes to read.
void NeighbourSource::drop_read() const {
  const auto early = std::ranges::count_if(coming_, &Coming::early);
  bool stuck = static_cast<size_t>(early) > kRecent;
  while (!coming_.empty() && (coming_.front().early || stuck)) {
    coming_bytes_ -= coming_.front().bytes;
    coming_.pop_front();
    rows_.cache().skip_planned();
    stuck = false;
  }
}

// What was planned is not what comes: from now on it is what comes behind this block.
void NeighbourSource::start_behind(int64_t number) const {
  rows_.cache().forget_plan();
  coming_.clear();
  coming_bytes_ = 0;
  ++begun_;
  next_ = behind(number);
  if (rows_.plan_bytes() > 0 && !thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { sample_ahead(stop); });
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

// Plans the block that the thread has sampled; false where there is no room for it.
bool NeighbourSource::add_coming(int64_t number) const {
  const SampledSubgraph& graph = ahead_sample_.graph;
  const auto nodes = static_cast<int64_t>(graph.node.size());
  const auto edges = static_cast<int64_t>(graph.row.size());
  const int64_t bytes = nodes * (CachedRows::kPlannedRow + int64_t{sizeof(int64_t)}) +
                        edges * 2 * int64_t{sizeof(int32_t)} +
                        static_cast<int64_t>(ahead_sample_.labels.size() * sizeof(int64_t) +
                                             ahead_sample_.pairs.size() * sizeof(int32_t) +
                                             ahead_sample_.pair_y.size() * sizeof(float));
  if (coming_bytes_ + bytes > rows_.plan_bytes()) return false;
  try {
    Coming coming{.number = number,
                  .bytes = bytes,
                  .nodes = {graph.node.begin(), graph.node.end()},
                  .labels = {ahead_sample_.labels.begin(), ahead_sample_.labels.end()},
                  .pairs = {ahead_sample_.pairs.begin(), ahead_sample_.pairs.end()},
                  .pair_y = {ahead_sample_.pair_y.begin(), ahead_sample_.pair_y.end()}};
    coming.edges.reserve(static_cast<size_t>(2 * edges));
    pair_edges(graph, coming.edges);
    rows_.cache().plan(graph.node);
    coming_.push_back(std::move(coming));
  } catch (const BudgetExceeded&) {
    return false;  // so far the budget allows to plan
  }
  coming_bytes_ += bytes;
  return true;
}

void NeighbourSource::sample_ahead(const std::stop_token& stop) const {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return next_ && rows_.plan_bytes() > 0; })) {
    const int64_t number = *next_;
    const int64_t begun = begun_;
    sampling_ = number;
    lock.unlock();
    bool sampled = true;
    try {
      sample(ahead_sampler_, number, ahead_sample_);
    } catch (const std::exception&) {
      sampled = false;  // who reads the block finds the same, and says so
    }
    lock.lock();
    sampling_ = -1;
    changed_.notify_all();
    if (begun != begun_) continue;
    next_.reset();
    if (!sampled) continue;
    while (begun == begun_ && !add_coming(number)) {
      const int64_t before = coming_bytes_;
      if (!changed_.wait(lock, stop, [&] { return begun != begun_ || coming_bytes_ < before; })) return;
    }
    if (begun == begun_) next_ = behind(number);
  }
}

void NeighbourSource::resize_topology(int64_t bytes) const {
  topology_.resize(std::clamp(bytes, topology_.least_bytes(), topology_.most_bytes()));
}

int64_t NeighbourSource::most_cache_bytes() const {
  return rows_.most_bytes() + topology_.most_bytes();
}

void NeighbourSource::resize_cache(int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  coming_.clear();
  coming_bytes_ = 0;
  recent_.clear();
  next_.reset();
  ++begun_;
  // Features go first, lest both be there at once.
  rows_.resize(0);
  const int64_t least = topology_.least_bytes();
  const int64_t for_topology = std::max(bytes / 4 * kTopologyQuarters, bytes - rows_.most_bytes());
  resize_topology(least + for_topology);
  rows_.resize(bytes - std::min(for_topology, topology_.most_bytes() - least));
}

int64_t NeighbourSource::planned() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(coming_.size());
}

std::optional<RowCounters> NeighbourSource::row_counters() const {
  const std::lock_guard lock(mutex_);
  return rows_.counters();
}

}  // namespace plimsoll
