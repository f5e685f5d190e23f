#include "sample/neighbour/neighbour_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "memory/ledger.h"
#include "support/errors.h"
#include "support/neighbour_blocks.h"
#include "support/rewrite_columns.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using NeighbourSourceTest = NeighbourBlocksTest;

TEST_F(NeighbourSourceTest, ABlockIsItsSeedsAndWhatWasReached) {
  const NeighbourSource source = open();
  Vector<int64_t, Tag::blocks> seeds, labels;
  for (const int64_t number : {int64_t{0}, int64_t{7}, source.graphs() - 1}) {
    source.blocks().seeds(source.blocks().block(number), seeds, labels);
    const GraphBlock read = block(source, number);
    ASSERT_EQ(read.graphs(), 1);
    const int64_t nodes = read.nodes();
    ASSERT_EQ(read.x.size(), static_cast<size_t>(kFeatures * nodes));
    for (int64_t n = 0; n < nodes; ++n) {
      const auto at = static_cast<size_t>(n);
      const auto v = static_cast<int64_t>(read.x[kFeatures * at]);
      EXPECT_EQ(read.x[kFeatures * at + 1], 2 * v);
      EXPECT_EQ(read.x[kFeatures * at + 2], -v);
      const bool is_seed = at < seeds.size();
      EXPECT_EQ(read.node_y[at], is_seed ? v % 3 : -1);
      if (is_seed) {
        EXPECT_EQ(v, seeds[at]);
      }
    }
    for (size_t e = 0; e < read.edges.size(); e += 2) {
      const auto v = [&](int32_t n) {
        return static_cast<int64_t>(read.x[static_cast<size_t>(kFeatures * n)]);
      };
      EXPECT_TRUE(graph_.has_edge(v(read.edges[e + 1]), v(read.edges[e])));
    }
  }
}

TEST_F(NeighbourSourceTest, ShapesAreThoseOfTheBlocks) {
  const NeighbourSource source = open();
  for (const int threads : {1, 3}) {
    const auto shapes = source.shapes(threads);
    ASSERT_EQ(static_cast<int64_t>(shapes.size()), source.graphs());
    for (int64_t number = 0; number < source.graphs(); ++number) {
      const GraphShape expected = shapes_of(block(source, number)).front();
      const GraphShape& found = shapes[static_cast<size_t>(number)];
      EXPECT_EQ(found.nodes, expected.nodes);
      EXPECT_EQ(found.edges, expected.edges);
      EXPECT_EQ(found.self_loops, expected.self_loops);
      EXPECT_EQ(found.max_in, expected.max_in);
      EXPECT_EQ(found.max_in_without_loops, expected.max_in_without_loops);
      EXPECT_EQ(found.labelled_nodes, expected.labelled_nodes);
      EXPECT_EQ(found.highest_node_label, expected.highest_node_label);
    }
  }
}

TEST_F(NeighbourSourceTest, PrefixesAreTheFirstNodesWithTheEdgesIntoThem) {
  const NeighbourSource source = open();
  source.shapes(2);
  ASSERT_EQ(static_cast<int64_t>(source.prefix_shapes().size()), 2 * source.graphs());
  Vector<int64_t, Tag::blocks> seeds, labels;
  for (int64_t number = 0; number < source.graphs(); ++number) {
    source.blocks().seeds(source.blocks().block(number), seeds, labels);
    const GraphBlock read = block(source, number);
    ASSERT_EQ(read.prefixes.size(), 2U);
    EXPECT_EQ(read.prefixes[0].nodes, static_cast<int64_t>(seeds.size()));
    EXPECT_EQ(read.prefixes[1].edges, read.edge_count()) << "nodes of the last hop have no edges";
    for (size_t hops = 0; hops < 2; ++hops) {
      // Cut after the prefix, the block must have the shape that shapes_of() finds.
      GraphBlock cut = read;
      cut.node_ptr.back() = read.prefixes[hops].nodes;
      cut.edge_ptr.back() = read.prefixes[hops].edges;
      const GraphShape expected = shapes_of(cut).front();
      const GraphShape& found = source.prefix_shapes()[static_cast<size_t>(2 * number) + hops];
      EXPECT_EQ(found.nodes, expected.nodes);
      EXPECT_EQ(found.edges, expected.edges);
      EXPECT_EQ(found.self_loops, expected.self_loops);
      EXPECT_EQ(found.max_in, expected.max_in);
      EXPECT_EQ(found.max_in_without_loops, expected.max_in_without_loops);
      // Edges into the prefix precede all others, and come from at most one hop further.
      const int64_t next = hops == 0 ? read.prefixes[1].nodes : read.nodes();
      for (int64_t e = 0; e < read.edge_count(); ++e) {
        const int32_t from = read.edges[static_cast<size_t>(2 * e)];
        const int32_t to = read.edges[static_cast<size_t>(2 * e) + 1];
        EXPECT_EQ(to < read.prefixes[hops].nodes, e < read.prefixes[hops].edges);
        if (e < read.prefixes[hops].edges) {
          EXPECT_LT(from, next);
        }
      }
    }
  }
}

// Reads in the order of a run, with jumps, blocks out of order and blocks that are read again.
TEST_F(NeighbourSourceTest, BlocksAreTheSameWhateverTheCacheAndTheOrder) {
  const NeighbourSource plain = open();
  std::vector<GraphBlock> expected;
  for (int64_t number = 0; number < plain.graphs(); ++number) expected.push_back(block(plain, number));
  std::mt19937 random(1);
  const int64_t max = plain.max_cache_bytes();
  const std::vector<std::pair<int64_t, bool>> caches = {{0, false},        {400'000, false}, {900'000, false},
                                                        {max, false},      {400'000, true},  {900'000, true},
                                                        {1'200'000, true}, {max, true}};
  for (const auto& [bytes, scratch] : caches) {
    const NeighbourSource source = open(5, "graph", scratch ? ScratchSpace{folder_.path()} : ScratchSpace{});
    if (scratch) source.shapes(1);
    source.resize_cache(bytes);
    const int64_t epoch = source.blocks().per_epoch();
    std::vector<int64_t> order = run_order(source, 2);
    for (int swap = 0; swap < 12; ++swap) {
      const size_t at = random() % (order.size() - 2);
      std::swap(order[at], order[at + 1 + random() % 2]);
    }
    for (int again = 0; again < 6; ++again) {
      const auto at = static_cast<std::ptrdiff_t>(random() % order.size());
      order.insert(order.begin() + at, order[static_cast<size_t>(at)]);
    }
    order.insert(order.begin() + 3, {epoch + 2, 1, epoch + 3});
    for (const int64_t number : order)
      expect_equal(block(source, number), expected[static_cast<size_t>(number)]);
  }
}

// Rows are read by single reads, in rounds, in packs, or all are in memory.
TEST_F(NeighbourSourceTest, NarrowFeaturesAreTheSameBlocks) {
  write_graph(folder_ / "exact", graph_, kFeatures, {.type = std::nullopt});
  write_graph(folder_ / "rounded", graph_, kFeatures, {.type = NumberType::i8});
  EXPECT_EQ(GraphView(folder_ / "exact").x_values().type, NumberType::f16);
  EXPECT_NE(GraphView(folder_ / "rounded").x_values().scale, nullptr);
  const NeighbourSource wide = open();
  for (const char* name : {"exact", "rounded"}) {
    const NeighbourSource plain = open(5, name);
    const bool exact = name == std::string("exact");
    std::vector<GraphBlock> expected;
    for (int64_t number = 0; number < wide.graphs(); ++number) {
      expected.push_back(block(exact ? wide : plain, number));
      if (!exact) {
        EXPECT_NE(expected.back().x, block(wide, number).x);
      }
    }
    const int64_t max = plain.max_cache_bytes();
    EXPECT_LT(max, wide.max_cache_bytes());
    for (const auto& [bytes, scratch] : std::vector<std::pair<int64_t, bool>>{
             {0, false}, {250'000, false}, {max, false}, {400'000, true}, {600'000, true}}) {
      const NeighbourSource source = open(5, name, scratch ? ScratchSpace{folder_.path()} : ScratchSpace{});
      if (scratch) source.shapes(1);
      source.resize_cache(bytes);
      for (int64_t number = 0; number < source.graphs(); ++number)
        expect_equal(block(source, number), expected[static_cast<size_t>(number)]);
      const RowCounters counters = *source.row_counters();
      EXPECT_EQ(counters.bytes_useful, counters.misses * kFeatures * (exact ? 2 : 1));
      EXPECT_GT(counters.misses, 0);
    }
  }
}

// Packs, rounds and samples are stored in files.
TEST_F(NeighbourSourceTest, EdgesBringTheirColumns) {
  for (size_t e = 0; e < graph_.indices.size(); ++e) graph_.weights.push_back(static_cast<float>(e % 13));
  write_graph(folder_ / "valued", graph_, kFeatures, {}, 3);
  NeighbourSourceOptions options{.neighbours = {.fan_outs = {4, 3}},
                                 .blocks = {.epochs = 2, .batch_size = 64, .block_seeds = 16, .seed = 5},
                                 .seed = 5,
                                 .edges = {.weight = true, .features = true}};
  const NeighbourSource plain(folder_ / "valued", options);
  EXPECT_EQ(plain.edge_features(), 4);
  const NeighbourSource bare = open();
  for (const auto& [bytes, scratch] : std::vector<std::pair<int64_t, bool>>{{0, false},
                                                                            {900'000, false},
                                                                            {plain.max_cache_bytes(), false},
                                                                            {500'000, true},
                                                                            {1'500'000, true}}) {
    options.scratch = scratch ? ScratchSpace{folder_.path()} : ScratchSpace{};
    const NeighbourSource source(folder_ / "valued", options);
    if (scratch) source.shapes(2);
    source.resize_cache(bytes);
    for (const int64_t number : run_order(source, 2)) {
      const GraphBlock read = block(source, number);
      const GraphBlock without = block(bare, number);
      ASSERT_EQ(read.edges, without.edges);
      ASSERT_EQ(read.x, without.x);
      ASSERT_EQ(read.edge_attr.size(), 2 * read.edges.size());
      const auto node = [&](size_t end) {
        return static_cast<int64_t>(read.x[static_cast<size_t>(kFeatures * read.edges[end])]);
      };
      for (size_t e = 0; e < read.edges.size() / 2; ++e) {
        const int64_t edge = graph_.edge(node(2 * e + 1), node(2 * e));
        const auto value = static_cast<float>(edge);
        EXPECT_EQ(read.edge_attr[4 * e], static_cast<float>(edge % 13));
        for (size_t k = 1; k < 4; ++k) EXPECT_EQ(read.edge_attr[4 * e + k], static_cast<float>(k) * value);
      }
    }
  }
}

// The scratch file has space for the samples of all epochs, or of about one; then it is filled again.
TEST_F(NeighbourSourceTest, SamplesAreKeptAndTheTopologyIsNotReadAgain) {
  constexpr int64_t kEpochs = 4;
  const NeighbourSource plain = open(5, "graph", {}, kEpochs);
  std::vector<GraphBlock> expected;
  for (int64_t number = 0; number < plain.graphs(); ++number) expected.push_back(block(plain, number));
  const auto reads = [](const NeighbourSource& source) {
    const TopologyCounters counters = source.topology().counters();
    return counters.lists.hits + counters.lists.misses;
  };
  for (const auto& [scratch, fills] : {std::pair<int64_t, bool>{64 << 20, false}, {96 << 10, true}}) {
    for (const int64_t bytes : {int64_t{1'200'000}, int64_t{2'500'000}}) {
      const NeighbourSource source = open(5, "graph", {folder_.path(), scratch}, kEpochs);
      source.shapes(2);
      const int64_t held = Ledger::process().held(Tag::cache);
      source.resize_cache(bytes);
      const std::vector<int64_t> order = run_order(source, kEpochs);
      // It was not announced that this block would be the first.
      expect_equal(block(source, order[0]), expected[0]);
      const int64_t before = reads(source);
      for (size_t i = 1; i < order.size(); ++i)
        expect_equal(block(source, order[i]), expected[static_cast<size_t>(order[i])]);
      EXPECT_EQ(reads(source) > before, fills) << scratch << " " << bytes;
      EXPECT_LE(Ledger::process().held(Tag::cache), held + bytes);
    }
  }
}

TEST_F(NeighbourSourceTest, StoredSamplesAreReadBeforeThereIsACache) {
  const NeighbourSource plain = open();
  const NeighbourSource source = open(5, "graph", {folder_.path(), 64 << 20});
  source.shapes(1);
  const TopologyCounters before = source.topology().counters();
  for (const int64_t number : {int64_t{3}, source.graphs() - 1})
    expect_equal(block(source, number), block(plain, number));
  EXPECT_EQ(source.topology().counters().lists.misses, before.lists.misses);
  EXPECT_EQ(source.topology().counters().lists.hits, before.lists.hits);
}

// A plan reads its largest block before there is a cache.
TEST_F(NeighbourSourceTest, StartUpIsAllThatIsReadBeforeThereIsACache) {
  const NeighbourSource source = open(5, "graph", {folder_.path(), 64 << 20});
  EXPECT_FALSE(source.start_up_cost());
  source.shapes(1);
  const auto read = [&] { return source.start_up_cost()->bytes_read; };
  const int64_t first = read();
  EXPECT_EQ(first, source.row_counters()->bytes_read);
  const GraphBlock largest = block(source, 3);
  const int64_t second = read();
  EXPECT_GE(second, first + largest.nodes() * kFeatures * static_cast<int64_t>(sizeof(float)));
  source.resize_cache(1'500'000);
  block(source, 4);
  EXPECT_EQ(read(), second);
}

// The run starts with an epoch whose samples are not stored, as after a crash.
TEST_F(NeighbourSourceTest, ARunThatGoesOnSamplesFromWhereItIs) {
  const NeighbourSource plain = open(5, "graph", {}, 6);
  const NeighbourSource source = open(5, "graph", {folder_.path(), 160 << 10}, 6);
  source.shapes(2);
  source.resize_cache(1'500'000);
  const int64_t epoch = source.blocks().per_epoch();
  for (int64_t number = 4 * epoch + 3; number < 6 * epoch; ++number)
    expect_equal(block(source, number), block(plain, number));
  source.resize_cache(1'000'000);
  for (int64_t number = 0; number < 2 * epoch; ++number)
    expect_equal(block(source, number), block(plain, number));
}

// Workers reach the end of the stored samples one after the other, while others still read before it.
TEST_F(NeighbourSourceTest, ManyThreadsMayFillTheScratchFileAgain) {
  constexpr int64_t kEpochs = 5;
  const NeighbourSource plain = open(5, "graph", {}, kEpochs);
  std::vector<GraphBlock> expected;
  for (int64_t number = 0; number < plain.graphs(); ++number) expected.push_back(block(plain, number));
  const NeighbourSource source = open(5, "graph", {folder_.path(), 160 << 10}, kEpochs);
  source.shapes(3);
  source.resize_cache(1'500'000);
  const std::vector<int64_t> order = run_order(source, kEpochs);
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (size_t i = next++; i < order.size(); i = next++)
        expect_equal(block(source, order[i]), expected[static_cast<size_t>(order[i])]);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NeighbourSourceTest, InTheOrderOfARunBlocksAreSampledAhead) {
  const NeighbourSource source = open();
  source.resize_cache(700'000);
  const int64_t epoch = source.blocks().per_epoch();
  for (int64_t round = 0; round < 2; ++round) {
    for (int64_t b = 0; b < epoch; ++b) {
      block(source, round * epoch + b);
      wait_for(source, 1);
    }
    for (const int64_t b : source.blocks().numbers(1)) {
      wait_for(source, 1);
      block(source, b);
    }
    if (round == 0) wait_for(source, 1);
  }
  const RowCounters counters = source.row_counters().value();
  EXPECT_GT(counters.misses, 0);
  EXPECT_GT(counters.hits, 0);
}

// Two blocks swap places repeatedly, as with two workers; they still count as planned.
TEST_F(NeighbourSourceTest, BlocksReadEarlyArePlannedOnes) {
  const NeighbourSource source = open();
  source.resize_cache(900'000);
  block(source, 0);
  const int64_t last = source.blocks().per_epoch() - 3;
  for (int64_t b = 1; b < last; b += 2) {
    wait_for(source, 2);
    const int64_t before = source.row_counters().value().misses;
    block(source, b + 1);
    block(source, b);
    // Planned rows are not counted again, unless later blocks have been planned since.
    if (source.planned() == 0) {
      EXPECT_EQ(source.row_counters().value().misses, before);
    }
  }
}

TEST_F(NeighbourSourceTest, ItsCacheIsInTheLedger) {
  Ledger& ledger = Ledger::process();
  const NeighbourSource source = open();
  source.shapes(1);
  const int64_t before = ledger.held(Tag::cache);
  source.resize_cache(2'000'000);
  for (int64_t number = 0; number < source.graphs(); ++number) block(source, number);
  EXPECT_LE(ledger.held(Tag::cache), before + 2'000'000);
  EXPECT_GT(ledger.held(Tag::cache), before);
  source.resize_cache(0);
  EXPECT_LE(ledger.held(Tag::cache), before);
}

// Rows of another data set must not be used for this one.
TEST_F(NeighbourSourceTest, AGraphThatIsReplacedMeanwhileIsRefused) {
  for (const int64_t bytes : {int64_t{4} << 20, int64_t{64} << 20}) {
    write_graph(folder_ / "graph", graph_, kFeatures);
    const NeighbourSource source = open();
    write_graph(folder_ / "graph", skewed_graph(600, 4), kFeatures);
    const auto read_with_cache = [&] {
      source.resize_cache(bytes);
      for (int64_t number = 0; number < 4; ++number) block(source, number);
    };
    EXPECT_THAT(error_text<InputError>(read_with_cache),
                HasSubstr((folder_ / "graph" / "x.npy").string() + ": has been replaced"));
  }
}

// Names of files and lengths of headers are those of the manifest and of NumPy.
TEST_F(NeighbourSourceTest, ColumnsLieWhereTheManifestSays) {
  const NeighbourSource plain = open();
  std::vector<GraphBlock> expected;
  for (int64_t number = 0; number < 6; ++number) expected.push_back(block(plain, number));
  rewrite_columns(folder_ / "graph");
  const NeighbourSource source = open();
  source.resize_cache(8 << 20);
  for (int64_t number = 0; number < 6; ++number)
    expect_equal(block(source, number), expected[static_cast<size_t>(number)]);
}

// In 32 bits these labels would be the class 1 and an unlabelled node.
TEST_F(NeighbourSourceTest, RefusesALabelOfMoreThan32Bits) {
  for (const int64_t label : {(int64_t{1} << 32) + 1, (int64_t{1} << 32) - 1}) {
    {
      GraphWriter writer(folder_ / "labels", true);
      writer.append_row_ends(std::vector<int64_t>{0, 0});
      writer.append_x(std::vector<float>{1, 2}, 1);
      writer.append_y(std::vector<int64_t>{0, label});
      writer.append_split(0, std::vector<int64_t>{0, 1});
      writer.publish({.classes = label + 1}, make_provenance("made up", {}));
    }
    EXPECT_THAT(error_text<InputError>([&] { NeighbourSource(folder_ / "labels", {}); }),
                HasSubstr(fmt::format("node 1: found the label {}, expected a class below 2^31", label)));
  }
}

TEST_F(NeighbourSourceTest, RefusesAGraphWithoutWhatItTrainsOn) {
  {
    GraphWriter writer(folder_ / "bare", true);
    writer.append_row_ends(std::vector<int64_t>{0, 0});
    writer.append_x(std::vector<float>{1, 2}, 1);
    writer.publish({}, make_provenance("made up", {}));
  }
  EXPECT_THAT(error_text<InputError>([&] { NeighbourSource(folder_ / "bare", {}); }), HasSubstr("no labels"));
}

}  // namespace
}  // namespace plimsoll
