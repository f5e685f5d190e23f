#include "engine/blocks/device_rows.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <random>

#include "engine/fit/fit.h"
#include "engine/on_each_device.h"
#include "nn/classification.h"
#include "nn/gnn.h"
#include "nn/link_prediction.h"
#include "sample/neighbour/neighbour_source.h"
#include "support/giant_graph.h"
#include "support/stage_calls.h"
#include "support/temp_folder.h"

// Feature rows of a giant graph stay on a device if its budget has space for them; the bits are the same.

namespace plimsoll {
namespace {

constexpr int64_t kNodes = 3000;
constexpr int64_t kFeatures = 512;  // Large enough to span several of a GPU's pages of 2 MiB.
constexpr int64_t kRowBytes = kFeatures * int64_t{sizeof(float)};
constexpr auto kNone = std::numeric_limits<int64_t>::max();

class DeviceRowsTest : public OnEachDevice {
 protected:
  DeviceRowsTest() {
    std::filesystem::create_directories(folder_ / "scratch");
    const GiantGraph graph = skewed_graph(kNodes, 3);
    GraphWriter writer(folder_ / "graph", false);
    writer.append_row_ends(std::span(graph.indptr).subspan(1));
    writer.append_indices(std::span<const int64_t>(graph.indices));
    std::mt19937 random(7);
    std::vector<float> x(kNodes * kFeatures);
    for (float& value : x) value = static_cast<float>(random() % 1000) / 500 - 1;
    writer.append_x(x, kFeatures);
    std::vector<int64_t> y, train, valid;
    for (int64_t v = 0; v < kNodes; ++v) {
      y.push_back(v % 3);
      if (v % 8 < 2) (v % 8 == 0 ? train : valid).push_back(v);
    }
    writer.append_y(y);
    writer.append_split(0, train);
    writer.append_split(1, valid);
    std::vector<int64_t> pairs;
    for (int64_t v = 0; v < kNodes && pairs.size() < 1200; ++v)
      if (graph.degree(v) > 0)
        pairs.insert(pairs.end(),
                     {graph.indices[static_cast<size_t>(graph.indptr[static_cast<size_t>(v)])], v});
    writer.append_split_edges(0, std::span(pairs).first(800));
    writer.append_split_edges(1, std::span(pairs).subspan(800));
    writer.publish({.direction = EdgeDirection::in, .classes = 3}, make_provenance("made up", {}));
    recipe_.training.max_epochs = kEpochs;
    recipe_.training.block = {.graphs = 1, .nodes = kNone, .edges = kNone};
  }

  NeighbourSource open(bool row_places, bool pairs = false) const {
    return {folder_ / "graph",
            {.neighbours = {.fan_outs = {4, 3}},
             .blocks = {.epochs = kEpochs, .batch_size = 128, .block_seeds = 32, .seed = 5},
             .seed = 5,
             .negatives = pairs ? std::optional<int64_t>(1) : std::nullopt,
             .scratch = {folder_ / "scratch"},
             .row_places = row_places}};
  }

  struct Trained {
    std::string weights;
    FitResult fit;
  };
  // Trains on the host, without a device.
  Trained train(TrainingDevice* device, ConvKind conv, bool pairs = false, int64_t stop_after = 0) {
    const NeighbourSource source = open(device != nullptr, pairs);
    recipe_.training.batch_size = source.blocks().per_batch();
    const auto shapes = read_shapes(source, 1);
    const TrainingSplit split{.training = source.blocks().numbers(0),
                              .validation = source.blocks().numbers(1),
                              .fresh_epochs = true};
    const Gnn model({.conv = conv,
                     .in_features = kFeatures,
                     .layers = 2,
                     .hidden = 8,
                     .norm = NormKind::batch,
                     .classes = pairs ? 8 : 3,
                     .node_head = true},
                    1);
    std::unique_ptr<Objective> objective;
    if (pairs)
      objective = std::make_unique<LinkPrediction>(model);
    else
      objective = std::make_unique<Classification>(model);
    const auto run = folder_ / ("run" + std::to_string(runs_++));
    std::filesystem::create_directories(run);
    std::atomic<bool> stop = false;
    int64_t steps = 0;
    StageCalls calls;
    calls.started = [this] { asked_at_begin_ = asked_; };
    calls.progress = [&](int64_t) {
      if (++steps == stop_after) stop = true;
    };
    const auto once = [&](bool resume) {
      return fit({.source = &source,
                  .shapes = shapes,
                  .objective = objective.get(),
                  .recipe = &recipe_,
                  .split = &split,
                  .run = {.folder = run,
                          .identity = "test",
                          .resume = resume,
                          .memory = {.threads = 2},
                          .device = device,
                          .interrupt = &stop,
                          .observer = &calls}});
    };
    if (stop_after > 0) {
      EXPECT_THROW(once(false), Interrupted);
      stop = false;
    }
    FitResult found = once(stop_after > 0);
    return {model.parameters().hash(), std::move(found)};
  }

  static constexpr int64_t kEpochs = 2;
  int64_t asked_at_begin_ = 0;
  TempFolder folder_;
  Recipe recipe_;
  int runs_ = 0;
};

TEST_P(DeviceRowsTest, BitsAreTheSameForAnyNumberOfThem) {
  for (const auto& [conv, pairs] :
       {std::pair(ConvKind::sage, false), std::pair(ConvKind::gat, false), std::pair(ConvKind::gcn, true)}) {
    SCOPED_TRACE(word_of(conv));
    const Trained all = train(&device(kRoomy), conv, pairs);
    const DeviceUse& with_all = *all.fit.device;
    EXPECT_EQ(with_all.rows, kNodes);
    EXPECT_EQ(with_all.feature_bytes, kNodes * kRowBytes);
    EXPECT_EQ(with_all.reruns, 0);
    EXPECT_EQ(all.fit.reading->rows.bytes_useful, 0);
    if (GetParam() == On::stand_in) {
      EXPECT_EQ(all.weights, train(nullptr, conv, pairs).weights);
    }
    const DevicePlan& plan = *all.fit.plan.device;
    TrainingDevice& roomy = device(kRoomy);
    const int64_t unit = roomy.unit();
    const int64_t fixed = plan.peak - plan.feature_bytes - roomy.context();
    int64_t read_before = 0;
    for (const int64_t rows : {kNodes / 2, kNodes / 5, int64_t{1}}) {
      SCOPED_TRACE(rows);
      const int64_t needed = fixed + rows * kRowBytes + DeviceRegion::kAlignment;
      const Trained some = train(&device((needed + unit - 1) / unit * unit), conv, pairs);
      EXPECT_EQ(some.weights, all.weights);
      EXPECT_GE(some.fit.device->rows, rows);
      EXPECT_LE(some.fit.device->rows, rows + unit / kRowBytes);
      EXPECT_GE(some.fit.reading->rows.bytes_useful, read_before);
      read_before = some.fit.reading->rows.bytes_useful;
      EXPECT_LE(some.fit.device->measured, some.fit.device->planned);
      EXPECT_LE(some.fit.device->planned, some.fit.device->budget);
      EXPECT_EQ(some.fit.device->reruns, 0);
    }
    EXPECT_GT(read_before, 0);
    const Trained none = train(&device(plan.min_budget - device(kRoomy).context()), conv, pairs);
    EXPECT_EQ(none.weights, all.weights);
    EXPECT_LE(none.fit.device->rows, unit / kRowBytes);
    EXPECT_EQ(train(&device(kRoomy), conv, pairs, 3).weights, all.weights);
  }
}

// Whatever memory is refused, the run ends with an error or has the same bits.
TEST_P(DeviceRowsTest, ARefusalChangesNoBit) {
  if (GetParam() == On::cuda) GTEST_SKIP() << "refusals are the stand-in's";
  const Trained expected = train(&device(kRoomy), ConvKind::sage);
  const int64_t asked = asked_;
  // The rows make the last requests before the run starts, for their memory and for pinned memory. If these
  // are refused, the run continues without the rows.
  for (const int64_t refused : {asked_at_begin_ - 1, asked_at_begin_}) {
    TrainingDevice& opened = device(kRoomy);
    refused_ = refused;
    const Trained found = train(&opened, ConvKind::sage);
    refused_ = 0;
    EXPECT_EQ(found.weights, expected.weights);
    EXPECT_EQ(found.fit.device->rows, 0);
    EXPECT_LT(found.fit.device->planned, expected.fit.device->planned);
  }
  for (int64_t refused = 1; refused <= asked; refused += 1 + refused / 4) {
    TrainingDevice& opened = device(kRoomy);
    refused_ = asked_ + refused;
    try {
      EXPECT_EQ(train(&opened, ConvKind::sage).weights, expected.weights) << refused;
    } catch (const Failure&) {
    } catch (const BudgetTooSmall&) {
    } catch (const BudgetExceeded&) {
    } catch (const DeviceRegionFull&) {
    }
    refused_ = 0;
  }
}

TEST_P(DeviceRowsTest, WhereTheyAreRefusedBlocksHaveThem) {
  if (GetParam() == On::cuda) GTEST_SKIP() << "refusals are the stand-in's";
  const NeighbourSource source = open(/*row_places=*/true);
  source.shapes(1);
  const auto left_out = [&] {
    GraphBlock block;
    const int64_t first = 0;
    source.read(std::span(&first, 1), block);
    return std::ranges::count_if(block.row_place, [](int32_t place) { return place >= 0; });
  };
  TrainingDevice& opened = device(kRoomy);
  const auto keep = [&] {
    const DeviceRows rows(opened.device(), opened.tensors(), *source.feature_rows(), {kNodes, kFeatures},
                          4096);
    EXPECT_EQ(rows.rows(), kNodes);
    EXPECT_GT(left_out(), 0);
  };
  refused_ = asked_ + 1;
  EXPECT_THROW(keep(), DeviceRegionFull);
  EXPECT_EQ(left_out(), 0);
  refused_ = asked_ + 2;
  EXPECT_THROW(keep(), BudgetExceeded);
  EXPECT_EQ(left_out(), 0);
  keep();
  EXPECT_EQ(left_out(), 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceRowsTest, testing::Values(On::stand_in, On::cuda), name_of_on);

}  // namespace
}  // namespace plimsoll
