#include "sample/partition/stream_partition.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "sample/topology/list_stream.h"

namespace plimsoll {
namespace {

constexpr int32_t kNone = -1;
constexpr int64_t kNodesPerTick = int64_t{1} << 14;

template <typename T>
using PartColumn = Vector<T, Tag::columns>;

// Finds the part with the fewest nodes, or the first such part. It is a tree whose leaves are the parts; each
// inner node names the better of its two children.
class MinFilled {
 public:
  explicit MinFilled(int64_t parts) : filled_(static_cast<size_t>(parts), 0), winner_(2 * filled_.size()) {
    for (size_t i = 0; i < filled_.size(); ++i) winner_[filled_.size() + i] = static_cast<int32_t>(i);
    for (size_t i = filled_.size() - 1; i > 0; --i) decide(i);
  }

  int64_t filled(int32_t part) const { return filled_[static_cast<size_t>(part)]; }
  int32_t min() const { return winner_[1]; }
  void add(int32_t part, int64_t nodes) {
    filled_[static_cast<size_t>(part)] += nodes;
    for (size_t i = (filled_.size() + static_cast<size_t>(part)) / 2; i > 0; i /= 2) decide(i);
  }

 private:
  void decide(size_t i) {
    const int32_t a = winner_[2 * i];
    const int32_t b = winner_[2 * i + 1];
    winner_[i] = std::pair(filled(b), b) < std::pair(filled(a), a) ? b : a;
  }

  PartColumn<int64_t> filled_ = {};
  PartColumn<int32_t> winner_ = {};
};

class Greedy {
 public:
  Greedy(int64_t nodes, const PartitionOptions& options)
      : capacity_(static_cast<int64_t>(std::ceil((1 + options.slack) * static_cast<double>(nodes) /
                                                 static_cast<double>(options.parts)))),
        parts_(static_cast<size_t>(nodes), kNone),
        filled_(options.parts),
        neighbours_in_(static_cast<size_t>(options.parts), 0) {}

  void count(int64_t node, std::span<const int64_t> neighbours) {
    for (const int64_t neighbour : neighbours) {
      const int32_t part = parts_[static_cast<size_t>(neighbour)];
      if (part == kNone || neighbour == node) continue;
      if (neighbours_in_[static_cast<size_t>(part)]++ == 0) seen_.push_back(part);
    }
  }

  void place(int64_t node) {
    move(node, kNone);
    move(node, best());
    for (const int32_t other : seen_) neighbours_in_[static_cast<size_t>(other)] = 0;
    seen_.clear();
  }

  // Puts every node into the part of its range of numbers.
  void start_from_ranges() {
    for (int64_t node = 0; node < static_cast<int64_t>(parts_.size()); ++node) move(node, range_of(node));
  }
  int32_t range_of(int64_t node) const {
    const auto parts = static_cast<int64_t>(neighbours_in_.size());
    return static_cast<int32_t>(node / ((static_cast<int64_t>(parts_.size()) + parts - 1) / parts));
  }

  const Parts& parts() const { return parts_; }
  Parts take() { return std::move(parts_); }

 private:
  void move(int64_t node, int32_t to) {
    int32_t& part = parts_[static_cast<size_t>(node)];
    if (part != kNone) filled_.add(part, -1);
    if (to != kNone) filled_.add(to, 1);
    part = to;
  }

  // Maximises neighbours x (1 - filled / capacity); ties go to the less filled part, then to the lower
  // number.
  int32_t best() const {
    int32_t best = filled_.min();
    double max = 0;
    for (const int32_t part : seen_) {
      const int64_t filled = filled_.filled(part);
      const auto neighbours = static_cast<double>(neighbours_in_[static_cast<size_t>(part)]);
      const double score = neighbours * static_cast<double>(capacity_ - filled);
      if (score < max || score == 0) continue;
      if (score == max && std::pair(filled_.filled(best), best) < std::pair(filled, part)) continue;
      best = part;
      max = score;
    }
    return best;
  }

  int64_t capacity_;
  Parts parts_;
  MinFilled filled_;
  // Neighbours of the current node in each part; reset to 0 afterwards.
  PartColumn<int32_t> neighbours_in_;
  PartColumn<int32_t> seen_;  // Parts with any neighbours.
};

void require_good(const Topology& topology, const PartitionOptions& options) {
  if (options.parts < 1 || options.parts > topology.nodes() ||
      options.parts > std::numeric_limits<int32_t>::max() / 2)
    throw UsageError(fmt::format("partition: found {} parts, expected 1 to the {} nodes of the graph",
                                 options.parts, topology.nodes()));
  if (!(options.slack >= 0) || !std::isfinite(options.slack) || options.passes < 1)
    throw UsageError(
        fmt::format("partition: found a slack of {} and {} passes, expected 0 or more and 1 or more",
                    options.slack, options.passes));
}

// Calls tick() for some of the nodes.
void tick_at(int64_t node, const std::function<void()>& tick) {
  if (node % kNodesPerTick == 0) tick();
}

template <typename PartOf>
int64_t count_cut(const Topology& topology, const PartOf& part_of, const std::function<void()>& tick) {
  int64_t cut = 0;
  stream_lists(
      topology,
      [&](int64_t node, std::span<const int64_t> neighbours) {
        const int32_t part = part_of(node);
        for (const int64_t neighbour : neighbours) cut += part_of(neighbour) != part;
      },
      [&](int64_t node) { tick_at(node, tick); });
  return cut;
}

void run_pass(const Topology& topology, Greedy& greedy, const std::function<void()>& tick) {
  stream_lists(
      topology, [&](int64_t node, std::span<const int64_t> neighbours) { greedy.count(node, neighbours); },
      [&](int64_t node) {
        greedy.place(node);
        tick_at(node, tick);
      });
}

}  // namespace

Parts stream_partition(const Topology& topology, const PartitionOptions& options) {
  require_good(topology, options);
  Greedy greedy(topology.nodes(), options);
  run_pass(topology, greedy, options.tick);
  int64_t cut = cut_edges(topology, greedy.parts(), options.tick);
  // If neighbours have similar numbers, as in web crawls, ranges are the better start.
  const int64_t of_ranges = count_cut(
      topology, [&](int64_t node) { return greedy.range_of(node); }, options.tick);
  if (of_ranges < cut) {
    greedy.start_from_ranges();
    cut = of_ranges;
  }
  for (int pass = 1; pass < options.passes; ++pass) {
    Parts last = greedy.parts();
    run_pass(topology, greedy, options.tick);
    const int64_t cut_now = cut_edges(topology, greedy.parts(), options.tick);
    if (cut_now >= cut) return last;
    cut = cut_now;
  }
  return greedy.take();
}

int64_t cut_edges(const Topology& topology, std::span<const int32_t> parts,
                  const std::function<void()>& tick) {
  return count_cut(
      topology, [&](int64_t node) { return parts[static_cast<size_t>(node)]; }, tick);
}

}  // namespace plimsoll
