#include "ingest/graph/simulate_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/philox.h"
#include "base/workers.h"
#include "memory/vector.h"
#include "store/graph.h"
#include "store/output.h"

namespace plimsoll {
namespace {

// Purpose of a random number: the layer of its counter.
enum GraphDraw : uint32_t { kNeighbours, kFeatures, kNode, kCentres };

constexpr uint32_t kSameCommunity = 0xB3333333;  // 70 % of neighbours.
constexpr int64_t kMaxNeighbours = 1 << 20;      // Maximum neighbours per node.
constexpr int64_t kChunkNumbers = 1 << 18;       // Number of features and neighbours that are made at once.

// Returns the cube of a uniform number in [0, 1), so that small numbers, which stand for hubs, are likely.
double cubed(uint32_t bits) {
  const double u = bits * 0x1p-32;
  return u * u * u;
}

// Returns an approximately normal number with mean 0 and variance 1, made from 64 bits: the sum of four
// groups of 16 bits, which is the same on every machine.
float bell(uint32_t a, uint32_t b) {
  const auto sum = static_cast<int32_t>((a & 0xFFFF) + (a >> 16) + (b & 0xFFFF) + (b >> 16)) - 2 * 65535;
  return static_cast<float>(sum) * static_cast<float>(1.7320508 / 65536);
}

// A community is a range of places, with the hubs first. The index of a node is its shuffled place, so that
// indices reveal nothing.
class MadeUpGraph {
 public:
  explicit MadeUpGraph(const GraphSimulation& options)
      : options_(options), philox_(options.seed), nodes_(static_cast<uint64_t>(options.nodes)) {
    const uint64_t golden =
        std::max<uint64_t>(static_cast<uint64_t>(0.6180339887498949 * static_cast<double>(options.nodes)), 1);
    step_ = golden;
    while (std::gcd(step_, nodes_) != 1) ++step_;
    inverse_ = inverse_of(step_);
    centres_.reserve(static_cast<size_t>(options.classes * options.features));
    for (int64_t c = 0; c < options.classes; ++c)
      for (int64_t f = 0; f < options.features; ++f) {
        const auto bits = philox_(philox_counter(Purpose::simulation, kCentres, static_cast<uint32_t>(c),
                                                 static_cast<uint32_t>(f), 0));
        // Two centres are at a distance of about 2 for any F, and the noise is 1 in each dimension, so a
        // node's own features reveal little.
        centres_.push_back(bell(bits[0], bits[1]) *
                           static_cast<float>(std::sqrt(2.0 / static_cast<double>(options.features))));
      }
  }

  int64_t community(int64_t node) const { return community_at(place_of(node)); }

  // Computes the node's neighbours, ascending, without duplicates.
  void neighbours(int64_t node, Vector<uint32_t, Tag::ingest>& out) const {
    out.clear();
    const uint64_t place = place_of(node);
    const int64_t own = community_at(place);
    const int64_t count = degree(place, own, node);
    const auto item = static_cast<uint32_t>(node);
    for (int64_t i = 0; i < count; ++i) {
      const auto bits =
          philox_(philox_counter(Purpose::simulation, kNeighbours, 0, item, static_cast<uint32_t>(i)));
      const auto any =
          static_cast<int64_t>(uint64_t{bits[2]} * static_cast<uint64_t>(options_.classes) >> 32);
      const int64_t community = bits[0] < kSameCommunity ? own : any;
      const uint64_t first = first_place(community);
      const uint64_t size = first_place(community + 1) - first;
      const auto rank = static_cast<uint64_t>(cubed(bits[1]) * static_cast<double>(size));
      const uint32_t other = node_at(first + rank);
      if (other != item) out.push_back(other);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }

  void features(int64_t node, float* out) const {
    const float* const centre = centres_.data() + community(node) * options_.features;
    for (int64_t f = 0; f < options_.features; f += 2) {
      const auto bits = philox_(philox_counter(Purpose::simulation, kFeatures, 0, static_cast<uint32_t>(node),
                                               static_cast<uint32_t>(f / 2)));
      out[f] = centre[f] + bell(bits[0], bits[1]);
      if (f + 1 < options_.features) out[f + 1] = centre[f + 1] + bell(bits[2], bits[3]);
    }
  }

  // Returns the split of a node, or -1: 10 % are for training, 5 % for validation and 10 % for testing.
  int split(int64_t node) const {
    const auto bits = philox_(philox_counter(Purpose::simulation, kNode, 0, static_cast<uint32_t>(node), 0));
    const uint32_t percent = static_cast<uint32_t>(uint64_t{bits[1]} * 100 >> 32);
    return percent < 10 ? 0 : percent < 15 ? 1 : percent < 25 ? 2 : -1;
  }

 private:
  // Returns a * b mod V. Both must be below 2^32, so that the product fits.
  uint64_t times(uint64_t a, uint64_t b) const { return a * b % nodes_; }
  uint64_t place_of(int64_t node) const { return times(static_cast<uint64_t>(node), inverse_); }
  uint32_t node_at(uint64_t place) const { return static_cast<uint32_t>(times(place, step_)); }

  uint64_t inverse_of(uint64_t step) const {
    int64_t a = static_cast<int64_t>(step);
    int64_t b = options_.nodes;
    int64_t x = 1;
    int64_t y = 0;
    while (b != 0) {
      const int64_t quotient = a / b;
      a = std::exchange(b, a - quotient * b);
      x = std::exchange(y, x - quotient * y);
    }
    return static_cast<uint64_t>(((x % options_.nodes) + options_.nodes) % options_.nodes);
  }

  uint64_t first_place(int64_t community) const {
    return nodes_ * static_cast<uint64_t>(community) / static_cast<uint64_t>(options_.classes);
  }
  int64_t community_at(uint64_t place) const {
    auto community = static_cast<int64_t>(place * static_cast<uint64_t>(options_.classes) / nodes_);
    while (place >= first_place(community + 1)) ++community;
    return community;
  }
  // Returns a degree from a power law with exponent 2.5, proportional to (rank / size)^(-2/3) with mean 3.
  int64_t degree(uint64_t place, int64_t community, int64_t node) const {
    const uint64_t first = first_place(community);
    const auto size = static_cast<double>(first_place(community + 1) - first);
    const double share = std::cbrt((static_cast<double>(place - first) + 0.5) / size);
    const auto bits = philox_(philox_counter(Purpose::simulation, kNode, 0, static_cast<uint32_t>(node), 0));
    const double mean = options_.degree / 3 / (share * share) + bits[0] * 0x1p-32;
    return std::min(static_cast<int64_t>(std::min(mean, 1e9)), kMaxNeighbours);
  }

  const GraphSimulation& options_;
  Philox philox_;
  uint64_t nodes_;
  uint64_t step_ = 1;                   // Place p is node p * step_ mod V.
  uint64_t inverse_ = 1;                // Node v is place v * inverse_ mod V.
  Vector<float, Tag::ingest> centres_;  // [classes, features].
};

// Some consecutive nodes, as columns.
struct Chunk {
  int64_t first = 0;
  Vector<int64_t, Tag::ingest> degrees;
  Vector<uint32_t, Tag::ingest> indices;
  Vector<float, Tag::ingest> x;
  Vector<int64_t, Tag::ingest> y;
  std::array<Vector<int64_t, Tag::ingest>, kGraphSplits.size()> splits;
  Vector<uint32_t, Tag::ingest> row;

  void make(const MadeUpGraph& graph, int64_t features, int64_t last) {
    degrees.clear();
    indices.clear();
    y.clear();
    for (auto& split : splits) split.clear();
    x.resize(static_cast<size_t>((last - first) * features));
    for (int64_t node = first; node < last; ++node) {
      graph.neighbours(node, row);
      degrees.push_back(static_cast<int64_t>(row.size()));
      indices.insert(indices.end(), row.begin(), row.end());
      graph.features(node, x.data() + (node - first) * features);
      y.push_back(graph.community(node));
      if (const int split = graph.split(node); split >= 0) splits[static_cast<size_t>(split)].push_back(node);
    }
  }

  void write(GraphWriter& writer, int64_t features) {
    int64_t end = writer.edges();
    for (int64_t& degree : degrees) degree = end += degree;
    writer.append_row_ends(degrees);
    writer.append_indices(std::span<const uint32_t>(indices));
    if (features > 0) writer.append_x(x, features);
    writer.append_y(y);
    for (size_t split = 0; split < splits.size(); ++split)
      if (!splits[split].empty()) writer.append_split(split, splits[split]);
  }
};

void require(const GraphSimulation& options) {
  if (options.nodes < 1 || options.nodes > int64_t{1} << 32)
    throw UsageError(fmt::format("--nodes {}: expected 1 to 4294967296; give another number", options.nodes));
  if (options.classes < 1 || options.classes > std::min<int64_t>(options.nodes, 65536))
    throw UsageError(fmt::format(
        "--classes {}: expected 1 to 65536, and no more than --nodes; give another number", options.classes));
  if (options.features < 0 || options.features > 65536)
    throw UsageError(
        fmt::format("--features {}: expected 0 to 65536; give another number", options.features));
  if (!(options.degree >= 0 && options.degree <= 1e6))
    throw UsageError(fmt::format("--degree {}: expected 0 to 1000000; give another number", options.degree));
}

}  // namespace

GraphSimulationResult simulate_graph(const GraphSimulation& options,
                                     const std::function<void(int64_t, int64_t)>& progress,
                                     FileSystem& files) {
  require(options);
  const StoredAs stored = StoredAs::parse(options.features_dtype);
  const Json provenance = make_provenance(Json::array(), {{"format", "simulated graph"},
                                                          {"nodes", options.nodes},
                                                          {"degree", options.degree},
                                                          {"features", options.features},
                                                          {"features_dtype", options.features_dtype},
                                                          {"classes", options.classes},
                                                          {"seed", options.seed}});
  if (is_made_already(options.out, options.force, provenance, {})) {
    const GraphView view(options.out);
    return {.already_there = true, .nodes = view.nodes(), .edges = view.edges()};
  }

  const MadeUpGraph graph(options);
  GraphWriter writer(options.out, options.force, files);
  writer.store_x(stored);
  const int64_t numbers = options.features + static_cast<int64_t>(options.degree) + 1;
  const int64_t chunk = std::clamp<int64_t>(kChunkNumbers / numbers, 1, 1 << 14);
  // Memory of a chunk, its columns while they grow, and one or two hubs.
  const int64_t bytes = 12 * (chunk * numbers + 2 * static_cast<int64_t>(options.degree) * (1 << 12));
  const Ledger& ledger = Ledger::process();
  const int64_t fit = (ledger.cap() - ledger.held() - (int64_t{4} << 20)) / bytes;
  Workers workers(static_cast<int>(std::clamp<int64_t>(fit, 1, options.threads)));
  std::vector<Chunk> chunks(static_cast<size_t>(workers.threads()));
  workers.run_ordered((options.nodes + chunk - 1) / chunk, [&](int64_t item, Turn& turn) {
    Chunk& mine = chunks[static_cast<size_t>(turn.worker())];
    const int64_t last = std::min((item + 1) * chunk, options.nodes);
    mine.first = item * chunk;
    mine.make(graph, options.features, last);
    turn.wait();
    mine.write(writer, options.features);
    progress(last, options.nodes);
  });
  GraphTables tables;
  tables.classes = options.classes;
  for (int64_t f = 0; f < options.features; ++f) tables.node_features.push_back(fmt::format("feature_{}", f));
  const GraphSimulationResult result{.nodes = writer.nodes(), .edges = writer.edges()};
  writer.publish(tables, provenance);
  return result;
}

}  // namespace plimsoll
