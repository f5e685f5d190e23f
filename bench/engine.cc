// Measures training steps: forward, backward, ordered sum and Adam, as `plimsoll train` does them.
//
//     engine GRAPH_SET --model small|large|vgae-small|vgae-large|CONV-LAYERS --allocator torch|heap|slab
//            --threads N --graphs G --batch B --seconds S --recompute on|off --splits PREFIX
//            --teacher none|cached
//
// The model is a GAT (small, large), an autoencoder (vgae-small) or a Gnn of 64 channels (gin-3). The data is
// a graph_set, or its splits with a prefix. torch's memory comes from its own allocator, from the ledger's
// heap, or from the slab. With --teacher cached a GAT is taught by a column of generated logits. Prints one
// line of JSON.

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

#include "base/number_text.h"
#include "can/recipe/can_sections.h"
#include "can/tasks/gat_stage.h"
#include "can/tasks/vgae_stage.h"
#include "engine/blocks/block_engine.h"
#include "engine/data/split.h"
#include "engine/fit/optimizer.h"
#include "engine/plan/planner.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "memory/meter.h"
#include "nn/classification.h"
#include "nn/gat_distillation.h"
#include "nn/gnn.h"
#include "nn/reconstruction.h"
#include "ops/allocator.h"
#include "sample/block/cached_teacher.h"
#include "sample/block/graph_set_source.h"

namespace plimsoll {
namespace {

struct Usage {
  double user, system;
  int64_t faults;
};

Usage usage() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(u.ru_utime), seconds(u.ru_stime), u.ru_minflt};
}

// Uses the same settings as the training program (cli/trainer.cc).
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_ARENA_MAX, 1);
}

// A model and its training state.
struct Work {
  std::unique_ptr<GraphModel> classifier = nullptr;
  std::unique_ptr<GraphAutoencoderNeighborhood> autoencoder = nullptr;
  std::unique_ptr<Objective> objective = nullptr;
};

std::unique_ptr<GraphModel> make_classifier(const std::string& name, const BlockSource& source) {
  if (const size_t dash = name.find('-'); dash != std::string::npos)
    return std::make_unique<Gnn>(
        GnnOptions{.conv = parse_word<ConvKind>(name.substr(0, dash), "model"),
                   .in_features = source.node_features(),
                   .edge_features = source.edge_features(),
                   .num_ids = static_cast<int64_t>(source.tables().vocabulary.size()) + 1,
                   .layers = std::stoll(name.substr(dash + 1))},
        1);
  Recipe recipe;
  apply_preset(can_sections(recipe).gat, parse_word<ModelPreset>(name, "model"));
  can_sections(recipe).gat.use_edge_features = false;
  return make_gat(recipe, source);
}

Work make_work(const std::string& name, const BlockSource& source, bool taught) {
  Work work;
  if (name.starts_with("vgae-")) {
    Recipe recipe;
    apply_preset(can_sections(recipe).vgae, parse_word<ModelPreset>(name.substr(5), "model"));
    work.autoencoder = make_vgae(recipe, source);
    work.objective = std::make_unique<Reconstruction>(*work.autoencoder);
    return work;
  }
  work.classifier = make_classifier(name, source);
  if (taught)
    work.objective = std::make_unique<GatDistillation>(*work.classifier, /*temperature=*/4, /*alpha=*/0.7);
  else
    work.objective = std::make_unique<Classification>(*work.classifier);
  return work;
}

// Returns all graphs of the splits whose names begin with `prefix`.
GraphList graphs_of(const BlockSource& source, const std::string& prefix) {
  GraphList graphs;
  for (const GraphRange& split : source.tables().splits)
    for (int64_t g = 0; split.name.starts_with(prefix) && g < split.graphs; ++g)
      graphs.push_back(split.first_graph + g);
  return graphs;
}

void print_result(const BlockEngine& engine, const Objective& objective, const MemoryPlan& plan, Meter& meter,
                  int64_t graphs, double wall, const Usage& used) {
  int64_t numbers = 0;
  for (const auto& entry : objective.parameters().entries()) numbers += entry.value.numel();
  const double processor = used.user + used.system;
  fmt::print(
      "{{\"graphs_per_s\": {:.1f}, \"graphs_per_cpu_s\": {:.1f}, \"system_share\": {:.4f}, "
      "\"faults_per_graph\": {:.3f}, "
      "\"ledger_peak\": {}, \"anonymous\": {}, \"floor\": {}, \"peak\": {}, \"range_bytes\": {}, "
      "\"overflows\": {}, "
      "\"parameters\": {}, \"weights\": \"{}\"}}\n",
      static_cast<double>(graphs) / wall, static_cast<double>(graphs) / processor, used.system / processor,
      static_cast<double>(used.faults) / static_cast<double>(graphs), Ledger::process().recent_peak(),
      process_memory().anonymous, meter.floor(), meter.peak_anonymous(), plan.worst.range_bytes,
      engine.runner().overflows(), numbers, objective.parameters().hash());
}

MemoryPlan plan_slab(const BlockSource& source, std::span<const GraphShape> shapes,
                     const Objective& objective, const BlockLimits& limits, std::span<const int64_t> training,
                     const std::map<std::string, std::string>& arguments) {
  return make_plan(
      {.source = &source,
       .shapes = shapes,
       .objective = &objective,
       .limits = limits,
       .memory = {.threads = std::stoi(arguments.at("--threads"))},
       .training = training,
       .seed = 1,
       .epochs = 1,
       .batch_size = std::stoll(arguments.at("--batch")),
       .recompute = parse_word<GradientCheckpointing>(arguments.at("--recompute"), "--recompute")});
}

void run(const std::string& graphs, std::map<std::string, std::string> arguments) {
  const std::string allocator = arguments["--allocator"];
  const int threads = std::stoi(arguments["--threads"]);
  if (allocator == "slab") keep_freed_memory();
  if (allocator != "torch") install_ledger_allocator();
  warm_up_torch(threads);
  Meter meter;
  const GraphSetSource plain(graphs);
  const auto shapes = read_shapes(plain, threads);
  TrainingSplit split{.training = graphs_of(plain, arguments["--splits"]), .validation = {}};
  const bool taught = arguments["--teacher"] == "cached";
  Vector<float, Tag::columns> logits(taught ? 2 * split.training.size() : 0);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i));
  const CachedTeacher with_column(plain, {.values = logits, .width = 2}, split.training, shapes);
  const BlockSource& source = taught ? static_cast<const BlockSource&>(with_column) : plain;
  const Work work = make_work(arguments["--model"], source, taught);
  const Objective& objective = *work.objective;
  const BlockLimits limits{std::stoll(arguments["--graphs"]), 1'000'000, 4'000'000};
  const bool recompute = arguments["--recompute"] == "on";
  ExecutionPlan flight{.blocks = threads, .prefetch = 2, .recompute = recompute};
  MemoryPlan plan;
  if (allocator == "slab") {
    plan = plan_slab(source, shapes, objective, limits, split.training, arguments);
    flight = require_feasible(plan);
  }
  BlockEngine engine(source, shapes, objective, limits, flight);
  std::vector<at::Tensor> parameters;
  for (const auto& entry : objective.parameters().entries()) parameters.push_back(entry.value);
  const auto optimizer = make_optimizer(parameters, {});

  const auto batch_size = static_cast<size_t>(std::stoll(arguments["--batch"]));
  const double seconds = parse_number<double>(arguments["--seconds"]).value();
  shuffle(split.training, 1, 1);
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  size_t first = 0;
  const auto step = [&] {
    if (first >= split.training.size()) first = 0;
    const size_t size = std::min(batch_size, split.training.size() - first);
    const std::span<const int64_t> batch(split.training.data() + first, size);
    first += size;
    engine.runner().expect(batch);
    engine.gradient(batch, {true, 1, 1});
    clip_gradients(engine.gradients(), 1.0);
    optimizer->step(engine.gradients());
    return static_cast<int64_t>(size);
  };
  for (const auto start = Clock::now(); since(start) < seconds / 4;) step();
  Ledger::process().begin_recent();
  const Usage before = usage();
  const auto start = Clock::now();
  int64_t done = 0;
  while (since(start) < seconds) done += step();
  const double wall = since(start);
  const Usage after = usage();
  print_result(engine, objective, plan, meter, done, wall,
               {after.user - before.user, after.system - before.system, after.faults - before.faults});
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  plimsoll::register_can_recipe();
  std::map<std::string, std::string> arguments = {
      {"--model", "small"},   {"--allocator", "slab"}, {"--threads", "1"},
      {"--graphs", "64"},     {"--batch", "512"},      {"--seconds", "4"},
      {"--recompute", "off"}, {"--splits", ""},        {"--teacher", "none"}};
  for (int i = 2; i + 1 < argc; i += 2) arguments[argv[i]] = argv[i + 1];
  if (argc < 2 || argc % 2 != 0) {
    fmt::print(stderr,
               "usage: engine GRAPH_SET [--model M] [--allocator A] [--threads N] [--graphs G] [--batch B] "
               "[--seconds S] [--recompute R] "
               "[--splits PREFIX] [--teacher T]\n");
    return 2;
  }
  plimsoll::run(argv[1], arguments);
}
