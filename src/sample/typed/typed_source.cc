#include "sample/typed/typed_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/timestamp.h"
#include "base/workers.h"

namespace plimsoll {
namespace {

size_t type_named(const TypedGraphView& graph, const std::string& name) {
  const auto& types = graph.node_types();
  return static_cast<size_t>(std::ranges::find(types, name, &NodeTypeView::name) - types.begin());
}

EdgeTime edge_time_of(const TypedGraphView& graph, const EdgeTypeView& type) {
  if (type.time.empty() || type.indices.empty()) return EdgeTime::none;
  if (!type.times.empty()) return EdgeTime::own;
  const std::optional<EdgeTime> found = find_word<EdgeTime>(type.time);
  if (!found)
    throw InputError(fmt::format(
        "{}: edge type {} -{}-> {}: found the time '{}', expected source, target or edge; ingest the tables "
        "again",
        (graph.set().folder() / "manifest.json").string(), type.source, type.name, type.target, type.time));
  const NodeTypeView& node = graph.node_type(found == EdgeTime::source ? type.source : type.target);
  return node.time.empty() ? EdgeTime::none : *found;
}

TypedTopology topology_of(const TypedGraphView& graph) {
  std::vector<TypedNodes> nodes;
  std::vector<TypedEdges> edges;
  for (const NodeTypeView& type : graph.node_types()) nodes.push_back({type.nodes, type.time});
  for (const EdgeTypeView& type : graph.edge_types())
    edges.push_back({.source = type_named(graph, type.source),
                     .target = type_named(graph, type.target),
                     .indptr = type.indptr,
                     .indices = type.indices,
                     .has_time = edge_time_of(graph, type),
                     .time = type.times});
  return {std::move(nodes), std::move(edges)};
}

// Returns the time after which RelBench shows no rows, in nanoseconds since 1970-01-01. Data that does not
// come from RelBench has no such time.
int64_t test_timestamp_of(const TypedGraphView& graph) {
  const Json& manifest = graph.set().manifest();
  if (!manifest.contains("source") || !manifest.at("source").contains("test_timestamp"))
    return std::numeric_limits<int64_t>::max();
  const std::string text = manifest.at("source").at("test_timestamp");
  const std::optional<int64_t> time = parse_timestamp(text);
  if (!time)
    throw InputError(
        fmt::format("{}: found the test_timestamp '{}', expected 2024-12-31 or 2024-12-31 23:59:59",
                    graph.set().folder().string(), text));
  return *time;
}

TypedOptions sampler_options(const TypedSourceOptions& options, const TypedTopology& topology) {
  return {.fan_outs = std::vector<std::vector<int64_t>>(topology.edges().size(), options.fan_outs),
          .strategy = options.strategy};
}

std::vector<size_t> edge_types_of(const SampleLayout& layout) {
  std::vector<size_t> types;
  for (const SampleLayout::Edges& edges : layout.edges) types.push_back(edges.type);
  return types;
}

}  // namespace

/// The largest of some sizes, and the graph with the lowest number that has it.
struct TypedSource::Largest {
  int64_t size = -1;
  int64_t graph = 0;

  void add(const Largest& other) {
    if (other.size > size || (other.size == size && other.graph < graph)) *this = other;
  }
};

/// Objects that one thread needs for reading.
struct TypedSource::Reader {
  Reader(const TypedTopology& topology, const TypedSourceOptions& options)
      : sampler(topology, sampler_options(options, topology), options.seed) {}

  TypedSampler sampler;
  TypedSample sample;
  std::vector<int64_t> next;    // Next place in the block for each count of the layout.
  std::vector<int32_t> counts;  // The counts of `sample`.
  // For each count and each scratch size, the largest among the samples that shapes() has made.
  std::vector<Largest> largest;

  void note_sizes(int64_t graph) {
    const std::span<const int64_t> scratch = sampler.scratch_sizes();
    largest.resize(counts.size() + scratch.size());
    auto to = largest.begin();
    for (const int32_t count : counts) (to++)->add({count, graph});
    for (const int64_t size : scratch) (to++)->add({size, graph});
  }
};

/// Holds a reader that no other thread uses. The constructor waits for a free reader.
class TypedSource::BorrowedReader {
 public:
  explicit BorrowedReader(const TypedSource& source) : source_(source) {
    const MutexLock lock(source.mutex_);
    source.returned_.wait(source.mutex_,
                          [&]() PLIMSOLL_REQUIRES(source.mutex_) { return !source.free_.empty(); });
    reader_ = std::move(source.free_.back());
    source.free_.pop_back();
  }
  ~BorrowedReader() {
    const MutexLock lock(source_.mutex_);
    source_.free_.push_back(std::move(reader_));
    source_.returned_.notify_one();
  }
  BorrowedReader(const BorrowedReader&) = delete;
  BorrowedReader& operator=(const BorrowedReader&) = delete;
  Reader& operator*() { return *reader_; }

 private:
  const TypedSource& source_;
  std::unique_ptr<Reader> reader_;
};

TypedSource::TypedSource(const std::filesystem::path& folder, const TypedSourceOptions& options)
    : graph_(folder),
      seeds_(graph_, options.task),
      topology_(topology_of(graph_)),
      layout_(layout_of_samples(topology_, type_named(graph_, seeds_.entity()), options.fan_outs.size())),
      options_(options),
      last_time_(options.rolling || seeds_.completes_column() ? std::numeric_limits<int64_t>::max()
                                                              : test_timestamp_of(graph_)),
      ends_(seeds_, {.last_time = last_time_, .lagged = options.lagged, .seed = options.seed}),
      history_(topology_, layout_.nodes[layout_.seeds].type, edge_types_of(layout_), options.history_days) {
  if (graph_.edge_types().empty())
    throw InputError(
        folder.string() +
        ": the graph has no edge types, so no row is linked to another; add foreign keys to the tables");
  make_inputs();
  widths_.layout = &layout_;
  widths_.targets = {seeds_.target_width(), /*of_nodes=*/false};
  find_destinations();
}

TypedSource::~TypedSource() = default;

// Samples reach the nodes that are recommended only if enough hops lead to them.
void TypedSource::find_destinations() {
  if (seeds_.destination().empty()) return;
  const auto found =
      std::ranges::find(layout_.nodes, type_named(graph_, seeds_.destination()), &SampleLayout::Nodes::type);
  if (found != layout_.nodes.end()) layout_.destinations = found - layout_.nodes.begin();
}

void TypedSource::make_inputs() {
  const Json& types = graph_.set().manifest().at("node_types");
  for (SampleLayout::Nodes& nodes : layout_.nodes) {
    const NodeTypeView& view = graph_.node_types()[nodes.type];
    inputs_.emplace_back(graph_.set(), types.at(nodes.type), view.time,
                         NodeInputs::Options{seeds_.cut(), seeds_.hidden(view.name)});
    nodes.numbers = inputs_.back().numbers();
    nodes.vocabularies = inputs_.back().vocabularies();
    if (nodes.first_hop == 0) nodes.numbers += history_.numbers() + (ends_.has_lags() ? 1 : 0);
    widths_.node_features = std::max(widths_.node_features, nodes.numbers);
    widths_.node_codes = std::max(widths_.node_codes, nodes.codes());
  }
}

std::vector<std::string> TypedSource::left_out() const {
  std::vector<std::string> all;
  for (const NodeInputs& inputs : inputs_)
    all.insert(all.end(), inputs.left_out().begin(), inputs.left_out().end());
  for (const SampleLayout::Edges& edges : layout_.edges)
    for (const Json& column : graph_.set().manifest().at("edge_types").at(edges.type).at("columns"))
      all.push_back(fmt::format("{}: models do not read columns of edges", std::string(column.at("column"))));
  return all;
}

std::span<const int32_t> TypedSource::counts_of(int64_t graph) const {
  return std::span(counts_).subspan(static_cast<size_t>(graph) * layout_.counts, layout_.counts);
}

int64_t TypedSource::end_of(int64_t graph) const {
  return ends_.end(graph % graphs(), static_cast<uint32_t>(graph / graphs()));
}

// Samples a graph, and counts its nodes and edges.
void TypedSource::sample(int64_t graph, Reader& reader) const {
  const int64_t node = seeds_.node(graph % graphs());
  const int64_t time = end_of(graph);
  const TypedSeeds seed{layout_.nodes[layout_.seeds].type, std::span(&node, 1), std::span(&time, 1)};
  reader.sampler.sample(std::span(&seed, 1), static_cast<uint32_t>(graph / graphs()), reader.sample);
  count(reader.sample, reader.counts);
}

// Counts the nodes and edges of a sample within each number of hops.
void TypedSource::count(const TypedSample& sample, std::span<int32_t> counts) const {
  for (const SampleLayout::Nodes& type : layout_.nodes) {
    const auto& per_hop = sample.nodes[type.type].per_hop;
    std::inclusive_scan(per_hop.begin() + static_cast<std::ptrdiff_t>(type.first_hop), per_hop.end(),
                        counts.begin() + static_cast<std::ptrdiff_t>(type.first_count));
  }
  for (const SampleLayout::Edges& type : layout_.edges) {
    const auto& per_hop = sample.edges[type.type].per_hop;  // The first entry is hop 1.
    std::inclusive_scan(per_hop.begin() + static_cast<std::ptrdiff_t>(type.first_hop) - 1, per_hop.end(),
                        counts.begin() + static_cast<std::ptrdiff_t>(type.first_count));
  }
}

// The latest neighbours are the same in every sample without lags, and seeds of other splits have one sample.
int64_t TypedSource::samples_of(int64_t seed) const {
  const bool is_drawn = options_.strategy == TemporalStrategy::uniform || ends_.has_lags();
  return is_drawn && seeds_.is_training(seed) ? options_.samples : 1;
}

// Stores the maximum of each count over the samples of a seed.
void TypedSource::count_samples(int64_t seed, Reader& reader) const {
  const std::span<int32_t> counts =
      std::span(counts_).subspan(static_cast<size_t>(seed) * layout_.counts, layout_.counts);
  for (int64_t s = 0; s < samples_of(seed); ++s) {
    sample(seed + s * graphs(), reader);
    reader.note_sizes(seed + s * graphs());
    std::ranges::transform(counts, reader.counts, counts.begin(),
                           [](int32_t before, int32_t now) { return std::max(before, now); });
  }
}

Vector<GraphShape, Tag::columns> TypedSource::shapes(int threads) const {
  constexpr int64_t kSeedsAtOnce = 256;
  const int64_t graphs = this->graphs();
  Vector<GraphShape, Tag::columns> shapes(static_cast<size_t>(graphs));
  counts_.assign(static_cast<size_t>(graphs) * layout_.counts, 0);
  make_readers(threads);
  Mutex progress_mutex;
  int64_t done = 0;
  const auto count_done = [&](int64_t seeds) {
    const MutexLock lock(progress_mutex);
    done += seeds;
    if (progress_) progress_(done, graphs);
  };
  Workers workers(threads);
  workers.run_ordered((graphs + kSeedsAtOnce - 1) / kSeedsAtOnce, [&](int64_t piece, Turn&) {
    throw_if_interrupted("seeds were sampled");
    BorrowedReader reader(*this);
    const int64_t end = std::min((piece + 1) * kSeedsAtOnce, graphs);
    for (int64_t graph = piece * kSeedsAtOnce; graph < end; ++graph) {
      count_samples(graph, *reader);
      GraphShape& shape = shapes[static_cast<size_t>(graph)];
      const std::span<const int32_t> counts = counts_of(graph);
      for (const auto& type : layout_.nodes)
        shape.nodes += static_cast<int32_t>(layout_.within(type, layout_.hops, counts));
      for (const auto& type : layout_.edges)
        shape.edges += static_cast<int32_t>(layout_.within(type, layout_.hops, counts));
      if (seeds_.target_width() == 0) shape.label = static_cast<int32_t>(seeds_.label(graph));
    }
    count_done(end - piece * kSeedsAtOnce);
  });
  grow_readers();
  return shapes;
}

void TypedSource::make_readers(int threads) const {
  const MutexLock lock(mutex_);
  free_.clear();
  for (int i = 0; i < threads; ++i) {
    free_.push_back(std::make_unique<Reader>(topology_, options_));
    free_.back()->next.resize(layout_.counts);
    free_.back()->counts.resize(layout_.counts);
  }
}

// Lets every reader make the samples for which the vectors that a reader keeps are largest, so that no reader
// later needs more memory than was known when the run was planned.
void TypedSource::grow_readers() const {
  const MutexLock lock(mutex_);
  std::vector<Largest> largest;
  for (const std::unique_ptr<Reader>& reader : free_) {
    largest.resize(std::max(largest.size(), reader->largest.size()));
    for (size_t i = 0; i < reader->largest.size(); ++i) largest[i].add(reader->largest[i]);
  }
  for (const std::unique_ptr<Reader>& reader : free_)
    for (const Largest& found : largest) sample(found.graph, *reader);
}

// Resizes the block for the samples of these graphs. Their counts have to be known before the first sample is
// written, so each graph is sampled twice.
void TypedSource::size_block(std::span<const int64_t> graphs, Reader& reader, GraphBlock& block) const {
  block.parts.assign(layout_.counts, 0);
  for (const int64_t graph : graphs) {
    sample(graph, reader);
    for (size_t i = 0; i < layout_.counts; ++i) block.parts[i] += reader.counts[i];
  }
  layout_.add_padding(block.parts);
  const std::span<const int64_t> all(block.parts);
  size_t numbers = 0, codes = 0, edges = 0;
  for (const SampleLayout::Nodes& type : layout_.nodes) {
    const int64_t nodes = layout_.within(type, layout_.hops, all);
    numbers += static_cast<size_t>(nodes * type.numbers);
    codes += static_cast<size_t>(nodes * type.codes());
  }
  for (const SampleLayout::Edges& type : layout_.edges)
    edges += static_cast<size_t>(layout_.within(type, layout_.hops, all));
  block.x.resize(numbers);
  block.codes.resize(codes);
  block.edges.resize(2 * edges);
  if (!layout_.destinations) return;
  // Padding nodes keep this value, the place after the scores of all seeds.
  const SampleLayout::Nodes& type = layout_.nodes[*layout_.destinations];
  block.reached.assign(static_cast<size_t>(layout_.within(type, layout_.hops, all)),
                       std::ssize(graphs) * seeds_.target_width());
}

void TypedSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  block.clear();
  BorrowedReader reader(*this);
  size_block(graphs, *reader, block);
  const std::span<const int64_t> all(block.parts);
  // The nodes of a hop follow those of earlier hops.
  const auto start = [&](const auto& type) {
    for (size_t hop = type.first_hop; hop <= layout_.hops; ++hop)
      (*reader).next[type.first_count + hop - type.first_hop] =
          hop == type.first_hop ? 0 : layout_.within(type, hop - 1, all);
  };
  std::ranges::for_each(layout_.nodes, start);
  std::ranges::for_each(layout_.edges, start);
  for (const int64_t graph : graphs) append(graph, *reader, block);
  clear_padding(block);
}

// Sets the inputs of padding nodes to 0.
void TypedSource::clear_padding(GraphBlock& block) const {
  const std::span<const int64_t> all(block.parts);
  float* numbers = block.x.data();
  int32_t* codes = block.codes.data();
  for (const SampleLayout::Nodes& type : layout_.nodes) {
    const int64_t nodes = layout_.within(type, layout_.hops, all);
    const int64_t first = layout_.within(type, type.first_hop, all) - layout_.padding(type);
    std::fill_n(numbers + first * type.numbers, layout_.padding(type) * type.numbers, 0.0F);
    for (int64_t column = 0; column < type.codes(); ++column)
      std::fill_n(codes + column * nodes + first, layout_.padding(type), 0);
    numbers += nodes * type.numbers;
    codes += nodes * type.codes();
  }
}

void TypedSource::append(int64_t graph, Reader& reader, GraphBlock& block) const {
  sample(graph, reader);
  write_nodes(graph, reader, block);
  write_edges(reader, block);
  const std::span<const int32_t> counts(reader.counts);
  int64_t nodes = 0, edges = 0;
  for (const auto& type : layout_.nodes) nodes += layout_.within(type, layout_.hops, counts);
  for (const auto& type : layout_.edges) edges += layout_.within(type, layout_.hops, counts);
  for (const auto& type : layout_.nodes)
    for (size_t hop = type.first_hop; hop <= layout_.hops; ++hop)
      reader.next[type.first_count + hop - type.first_hop] += reader.sample.nodes[type.type].per_hop[hop];
  for (const auto& type : layout_.edges)
    for (size_t hop = type.first_hop; hop <= layout_.hops; ++hop)
      reader.next[type.first_count + hop - type.first_hop] += reader.sample.edges[type.type].per_hop[hop - 1];
  block.graph.push_back(graph);
  block.node_ptr.push_back(block.node_ptr.back() + nodes);
  block.edge_ptr.push_back(block.edge_ptr.back() + edges);
  const int64_t seed = graph % graphs();
  const auto width = static_cast<size_t>(seeds_.target_width());
  block.y.push_back(width == 0 ? seeds_.label(seed) : 0);
  block.targets.resize(block.targets.size() + width);
  if (width > 0) seeds_.write_targets(seed, std::span(block.targets).last(width));
}

void TypedSource::write_history(int64_t node, int64_t end, int64_t seed_time, float* numbers) const {
  constexpr double kNanosecondsOfDay = 86400e9;
  history_.write(node, end, numbers);
  if (ends_.has_lags())
    numbers[history_.numbers()] =
        static_cast<float>(std::log1p(static_cast<double>(seed_time - end) / kNanosecondsOfDay));
}

void TypedSource::write_nodes(int64_t graph, const Reader& reader, GraphBlock& block) const {
  const std::span<const int64_t> all(block.parts);
  const int64_t end = end_of(graph);
  const int64_t now = ends_.has_lags() ? end : seeds_.time(graph % graphs());
  const int64_t first_score = std::ssize(block.graph) * seeds_.target_width();
  float* numbers = block.x.data();
  int32_t* codes = block.codes.data();
  for (size_t t = 0; t < layout_.nodes.size(); ++t) {
    const SampleLayout::Nodes& type = layout_.nodes[t];
    const int64_t nodes = layout_.within(type, layout_.hops, all);
    const TypedSample::Nodes& sampled = reader.sample.nodes[type.type];
    auto node = sampled.node.begin();
    for (size_t hop = type.first_hop; hop <= layout_.hops; ++hop) {
      int64_t place = reader.next[type.first_count + hop - type.first_hop];
      for (int64_t i = 0; i < sampled.per_hop[hop]; ++i, ++place, ++node) {
        float* const to = numbers + place * type.numbers;
        inputs_[t].write(*node, now, to, codes + place, nodes);
        if (t == layout_.seeds)
          write_history(*node, end, seeds_.time(graph % graphs()), to + inputs_[t].numbers());
        if (layout_.destinations == t) block.reached[static_cast<size_t>(place)] = first_score + *node;
      }
    }
    numbers += nodes * type.numbers;
    codes += nodes * type.codes();
  }
}

// Writes edges, with the numbers that their nodes have in the block.
void TypedSource::write_edges(const Reader& reader, GraphBlock& block) const {
  const std::span<const int64_t> all(block.parts);
  // Returns the index in the block of a node of the sample.
  const auto place_of = [&](const SampleLayout::Nodes& type, int64_t node) {
    const auto& per_hop = reader.sample.nodes[type.type].per_hop;
    size_t hop = type.first_hop;
    while (node >= per_hop[hop]) node -= per_hop[hop++];
    return static_cast<int32_t>(reader.next[type.first_count + hop - type.first_hop] + node);
  };
  int32_t* to = block.edges.data();
  for (const SampleLayout::Edges& type : layout_.edges) {
    const TypedSample::Edges& sampled = reader.sample.edges[type.type];
    size_t edge = 0;
    for (size_t hop = type.first_hop; hop <= layout_.hops; ++hop) {
      int32_t* pair = to + 2 * reader.next[type.first_count + hop - type.first_hop];
      for (int64_t i = 0; i < sampled.per_hop[hop - 1]; ++i, ++edge) {
        *pair++ = place_of(layout_.nodes[type.source], sampled.row[edge]);
        *pair++ = place_of(layout_.nodes[type.target], sampled.col[edge]);
      }
    }
    to += 2 * layout_.within(type, layout_.hops, all);
  }
}

}  // namespace plimsoll
