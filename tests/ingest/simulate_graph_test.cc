#include "ingest/graph/simulate_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/file.h"
#include "store/graph.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class SimulateGraph : public testing::Test {
 protected:
  GraphSimulation options() const {
    return {
        .nodes = 20'000, .degree = 12, .features = 9, .classes = 5, .out = folder_ / "out", .force = true};
  }
  static GraphSimulationResult run(const GraphSimulation& options, FileSystem& files = FileSystem::disk()) {
    return simulate_graph(
        options, [](int64_t, int64_t) {}, files);
  }
  std::string manifest() const { return read_text(folder_ / "out/manifest.json"); }
  TempFolder folder_;
};

TEST_F(SimulateGraph, HasCommunitiesHubsAndSplits) {
  run(options());
  EXPECT_THAT(verify_data_set(folder_ / "out"), IsEmpty());
  const GraphView graph(folder_ / "out");
  EXPECT_EQ(graph.nodes(), 20'000);
  EXPECT_EQ(graph.node_features(), 9);
  EXPECT_NEAR(static_cast<double>(graph.edges()), 12 * 20'000, 0.15 * 12 * 20'000);
  std::vector<int64_t> count(5);
  for (const int64_t y : graph.y()) ++count[static_cast<size_t>(y)];
  for (const int64_t nodes : count) EXPECT_EQ(nodes, 4'000);

  int64_t same = 0;
  int64_t longest = 0;
  std::vector<int64_t> seen(20'000);
  for (size_t v = 0; v < 20'000; ++v) {
    longest = std::max(longest, graph.indptr()[v + 1] - graph.indptr()[v]);
    for (int64_t e = graph.indptr()[v]; e < graph.indptr()[v + 1]; ++e) {
      const auto neighbour = static_cast<size_t>(graph.neighbour(e));
      EXPECT_NE(neighbour, v);
      same += graph.y()[neighbour] == graph.y()[v];
      ++seen[neighbour];
    }
  }
  EXPECT_NEAR(static_cast<double>(same) / static_cast<double>(graph.edges()), 0.76, 0.05);
  EXPECT_GT(longest, 400) << "hubs";
  EXPECT_GT(*std::max_element(seen.begin(), seen.end()), 400) << "that are neighbours of many";
  EXPECT_NEAR(static_cast<double>(graph.split(0).size()), 2'000, 200);
  EXPECT_NEAR(static_cast<double>(graph.split(1).size()), 1'000, 150);
  EXPECT_NEAR(static_cast<double>(graph.split(2).size()), 2'000, 200);
}

TEST_F(SimulateGraph, ThreadsAndMemoryChangeNoByteAndTheSeedDoes) {
  GraphSimulation made = options();
  run(made);
  const std::string whole = manifest();  // The manifest has the checksums of all columns.
  made.threads = 3;
  {
    const LedgerCap cap(12 << 20);
    run(made);
  }
  EXPECT_EQ(manifest(), whole);
  made.seed = 2;
  run(made);
  EXPECT_NE(manifest(), whole);
}

TEST_F(SimulateGraph, TheSmallestOnesAreMade) {
  GraphSimulation made = options();
  for (const int64_t nodes : {1, 2, 3, 7}) {
    made.nodes = nodes;
    made.classes = nodes;
    made.features = nodes - 1;
    run(made);
    EXPECT_THAT(verify_data_set(folder_ / "out"), IsEmpty());
  }
}

TEST_F(SimulateGraph, NumbersOutOfRangeAreRefused) {
  const auto refused = [&](const std::function<void(GraphSimulation&)>& change) {
    GraphSimulation made = options();
    change(made);
    return error_text<UsageError>([&] { run(made); });
  };
  EXPECT_THAT(refused([](GraphSimulation& made) { made.nodes = 0; }), HasSubstr("--nodes"));
  EXPECT_THAT(refused([](GraphSimulation& made) { made.nodes = (int64_t{1} << 32) + 1; }),
              HasSubstr("--nodes"));
  EXPECT_THAT(refused([](GraphSimulation& made) { made.classes = made.nodes + 1; }), HasSubstr("--classes"));
  EXPECT_THAT(refused([](GraphSimulation& made) { made.degree = -1; }), HasSubstr("--degree"));
  EXPECT_THAT(refused([](GraphSimulation& made) { made.features = -1; }), HasSubstr("--features"));
}

TEST_F(SimulateGraph, IsTheOldOneOrTheNewWhateverFails) {
  const auto make = [&](uint64_t seed) {
    return [this, seed](FileSystem& files) {
      GraphSimulation made = options();
      made.nodes = 300;
      made.out = "/place/graph";
      made.seed = seed;
      run(made, files);
    };
  };
  FaultTrials("/place/graph", make(1), make(2)).run();
}

TEST_F(SimulateGraph, CentresOfManyClassesAndFeaturesAreInTheBudget) {
  GraphSimulation many = options();
  many.classes = 2048;
  many.features = 2048;
  const LedgerCap cap(12 << 20);
  EXPECT_THAT(error_text<BudgetExceeded>([&] { run(many); }), HasSubstr("raise the budget"));
}

}  // namespace
}  // namespace plimsoll
