#include "engine/predict/shared_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "engine/plan/warm_up.h"
#include "engine/predict/full_neighbours.h"
#include "memory/ledger.h"
#include "support/giant_graph.h"
#include "support/temp_folder.h"
#include "support/thread_ranks.h"

namespace plimsoll {
namespace {

constexpr int64_t kSharedNodes = 30'000;
constexpr int64_t kSharedFeatures = 8;

// Has many nodes of few edges, and a hub of three chunks.
GiantGraph graph_to_share() {
  std::vector<std::set<int64_t>> lists(kSharedNodes);
  std::mt19937 random(5);
  for (int64_t v = 0; v < kSharedNodes; ++v)
    for (int64_t i = 0; v % 7 != 6 && i < 1 + v % 13; ++i)
      lists[static_cast<size_t>(v)].insert(static_cast<int64_t>(random() % kSharedNodes));
  for (int64_t node = 0; node < kPieceEdges + 9'000; ++node) lists[12'345].insert(node);
  return GiantGraph(lists);
}

class SharedLayerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { warm_up_torch(1); }

  SharedLayerTest() {
    const GiantGraph graph = graph_to_share();
    GraphWriter writer(folder_ / "graph", false);
    writer.append_row_ends(std::span(graph.indptr).subspan(1));
    writer.append_indices(std::span<const int64_t>(graph.indices));
    std::mt19937 random(7);
    std::vector<float> x(kSharedNodes * kSharedFeatures);
    for (float& value : x) value = static_cast<float>(random() % 1000) / 500 - 1;
    writer.append_x(x, kSharedFeatures);
    writer.publish({.direction = EdgeDirection::in}, make_provenance("made up", {}));
  }

  static Gnn model(ConvKind conv, LayerJoin jk = LayerJoin::last) {
    return Gnn({.conv = conv,
                .in_features = kSharedFeatures,
                .layers = 3,
                .hidden = 8,
                .jk = jk,
                .classes = 3,
                .node_head = true},
               1);
  }

  // The outputs of some nodes, or of all if `nodes` is empty.
  std::vector<float> predict(const Gnn& gnn, std::span<const int64_t> nodes, FullNeighbourOptions options) {
    const GraphView graph(folder_ / "graph");
    DiskTopology topology(graph);
    options.scratch = folder_ / ("rank-" + std::to_string(rank_of(options.exchange)));
    options.memory = {.outside_ledger = 1'000'000, .threads = 2};
    options.ranks = std::max(options.ranks, ranks_of(options.exchange));
    std::filesystem::create_directories(options.scratch);
    std::vector<float> outputs;
    const auto take = [&](const NodePredictions& found) {
      for (const at::Tensor& part : {found.logits, found.embeddings})
        if (part.defined())
          outputs.insert(outputs.end(), part.const_data_ptr<float>(),
                         part.const_data_ptr<float>() + part.numel());
    };
    if (nodes.empty())
      predict_every_node(graph, topology, gnn, options, take);
    else
      predict_nodes(graph, topology, gnn, nodes, options, take);
    return outputs;
  }

  // The same on ranks, all of which must find the same. bytes_sent_ receives the maximum over ranks.
  std::vector<float> predict_on(int ranks, const Gnn& gnn, std::span<const int64_t> nodes,
                                const FullNeighbourOptions& options) {
    std::mutex mutex;
    std::map<int, std::vector<float>> found;
    bytes_sent_ = 0;
    ThreadRanks(ranks).run([&](Exchange& exchange) {
      FullNeighbourOptions of_rank = options;
      of_rank.exchange = &exchange;
      std::vector<float> outputs = predict(gnn, nodes, of_rank);
      const std::lock_guard lock(mutex);
      bytes_sent_ = std::max(bytes_sent_, exchange.traffic().bytes_sent);
      found[exchange.rank()] = std::move(outputs);
    });
    for (const auto& [rank, outputs] : found) EXPECT_EQ(outputs, found[0]) << "rank " << rank;
    return found[0];
  }

  int64_t planned_bytes(int ranks, const Gnn& gnn, bool embeddings) {
    Rehearsal rehearsal;
    predict(gnn, {}, {.scratch = {}, .rehearsal = &rehearsal, .embeddings = embeddings, .ranks = ranks});
    return rehearsal.bytes_sent();
  }

  TempFolder folder_;
  int64_t bytes_sent_ = 0;
};

TEST_F(SharedLayerTest, AllRanksFindTheBitsOfOneProcess) {
  for (const ConvKind conv : {ConvKind::sage, ConvKind::gcn, ConvKind::gat}) {
    const Gnn gnn = model(conv, conv == ConvKind::sage ? LayerJoin::cat : LayerJoin::last);
    const std::vector<float> alone = predict(gnn, {}, {.scratch = {}, .embeddings = true});
    for (const int ranks : {2, 3, 4, 8})
      EXPECT_EQ(predict_on(ranks, gnn, {}, {.scratch = {}, .embeddings = true}), alone)
          << word_of(conv) << ", " << ranks;
  }
}

TEST_F(SharedLayerTest, SomeNodesAreComputedFromTheNeededPiecesAlone) {
  const Gnn gnn = model(ConvKind::sage);
  const std::vector<int64_t> nodes = {29'999, 17, 0, 17, 12'345};
  const std::vector<float> alone = predict(gnn, nodes, {.scratch = {}});
  for (const int ranks : {2, 3, 8}) EXPECT_EQ(predict_on(ranks, gnn, nodes, {.scratch = {}}), alone) << ranks;
  EXPECT_LE(bytes_sent_, planned_bytes(8, gnn, false));
}

TEST_F(SharedLayerTest, ARankSendsTheBytesOfThePlan) {
  const Gnn gnn = model(ConvKind::sage);
  for (const bool embeddings : {false, true})
    for (const int ranks : {2, 3, 4}) {
      predict_on(ranks, gnn, {}, {.scratch = {}, .embeddings = embeddings});
      const int64_t planned = planned_bytes(ranks, gnn, embeddings);
      EXPECT_LE(bytes_sent_, planned);
      EXPECT_GE(bytes_sent_, planned - planned / 20);
    }
}

TEST_F(SharedLayerTest, AnErrorOnOneRankEndsAll) {
  const Gnn gnn = model(ConvKind::sage);
  const int64_t held = Ledger::process().held();
  for (const int failing : {0, 2}) {
    for (const int64_t end : {1, 40'000, 88'000}) {
      std::mutex mutex;
      std::vector<std::string> texts(3);
      const auto evaluate = [&](Exchange& exchange) {
        FullNeighbourOptions options{.scratch = {}, .progress = [&](int64_t done, int64_t) {
                                       if (exchange.rank() == failing && done >= end)
                                         throw Failure("made up");
                                     }};
        options.exchange = &exchange;
        try {
          predict(gnn, {}, options);
        } catch (const Failure& error) {
          const std::lock_guard lock(mutex);
          texts[static_cast<size_t>(exchange.rank())] = error.what();
        }
      };
      ThreadRanks(3).run(evaluate);
      for (int rank = 0; rank < 3; ++rank)
        EXPECT_EQ(texts[static_cast<size_t>(rank)],
                  rank == failing
                      ? "made up"
                      : "rank " + std::to_string(failing) + " failed; its own message gives the reason");
    }
  }
  EXPECT_EQ(Ledger::process().held(), held);
}

TEST_F(SharedLayerTest, ALostRankEndsAll) {
  const Gnn gnn = model(ConvKind::sage);
  ThreadRanks ranks(3);
  std::atomic<int> lost = 0;
  ranks.run([&](Exchange& exchange) {
    FullNeighbourOptions options{.scratch = {}, .progress = [&](int64_t done, int64_t) {
                                   if (exchange.rank() == 1 && done >= 40'000) ranks.kill(1);
                                 }};
    options.exchange = &exchange;
    try {
      predict(gnn, {}, options);
    } catch (const RankLost&) {
      ++lost;
    } catch (const Killed&) {
    }
  });
  EXPECT_EQ(lost, 2);
}

// Every needed piece belongs to one round, ranks compute consecutive pieces and whole hubs, and shares of the
// cost are about equal.
TEST_F(SharedLayerTest, RoundsDivideAllNeededPieces) {
  const GraphView graph(folder_ / "graph");
  const DiskTopology topology(graph);
  const Pieces pieces = cut_pieces(topology);
  RowSet some(pieces.count());
  for (int64_t piece = 0; piece < pieces.count(); ++piece)
    if (piece % 3 != 1 || pieces.at(piece).is_chunk()) some.add(piece);
  for (const NeededPieces& needed : {NeededPieces(), NeededPieces(some)})
    for (const int ranks : {1, 2, 3, 8, 64})
      for (const int64_t row_bytes : {4, 4096}) {
        const RankRounds rounds(pieces, needed, ranks, row_bytes);
        std::vector<int64_t> nodes;
        std::vector<int64_t> expected;
        int64_t max_rows = 0;
        for (int rank = 0; rank < ranks; ++rank)
          for (int64_t round = 0; round < rounds.rounds(); ++round) {
            max_rows = std::max(max_rows, rounds.rows(rank, round));
            rounds.visit_ranges(rank, round, [&](int64_t first, int64_t end) {
              for (int64_t node = first; node < end; ++node) nodes.push_back(node);
            });
          }
        for (int64_t piece = 0; piece < pieces.count(); ++piece)
          for (int64_t node = pieces.at(piece).begin;
               (!needed || needed->has(piece)) && node < pieces.nodes_until(piece); ++node)
            expected.push_back(node);
        EXPECT_EQ(nodes, expected) << ranks;
        for (int64_t piece = 1; piece < pieces.count(); ++piece)
          for (int rank = 0; rank < ranks && pieces.at(piece).chunk > 0; ++rank)
            EXPECT_EQ(rounds.is_of_rank(rank, piece), rounds.is_of_rank(rank, piece - 1)) << ranks;
        EXPECT_EQ(max_rows, rounds.max_rows());
        if (ranks == 2 && !needed) {
          EXPECT_LT(rounds.max_rows_of_rank(), kSharedNodes * 6 / 10);
        }
      }
}

}  // namespace
}  // namespace plimsoll
