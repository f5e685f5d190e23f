#include "engine/predict/full_neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/plan/planner.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "support/errors.h"
#include "support/giant_graph.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class FullNeighboursTest : public testing::Test {
 protected:
  static constexpr int64_t kNodes = 20'000;
  static constexpr int64_t kFeatures = 8;
  static constexpr int64_t kOutside = 50'000'000;

  static void SetUpTestSuite() { warm_up_torch(1); }

  FullNeighboursTest() {
    const GiantGraph graph = skewed_graph(kNodes, 3);
    GraphWriter writer(folder(), false);
    writer.append_row_ends(std::span(graph.indptr).subspan(1));
    writer.append_indices(std::span<const int64_t>(graph.indices));
    std::mt19937 random(7);
    std::vector<float> x(kNodes * kFeatures);
    for (float& value : x) value = static_cast<float>(random() % 1000) / 500 - 1;
    writer.append_x(x, kFeatures);
    writer.publish({.direction = EdgeDirection::in}, make_provenance("made up", {}));
  }
  ~FullNeighboursTest() override { Ledger::process().set_cap(Ledger::kUnlimited); }

  std::filesystem::path folder() const { return folder_ / "graph"; }
  static Gnn model(ConvKind conv) {
    return Gnn(
        {.conv = conv, .in_features = kFeatures, .layers = 2, .hidden = 8, .classes = 3, .node_head = true},
        1);
  }
  std::vector<float> judge(
      const Gnn& model, const GraphView& graph, DiskTopology& topology,
      const std::function<void()>& on_progress = [] {}, int threads = 2) const {
    const FullNeighbourOptions options{.scratch = folder_.path(),
                                       .memory = {.outside_ledger = kOutside, .threads = threads},
                                       .progress = [&](int64_t, int64_t) { on_progress(); }};
    const std::vector<int64_t> nodes = {0, 1, 6, 4'000, kNodes - 1};
    std::vector<float> logits(nodes.size() * static_cast<size_t>(model.classes()));
    predict_nodes(graph, topology, model, nodes, options, logits);
    return logits;
  }
  // Edges are then read several times.
  static void set_small_budget() {
    Ledger& ledger = Ledger::process();
    ledger.set_cap(ledger.held() + 8'000'000);
  }

  TempFolder folder_;
};

TEST_F(FullNeighboursTest, SaysTheSameWhetherEdgesFitIntoMemoryOrNot) {
  const GraphView graph(folder());
  for (const ConvKind conv : {ConvKind::gcn, ConvKind::sage}) {
    const Gnn gnn = model(conv);
    DiskTopology roomy(graph);
    const std::vector<float> expected = judge(gnn, graph, roomy);
    DiskTopology topology(graph);
    set_small_budget();
    const int64_t held = Ledger::process().held(Tag::cache);
    EXPECT_EQ(judge(gnn, graph, topology), expected);
    EXPECT_EQ(Ledger::process().held(Tag::cache), held);
    Ledger::process().set_cap(Ledger::kUnlimited);
    // A layer that has all edges in memory reads them once.
    EXPECT_GT(topology.counters().neighbours.misses, roomy.counters().neighbours.misses);
  }
}

// The smallest budget that a refusal names; 0 if it names none.
int64_t named_in(const std::string& text) {
  const std::string before = "the smallest budget that works is ";
  const size_t at = text.find(before);
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + before.size()));
}

TEST_F(FullNeighboursTest, AFeatureThatIsNotFiniteIsAnErrorThatNamesANode) {
  const GraphView graph(folder());
  const Gnn gnn = model(ConvKind::sage);
  std::fstream file(folder() / "x.npy", std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(8);
  uint16_t header = 0;  // Bytes after the first ten.
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  file.seekp(10 + header + 4'000 * kFeatures * int64_t{sizeof nan});
  file.write(reinterpret_cast<const char*>(&nan), sizeof nan);
  file.close();
  DiskTopology topology(graph);
  EXPECT_THAT(error_text<InputError>([&] { judge(gnn, graph, topology); }),
              HasSubstr("the outputs of the model for node 0 are not finite"));
}

TEST_F(FullNeighboursTest, AsManyThreadsWorkAsTheBudgetHasRoomFor) {
  const GraphView graph(folder());
  const Gnn gnn = model(ConvKind::sage);
  DiskTopology topology(graph);
  const std::vector<float> expected = judge(gnn, graph, topology);
  Ledger& ledger = Ledger::process();
  const int64_t held = ledger.held();
  const auto nothing = [] {};
  ledger.set_cap(held + 1'600'000);
  std::string text;
  try {
    judge(gnn, graph, topology, nothing, 16);
  } catch (const BudgetTooSmall& error) {
    text = error.what();
  }
  const int64_t budget = named_in(text);
  ASSERT_GT(budget, 0) << text;
  for (const int64_t more : {0, 1'000'000, 2'000'000, 5'000'000, 20'000'000}) {
    const int64_t cap = budget + more - kOutside;
    ledger.set_cap(cap);
    ledger.begin_recent();
    EXPECT_EQ(judge(gnn, graph, topology, nothing, 16), expected) << more;
    EXPECT_EQ(ledger.cap(), cap);
    EXPECT_EQ(ledger.held(), held);
  }
}

int64_t file_bytes(const std::filesystem::path& folder) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".f32") bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

TEST_F(FullNeighboursTest, FilesTakeTheBytesThatAreSaid) {
  const GraphView graph(folder());
  for (const LayerJoin jk : {LayerJoin::last, LayerJoin::cat}) {
    const Gnn gnn({.conv = ConvKind::sage,
                   .in_features = kFeatures,
                   .layers = 3,
                   .hidden = 8,
                   .jk = jk,
                   .classes = 3,
                   .node_head = true},
                  1);
    DiskTopology topology(graph);
    int64_t max_bytes = 0;
    const auto look = [&](int64_t, int64_t) { max_bytes = std::max(max_bytes, file_bytes(folder_.path())); };
    predict_all_nodes(graph, topology, gnn, {.scratch = folder_.path(), .progress = look});
    look(0, 0);
    EXPECT_EQ(max_bytes, layer_bytes(gnn, kNodes)) << word_of(jk);
  }
}

TEST_F(FullNeighboursTest, FileCutShortMeanwhileIsAnErrorAndNoSignal) {
  const Gnn gnn = model(ConvKind::sage);
  for (const std::string name : {"indices.npy", "indptr.npy"}) {
    const std::filesystem::path column = folder() / name;
    std::filesystem::copy_file(column, folder_ / name);
    const GraphView graph(folder());
    DiskTopology topology(graph);
    set_small_budget();
    EXPECT_THAT(error_text<InputError>([&] {
                  judge(gnn, graph, topology, [&] { std::filesystem::resize_file(column, 100'000); });
                }),
                HasSubstr(name + ": the file ends at byte "));
    Ledger::process().set_cap(Ledger::kUnlimited);
    std::filesystem::rename(folder_ / name, column);
  }
}

}  // namespace
}  // namespace plimsoll
