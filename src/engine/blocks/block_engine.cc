#include "engine/blocks/block_engine.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/blocks/collate.h"
#include "engine/blocks/ending.h"
#include "engine/blocks/item_kind.h"
#include "engine/data/finite_features.h"
#include "nn/learned_rows.h"
#include "ops/allocator.h"
#include "ops/module_scope.h"

namespace plimsoll {
namespace {

// After an error, torch keeps this thread's unfinished work and its gradients until the thread's next
// backward pass, so they would outlive their block. An empty backward pass frees them at once.
std::vector<at::Tensor> gradients_of(const at::Tensor& loss, double scale,
                                     const std::vector<at::Tensor>& parameters) {
  try {
    return torch::autograd::grad({loss}, parameters, {at::full_like(loss, scale)});
  } catch (...) {
    torch::autograd::Engine::get_default_engine().execute({}, {}, /*keep_graph=*/false,
                                                          /*create_graph=*/false, /*accumulate_grad=*/true);
    throw;
  }
}

}  // namespace

BlockEngine::BlockEngine(const BlockSource& source, const GraphShapes& shapes, const Objective& objective,
                         const BlockLimits& limits, const ExecutionPlan& execution, OffloadedTeacher* teacher,
                         int64_t lanes, Exchange* exchange)
    : shapes_(shapes),
      objective_(objective),
      limits_(limits),
      execution_(execution),
      teacher_(teacher),
      lanes_(lanes),
      exchange_(exchange),
      sums_(make_sums()),
      runner_(source, shapes, limits, execution.blocks, execution.prefetch, execution.keep) {
  for (const ParameterList::Entry& entry : objective.parameters().entries())
    parameters_.push_back(entry.value);
  if (execution.slab_bytes > 0) runner_.resize(execution.slab_bytes, execution.largest, execution.min_bytes);
}

LaneTree<BatchSum> BlockEngine::make_sums() {
  const ParameterList& parameters = objective_.parameters();
  if (exchange_ == nullptr) return {lanes_, [&] { return BatchSum(parameters); }};
  ranks_.emplace(*exchange_, parameters, lanes_);
  return {lanes_, [&] { return BatchSum(parameters, ranks_->row()); },
          lanes_of_rank(lanes_, exchange_->rank(), exchange_->ranks()), ranks_->sets()};
}

BlockEngine::Part BlockEngine::part_of(std::span<const int64_t> graphs, int64_t lanes) const {
  if (exchange_ == nullptr) return {graphs, count_blocks(graphs, shapes_, limits_)};
  const GraphList begins = cut_blocks(graphs, shapes_, limits_);
  const int64_t blocks = std::ssize(begins) - 1;
  const LaneRange own = lanes_of_rank(lanes, exchange_->rank(), exchange_->ranks());
  const auto begin_of = [&](int64_t lane) {
    return static_cast<size_t>(begins[static_cast<size_t>(lane * blocks / lanes)]);
  };
  return {graphs.subspan(begin_of(own.first), begin_of(own.end) - begin_of(own.first)), blocks};
}

void BlockEngine::expect(std::span<const int64_t> batch) {
  runner_.expect(exchange_ == nullptr ? batch : part_of(batch, lanes_).graphs);
}

int64_t BlockEngine::items(std::span<const int64_t> graphs) const {
  const ItemKind& kind = item_kind(objective_.collate_options().items);
  int64_t items = 0;
  for (const int64_t g : graphs) {
    GraphShape shape = shapes_[g];
    if (shapes_.bounded().contains(g)) runner_.source().count_items(g, shape);
    items += kind.count(shape);
  }
  return items;
}

// Returns the losses of the items, and the weight of their sum in the mean of the batch.
std::pair<at::Tensor, at::Tensor> BlockEngine::losses_of(const at::Tensor& outputs, const Batch& batch,
                                                         double normaliser) const {
  const ModuleScope scope("loss");
  at::Tensor losses = objective_.losses(outputs, batch);
  at::Tensor sum = losses.sum() / normaliser;
  return {std::move(losses), std::move(sum)};
}

// Throws an error that names the value that is not finite or, if all are, the first graph whose loss is not
// finite.
void BlockEngine::require_finite(const at::Tensor& losses, const GraphBlock& block,
                                 const Batch& batch) const {
  const at::Tensor finite = at::isfinite(losses);
  const bool* const good = finite.const_data_ptr<bool>();
  const auto item = std::find(good, good + losses.numel(), false) - good;
  if (item == losses.numel()) return;
  const float greatest = require_finite_features(block, runner_.source());
  const int64_t graph = item_kind(objective_.collate_options().items).graph_of(item, block, batch);
  const int64_t index = block.graph[static_cast<size_t>(graph)];
  throw Failure(fmt::format(
      "the loss is not finite for graph {}{}, in the block of {} graphs that starts with graph {}; the "
      "features of the block are all finite and at most {} in magnitude; if that is more than the data "
      "should "
      "contain, look for damage with `plimsoll verify`, otherwise lower training.learning_rate; {}",
      index, recording_of(index, runner_.source().tables()), block.graphs(), block.graph[0], greatest,
      kOtherRecipe));
}

Batch BlockEngine::batch_of(const GraphBlock& block, int64_t first) const {
  const ModuleScope scope("batch");  // kBatchModule of engine/plan/static_tape.h
  if (execution_.device == nullptr &&
      std::ranges::any_of(block.row_place, [](int32_t place) { return place >= 0; }))
    throw Failure("a block that lacks some of its features was run on the CPU; this is a bug in Plimsoll");
  Batch batch = collate(block, runner_.source().widths(), objective_.collate_options());
  if (teacher_ != nullptr) batch.teacher = teacher_->rows(block, first);
  return batch;
}

BlockRunner::Work BlockEngine::training_work(double normaliser, const DropoutKey& key, double loss_scale) {
  if (execution_.device != nullptr) return training_on_device(normaliser, key, loss_scale);
  return [this, normaliser, key, loss_scale](const GraphBlock& block, int64_t first) -> BlockRunner::Commit {
    at::init_num_threads();  // Limits this thread: otherwise its BLAS would use all cores, which changes the
                             // bits of a product.
    const TagScope scope(Tag::activations);
    const LearnedRowsScope lookup;
    Batch batch = batch_of(block, first);
    const auto statistics = std::make_shared<BlockStatistics>();
    batch.statistics = statistics;
    batch.recompute = execution_.recompute;
    if (batch.item_count == 0) return [this] { sums_.add([](BatchSum&) {}); };
    objective_.prepare(batch);
    const auto [losses, block_loss] = losses_of(objective_.forward(batch, key), batch, normaliser);
    const auto value = block_loss.item<double>();
    if (!std::isfinite(value)) require_finite(losses, block, batch);
    BlockGradients gradients{gradients_of(block_loss, loss_scale, lookup.leaves(parameters_)),
                             lookup.found().table, lookup.found().ids};
    return [this, value, statistics, gradients = std::move(gradients)] {
      sums_.add([&](BatchSum& sum) { sum.add(gradients, *statistics, value); });
    };
  };
}

BlockRunner::Work BlockEngine::prediction_work(const TakeBlock& take) {
  if (execution_.device != nullptr) return prediction_on_device(take);
  return [this, &take](const GraphBlock& block, int64_t first) -> BlockRunner::Commit {
    at::init_num_threads();
    const TagScope scope(Tag::activations);
    const c10::AutoGradMode no_gradients(false);
    Batch batch = batch_of(block, first);
    if (batch.item_count == 0) return [&take] { take({}, 0); };
    objective_.prepare(batch);
    const at::Tensor found = objective_.forward(batch, {}).contiguous();
    const at::Tensor losses = objective_.validation_losses(found, batch);
    const auto loss = losses.sum().item<double>();
    if (!std::isfinite(loss)) require_finite(losses, block, batch);
    return [&take, found, loss] {
      take({found.const_data_ptr<float>(), static_cast<size_t>(found.numel())}, loss);
    };
  };
}

BlockRunner::Work BlockEngine::training_on_device(double normaliser, const DropoutKey& key,
                                                  double loss_scale) {
  return [this, normaliser, key, loss_scale](const GraphBlock& block, int64_t first) -> BlockRunner::Commit {
    at::init_num_threads();
    const TagScope scope(Tag::activations);
    const Batch batch = batch_of(block, first);
    if (batch.item_count == 0) return [this] { sums_.add([](BatchSum&) {}); };
    const auto statistics = std::make_shared<BlockStatistics>();
    // Computes gradients, statistics, losses and their sum. It is called again for a block that did not fit,
    // after everything that the block allocated is freed.
    const auto work = [&](Batch& on_device) {
      on_device.statistics = std::make_shared<BlockStatistics>();
      on_device.recompute = execution_.recompute;
      objective_.prepare(on_device);
      const auto [losses, block_loss] = losses_of(objective_.forward(on_device, key), on_device, normaliser);
      std::vector<at::Tensor> found = gradients_of(block_loss, loss_scale, parameters_);
      statistics->entries.clear();
      for (const BlockStatistics::Entry& entry : on_device.statistics->entries) {
        found.push_back(entry.mean);
        found.push_back(entry.variance);
        statistics->entries.push_back({entry.buffer, entry.rows, {}, {}});
      }
      found.push_back(losses.detach());
      found.push_back(block_loss.detach());
      return found;
    };
    std::vector<at::Tensor> found =
        execution_.device->run(batch, block.graph, execution_.device_training.get(), work);
    const auto value = found.back().item<double>();
    found.pop_back();
    if (!std::isfinite(value)) require_finite(found.back(), block, batch);
    found.pop_back();
    for (size_t i = statistics->entries.size(); i-- > 0;) {
      statistics->entries[i].variance = std::move(found.back());
      found.pop_back();
      statistics->entries[i].mean = std::move(found.back());
      found.pop_back();
    }
    return [this, value, statistics, gradients = BlockGradients{std::move(found), {}, {}}] {
      sums_.add([&](BatchSum& sum) { sum.add(gradients, *statistics, value); });
    };
  };
}

BlockRunner::Work BlockEngine::prediction_on_device(const TakeBlock& take) {
  return [this, &take](const GraphBlock& block, int64_t first) -> BlockRunner::Commit {
    at::init_num_threads();
    const TagScope scope(Tag::activations);
    const c10::AutoGradMode no_gradients(false);
    const Batch batch = batch_of(block, first);
    if (batch.item_count == 0) return [&take] { take({}, 0); };
    const auto work = [&](Batch& on_device) -> std::vector<at::Tensor> {
      objective_.prepare(on_device);
      at::Tensor outputs = objective_.forward(on_device, {}).contiguous();
      at::Tensor losses = objective_.validation_losses(outputs, on_device);
      at::Tensor sum = losses.sum();
      return {std::move(outputs), std::move(losses), std::move(sum)};
    };
    const std::vector<at::Tensor> found =
        execution_.device->run(batch, block.graph, execution_.device_prediction.get(), work);
    const auto loss = found[2].item<double>();
    if (!std::isfinite(loss)) require_finite(found[1], block, batch);
    return [&take, outputs = found[0], loss] {
      take({outputs.const_data_ptr<float>(), static_cast<size_t>(outputs.numel())}, loss);
    };
  };
}

// Returns [items, outputs] of a block, or an undefined tensor if it has no items.
at::Tensor BlockEngine::teacher_outputs(const GraphBlock& block) const {
  at::init_num_threads();
  const TagScope scope(Tag::activations);
  const c10::AutoGradMode no_gradients(false);
  const Objective& teacher = teacher_->objective();
  const Batch batch = collate(block, runner_.source().widths(), teacher.collate_options());
  return batch.item_count == 0 ? at::Tensor() : teacher.forward(batch, {}).contiguous();
}

// The rows of blocks are separate, so committing a block does nothing.
BlockRunner::Work BlockEngine::teaching_work() {
  return [this](const GraphBlock& block, int64_t first) -> BlockRunner::Commit {
    const at::Tensor outputs = teacher_outputs(block);
    if (outputs.defined()) teacher_->rows(block, first).copy_(outputs);
    return [] {};
  };
}

void BlockEngine::run(std::span<const int64_t> graphs, const BlockRunner::Work& work,
                      const RangePlanner* planner) {
  if (execution_.device != nullptr) {
    const auto on_device = execution_.device->use_parameters();
    runner_.run(graphs, work, planner);
    return;
  }
  if (teacher_ == nullptr) {
    runner_.run(graphs, work, planner);
    return;
  }
  const GraphList begins = cut_blocks(graphs, shapes_, limits_);
  const auto from_to = [&](size_t block, size_t end) {
    return graphs.subspan(static_cast<size_t>(begins[block]),
                          static_cast<size_t>(begins[end] - begins[block]));
  };
  for (size_t block = 0, end = 0; block + 1 < begins.size(); block = end) {
    teacher_->clear();
    while (end + 1 < begins.size() && teacher_->add(from_to(end, end + 1))) ++end;
    if (end == block) throw Failure("a block is larger than the buffer of its teacher");
    runner_.run(from_to(block, end), teaching_work(), execution_.teaching.get(), BlockRunner::Pass::first);
    teacher_->release();
    runner_.run(from_to(block, end), work, planner, BlockRunner::Pass::second);
  }
}

double BlockEngine::gradient(std::span<const int64_t> batch, const DropoutKey& key, double loss_scale) {
  const int64_t count = items(batch);
  if (count == 0) {
    sums_.sum().clear();
    if (ranks_) ranks_->clear();
    runner_.forget();  // Drops the blocks of the batch that expect() announced.
    return 0;
  }
  const Part part = part_of(batch, lanes_);
  sums_.begin(part.blocks);
  if (ranks_) ranks_->begin(sums_);
  const auto work = [&] {
    run(part.graphs, training_work(static_cast<double>(count), key, loss_scale), execution_.training.get());
  };
  if (ranks_) return ranks_->add_up(sums_, error_of(work));
  work();
  BatchSum& sum = sums_.end();
  sum.statistics.commit();
  return sum.loss;
}

double BlockEngine::predict(std::span<const int64_t> graphs, std::span<float> outputs) {
  size_t next = 0;
  return predict(graphs, [&](std::span<const float> found) {
    std::ranges::copy(found, outputs.subspan(next).begin());
    next += found.size();
  });
}

void BlockEngine::predict_blocks(std::span<const int64_t> graphs, const TakeBlock& take) {
  run(graphs, prediction_work(take), execution_.prediction.get());
}

// Uses the maximum number of lanes: the loss of a lane is only one number, and more processes can share the
// lanes.
double BlockEngine::predict(std::span<const int64_t> graphs, const Take& take) {
  const LaneRange own = lanes_of_rank(kMaxLanes, rank_of(exchange_), ranks_of(exchange_));
  LaneTree<LossSum> losses(
      kMaxLanes, [] { return LossSum(); }, own);
  const Part part = part_of(graphs, kMaxLanes);
  losses.begin(part.blocks);
  if (ranks_) ranks_->begin_losses();
  const auto work = [&] {
    predict_blocks(part.graphs, [&](std::span<const float> outputs, double loss) {
      if (!outputs.empty()) take(outputs);
      losses.add([&](LossSum& sum) { sum.value += loss; });
    });
  };
  const auto count = static_cast<double>(items(graphs));
  if (ranks_) {
    const double loss = ranks_->add_up(losses, error_of(work));
    return count == 0 ? 0 : loss / count;
  }
  work();
  return count == 0 ? 0 : losses.end().value / count;
}

void BlockEngine::try_out(std::span<const int64_t> batch) {
  sums_.begin(count_blocks(batch, shapes_, limits_));
  run(batch, training_work(/*normaliser=*/1, {.training = true}), execution_.training.get());
}

Tape BlockEngine::record(const GraphBlock& block, bool training, const RangePlan& plan) {
  const auto on_device = execution_.device != nullptr ? execution_.device->use_parameters() : nullptr;
  if (training) {
    sums_.begin(1);
    return runner_.record(block, training_work(/*normaliser=*/1, {.training = true}), plan);
  }
  return runner_.record(block, prediction_work([](std::span<const float>, double) {}), plan);
}

BlockEngine::DeviceRecording BlockEngine::record_on_device(const GraphBlock& block, bool training,
                                                           const RangePlanner* planner) {
  DeviceBlocks& device = *execution_.device;
  TapeRecorder recorder;
  device.begin_record(&recorder, planner);
  const std::exception_ptr error = error_of([&] { record(block, training); });
  device.end_record();
  if (error) std::rethrow_exception(error);
  return {std::move(recorder.tape), device.highest_range(), device.highest_staging(),
          device.unforeseen() == 0};
}

Tape BlockEngine::record_teaching(const GraphBlock& block, const RangePlan& plan) {
  return runner_.record(
      block,
      [this](const GraphBlock& teacher_block, int64_t) -> BlockRunner::Commit {
        teacher_outputs(teacher_block);
        return [] {};
      },
      plan);
}

}  // namespace plimsoll
