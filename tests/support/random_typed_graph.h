#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "sample/typed/typed_topology.h"

namespace plimsoll {

/// A multigraph of two node types, "users" (0, without times) and "orders" (1, with times), in the columns
/// that TypedTopology borrows.
struct RandomTypedGraph {
  static constexpr size_t kUsers = 0, kOrders = 1;

  /// The columns of one edge type.
  struct Lists {
    std::vector<int64_t> indptr;
    std::vector<uint32_t> indices = {};
    std::vector<int64_t> time = {};
  };
  int64_t users, orders;
  std::vector<int64_t> order_time;
  Lists by_source;  ///< Orders to users, with the times of orders.
  Lists by_target;  ///< Users to orders, with the times of orders.
  Lists own;      ///< Orders to orders, whose edges have separate times: sources may be later than the edge.
  Lists untimed;  ///< Users to users.

  RandomTypedGraph(int64_t user_count, int64_t order_count, int64_t degree, uint32_t seed)
      : users(user_count), orders(order_count) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    for (int64_t i = 0; i < orders; ++i) order_time.push_back(below(kTimes));
    const auto order_time_of = [&](int64_t order) { return order_time[static_cast<size_t>(order)]; };
    std::vector<std::tuple<int64_t, int64_t, int64_t>> edges;  // Target, time and source.
    const auto lists = [&](int64_t sources, int64_t targets, const auto& time_of) {
      edges.clear();
      // Targets are mostly small, so that some lists are long and some are empty.
      for (int64_t i = 0; i < degree * targets; ++i) {
        const int64_t source = below(sources), target = below(below(targets) + 1);
        edges.emplace_back(target, time_of(source), source);
      }
      std::sort(edges.begin(), edges.end());
      Lists made{.indptr = std::vector<int64_t>(static_cast<size_t>(targets) + 1)};
      for (const auto& [target, time, source] : edges) {
        ++made.indptr[static_cast<size_t>(target) + 1];
        made.indices.push_back(static_cast<uint32_t>(source));
        made.time.push_back(time);
      }
      for (size_t i = 1; i < made.indptr.size(); ++i) made.indptr[i] += made.indptr[i - 1];
      return made;
    };
    by_source = lists(orders, users, order_time_of);
    by_target = lists(users, orders, [](int64_t) { return 0; });
    own = lists(orders, orders, [&](int64_t) { return below(kTimes); });
    untimed = lists(users, users, [](int64_t) { return 0; });
  }

  TypedTopology topology() const {
    return {{{users}, {orders, order_time}},
            {edges(kOrders, kUsers, by_source, EdgeTime::source),
             edges(kUsers, kOrders, by_target, EdgeTime::target), edges(kOrders, kOrders, own, EdgeTime::own),
             edges(kUsers, kUsers, untimed, EdgeTime::none)}};
  }
  const Lists& lists(size_t edge_type) const {
    return edge_type == 0 ? by_source : edge_type == 1 ? by_target : edge_type == 2 ? own : untimed;
  }

  static constexpr int64_t kTimes = 40;  ///< Times are 0 .. kTimes - 1, so many are equal.

 private:
  static TypedEdges edges(size_t source, size_t target, const Lists& lists, EdgeTime has_time) {
    return {.source = source,
            .target = target,
            .indptr = lists.indptr,
            .indices = lists.indices,
            .has_time = has_time,
            .time = has_time == EdgeTime::own ? std::span<const int64_t>(lists.time)
                                              : std::span<const int64_t>()};
  }
};

}  // namespace plimsoll
