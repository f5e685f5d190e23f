#include "train/gat_stage.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "ops/allocator.h"
#include "telemetry/journal.h"
#include "train/adam.h"
#include "train/block_engine.h"
#include "train/metrics.h"
#include "train/preflight.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

GATWithJKOptions model_options(const Recipe& recipe, const BlockSource& source) {
  return {.num_ids = static_cast<int64_t>(source.tables().vocabulary.size()) + 1,
          .in_features = source.node_features(),
          .embedding = recipe.gat.embedding,
          .layers = recipe.gat.layers,
          .hidden = recipe.gat.hidden,
          .heads = recipe.gat.heads,
          .dropout = recipe.gat.dropout,
          .fc_layers = recipe.gat.fc_layers};
}

int64_t count_attacks(const GraphList& graphs, std::span<const GraphShape> shapes) {
  return std::count_if(graphs.begin(), graphs.end(),
                       [&](int64_t g) { return shapes[static_cast<size_t>(g)].label == 1; });
}

// A copy of the weights; the memory is taken once, so keeping a better epoch cannot fail for it.
class BestWeights {
 public:
  explicit BestWeights(const ParameterList& parameters) : parameters_(parameters) {
    values_.resize(static_cast<size_t>(parameters.count()));
  }
  void keep() {
    copy([](float* mine, float* theirs, size_t bytes) { std::memcpy(mine, theirs, bytes); });
  }
  void restore() {
    copy([](float* mine, float* theirs, size_t bytes) { std::memcpy(theirs, mine, bytes); });
  }

 private:
  template <typename Copy>
  void copy(const Copy& move) {
    float* mine = values_.data();
    for (const ParameterList::Entry& entry : parameters_.entries()) {
      move(mine, entry.value.data_ptr<float>(), entry.value.nbytes());
      mine += entry.value.numel();
    }
  }

  const ParameterList& parameters_;
  Vector<float, Tag::parameters> values_;
};

std::vector<Threshold> set_thresholds(BlockEngine& engine, const GraphList& validation,
                                      std::span<const GraphShape> shapes) {
  GraphList benign;
  std::copy_if(validation.begin(), validation.end(), std::back_inserter(benign),
               [&](int64_t g) { return shapes[static_cast<size_t>(g)].label == 0; });
  Vector<float, Tag::columns> scores(benign.size());
  engine.score(benign, scores);
  std::vector<Threshold> thresholds;
  for (const double rate : {0.01, 0.001}) {
    const float level = threshold_at_rate(scores, rate);
    const auto above =
        std::count_if(scores.begin(), scores.end(), [&](float score) { return score > level; });
    thresholds.push_back({rate, static_cast<double>(above) / static_cast<double>(scores.size()), level});
  }
  return thresholds;
}

}  // namespace

GatStageResult train_gat(const GatStageOptions& options) {
  const Recipe& recipe = *options.recipe;
  const BlockSource& source = *options.source;
  const auto seed = static_cast<uint64_t>(recipe.seed);
  const BlockLimits limits{recipe.training.block.graphs, recipe.training.block.nodes,
                           recipe.training.block.edges};
  const auto shapes = read_shapes(source, options.threads);

  GatStageResult result;
  result.training_attacks = count_attacks(options.split->training, shapes);
  const auto training = static_cast<int64_t>(options.split->training.size());
  if (result.training_attacks == 0 || result.training_attacks == training)
    throw InputError(fmt::format("{} of {} training windows hold an attack: a classifier needs both kinds",
                                 result.training_attacks, training));

  result.detector.model = std::make_unique<GATWithJK>(model_options(recipe, source), seed);
  const ParameterList& parameters = result.detector.model->parameters();
  std::vector<at::Tensor> values;
  for (const ParameterList::Entry& entry : parameters.entries()) values.push_back(entry.value);
  Adam adam(values, {.learning_rate = recipe.training.learning_rate,
                     .weight_decay = recipe.training.weight_decay,
                     .clip_norm = recipe.training.gradient_clip_val});
  BestWeights best(parameters);
  result.blocks_in_flight =
      blocks_in_flight(source, shapes, *result.detector.model, limits, options.split->training,
                       /*training=*/true, options.threads);
  BlockEngine engine(source, shapes, *result.detector.model, limits, result.blocks_in_flight);

  Journal journal(options.folder / "events.jsonl");
  std::ofstream csv(options.folder / "metrics.csv", std::ios::trunc);
  fmt::print(csv, "epoch,training_loss,validation_loss,gradient_norm,seconds\n");
  journal.write("start", {{"training", training},
                          {"training_attacks", result.training_attacks},
                          {"validation", options.split->validation.size()},
                          {"parameters", parameters.count()},
                          {"threads", options.threads},
                          {"blocks_in_flight", result.blocks_in_flight}});

  GraphList order = options.split->training;
  Vector<float, Tag::columns> scores(options.split->validation.size());
  double best_loss = std::numeric_limits<double>::infinity();
  const int64_t total = recipe.training.max_epochs * training;
  std::string note;
  for (int64_t epoch = 1; epoch <= recipe.training.max_epochs; ++epoch) {
    const auto start = Clock::now();
    const auto key = static_cast<uint32_t>(epoch);
    order = options.split->training;
    shuffle(order, seed, key);
    EpochMetrics metrics{.epoch = epoch};
    int64_t steps = 0;
    for (int64_t first = 0; first < training; first += recipe.training.batch_size, ++steps) {
      const int64_t size = std::min(recipe.training.batch_size, training - first);
      const std::span<const int64_t> batch(order.data() + first, static_cast<size_t>(size));
      metrics.training_loss += engine.gradient(batch, {true, seed, key}) * static_cast<double>(size);
      metrics.gradient_norm += adam.step(engine.gradients());
      options.progress((epoch - 1) * training + first + size, total, note);
    }
    metrics.training_loss /= static_cast<double>(training);
    metrics.gradient_norm /= static_cast<double>(steps);
    metrics.validation_loss = engine.score(options.split->validation, scores);
    metrics.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    result.epochs.push_back(metrics);
    note = fmt::format("epoch {}, loss={:.4f}, validation={:.4f}", epoch, metrics.training_loss,
                       metrics.validation_loss);
    fmt::print(csv, "{},{:.9g},{:.9g},{:.9g},{:.3f}\n", epoch, metrics.training_loss, metrics.validation_loss,
               metrics.gradient_norm, metrics.seconds);
    csv.flush();
    journal.write("epoch", {{"epoch", epoch},
                            {"training_loss", metrics.training_loss},
                            {"validation_loss", metrics.validation_loss},
                            {"reruns", engine.reruns()}});
    if (metrics.validation_loss < best_loss) {
      best_loss = metrics.validation_loss;
      result.best_epoch = epoch;
      best.keep();
    } else if (epoch - result.best_epoch >= recipe.training.patience) {
      break;
    }
  }
  best.restore();

  result.weights_hash = parameters.hash();
  result.reruns = engine.reruns();
  result.detector.vocabulary = source.tables().vocabulary;
  result.detector.benign_ids = options.benign_ids;
  result.detector.trained_on = options.split->contents;
  result.detector.thresholds = set_thresholds(engine, options.split->validation, shapes);
  save_model(options.folder / "model.safetensors", result.detector);
  journal.write("end", {{"best_epoch", result.best_epoch},
                        {"validation_loss", best_loss},
                        {"weights", result.weights_hash},
                        {"reruns", result.reruns}});
  return result;
}

}  // namespace plimsoll
