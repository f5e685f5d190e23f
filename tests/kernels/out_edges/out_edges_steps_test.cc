#include "kernels/out_edges/out_edges_steps.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/test_device.h"

// Tests kernels/out_edges/out_edges.cu through its steps on the host, and on a GPU if there is one, against
// transpose_edge_order().

namespace plimsoll {
namespace {

using Numbers = std::vector<int32_t>;

// Random edges; self-loops may be left out. Every third edge leaves the same node.
struct Problem {
  int64_t sources, targets, edges;
  Numbers order;

  Problem(int64_t source_nodes, int64_t target_nodes, int64_t count, bool drop_loops)
      : sources(source_nodes), targets(target_nodes), edges(count) {
    std::mt19937_64 draw(7);
    std::vector<int64_t> source, target;
    for (int64_t e = 0; e < edges; ++e) {
      source.push_back(e % 3 == 0 ? sources / 2
                                  : static_cast<int64_t>(draw() % static_cast<uint64_t>(sources)));
      target.push_back(e % 5 == 0 ? std::min(source.back(), targets - 1)
                                  : static_cast<int64_t>(draw() % static_cast<uint64_t>(targets)));
    }
    order.resize(static_cast<size_t>(edge_order_size(targets, edges)));
    make_edge_order(source.data(), target.data(), edges, sources, targets, drop_loops, drop_loops,
                    order.data());
  }
};

void expect_transposed(Where where, const Problem& p) {
  SCOPED_TRACE(testing::Message() << p.sources << " sources, " << p.targets << " targets, " << p.edges
                                  << " edges");
  const EdgeOrder view =
      view_edge_order(p.order.data(), static_cast<int64_t>(p.order.size()), p.sources, p.targets, p.edges);
  Numbers ptr(static_cast<size_t>(p.sources) + 1), position(static_cast<size_t>(p.edges)), target(position);
  transpose_edge_order(view, ptr.data(), position.data(), target.data());

  TestDevice device(where, false);
  const EdgeOrder device_order = view_device_order(device.upload(p.order), p.sources, p.targets, p.edges);
  int32_t* const out_ptr = device.filled<int32_t>(p.sources + 1, -1);
  int32_t* const out_position = device.filled<int32_t>(p.edges, -1);
  int32_t* const out_target = device.filled<int32_t>(p.edges, -1);
  int32_t* const buffer = device.filled<int32_t>((out_edges_buffer_bytes(p.edges) + 3) / 4, -1);
  if (device.on_host())
    run_out_edges(device_order, out_ptr, out_position, out_target, buffer, device.launch());
  else
    out_edges_cuda(device_order, out_ptr, out_position, out_target, buffer, nullptr);
  const auto first = [&](const Numbers& numbers) {
    return std::vector<double>(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(view.edges));
  };
  EXPECT_EQ(device.download(out_ptr, p.sources + 1), std::vector<double>(ptr.begin(), ptr.end()));
  EXPECT_EQ(device.download(out_position, view.edges), first(position));
  EXPECT_EQ(device.download(out_target, view.edges), first(target));
}

class OutEdgesOnDevice : public OnDevice {};

INSTANTIATE_TEST_SUITE_P(Places, OutEdgesOnDevice,
                         testing::Values(Where::host, Where::host_backwards, Where::cuda), name_of_place);

// The numbers of sources 31, 32, 1,023, 1,024 and 40,000 need one to four passes of the sort.
TEST_P(OutEdgesOnDevice, AreTheOrderTransposed) {
  for (const int64_t edges : {0, 1, 15, 33, 700})
    for (const int64_t nodes : {1, 31, 32, 1023, 1024, 40000})
      for (const bool drop_loops : {false, true})
        expect_transposed(GetParam(), Problem(nodes, nodes, edges, drop_loops));
  expect_transposed(GetParam(), Problem(300, 7, 500, false));
  expect_transposed(GetParam(), Problem(7, 300, 500, false));
}

// Parts have the usual number of edges, or more if there are kMax parts.
TEST_P(OutEdgesOnDevice, AreTheOrderTransposedInManyParts) {
  expect_transposed(GetParam(), Problem(5000, 3000, 40'000, false));
  expect_transposed(GetParam(), Problem(70, 70, EdgeParts::kMax * EdgeParts::kEdges + 77'777, true));
}

TEST(OutEdgesOnThreads, AreTheOrderTransposed) {
  expect_transposed(Where::threads, Problem(40, 50, 300, true));
}

// A buffer can also hold sums of fewer columns than it was made for.
TEST(Parts, HaveRoomForTheSumsOfAnyFewerColumns) {
  for (const int64_t rows : {0, 1, 15, 16, 1216, 4053, 16'384, 21'781, 100'000}) {
    int64_t max = 0;
    for (int64_t columns = 0; columns < 5000; ++columns) {
      max = std::max(max, Parts(rows, columns).count * columns);
      ASSERT_GE(Parts::max_numbers(rows, columns), max) << rows << " rows, " << columns << " columns";
      ASSERT_LE(Parts::max_numbers(rows, columns), rows * 24 + columns);
    }
  }
}

}  // namespace
}  // namespace plimsoll
