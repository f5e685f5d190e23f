// engine GRAPH_SET --model small|large|CONV-LAYERS --allocator torch|heap|slab --threads N --graphs G --batch B --seconds S
//        --recompute on|off
//
// Steps of training a GAT (small, large) or a Gnn of 64 channels (gin-3) (forward, backward, ordered sum, Adam) over a graph_set, as `plimsoll train` does them, with torch's
// memory from its own allocator, from the ledger's heap, or from the slab. Prints one line of JSON.

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <map>
#include <numeric>

#include "memory/ledger.h"
#include "memory/meter.h"
#include "nn/classification.h"
#include "nn/gat_with_jk.h"
#include "nn/gnn.h"
#include "ops/allocator.h"
#include "sample/graph_set_source.h"
#include "train/block_engine.h"
#include "train/optimizer.h"
#include "train/planner.h"
#include "train/warm_up.h"

namespace plimsoll {
namespace {

struct Usage {
  double user, system;
  int64_t faults;
};

Usage usage() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return {seconds(u.ru_utime), seconds(u.ru_stime), u.ru_minflt};
}

std::unique_ptr<GraphModel> make_model(const std::string& name, const BlockSource& source) {
  const auto ids = static_cast<int64_t>(source.tables().vocabulary.size()) + 1;
  if (const size_t dash = name.find('-'); dash != std::string::npos)
    return std::make_unique<Gnn>(GnnOptions{.conv = name.substr(0, dash),
                                            .in_features = source.node_features(),
                                            .edge_features = source.edge_features(),
                                            .num_ids = ids,
                                            .layers = std::stoll(name.substr(dash + 1))},
                                 1);
  GATWithJKOptions options{.num_ids = ids, .in_features = source.node_features()};
  if (name == "large") {  // the published large preset
    options.embedding = 16;
    options.layers = 3;
    options.hidden = 48;
    options.heads = 8;
    options.dropout = 0.2;
    options.fc_layers = 1;
  }
  return std::make_unique<GATWithJK>(options, 1);
}

void run(const std::string& graphs, std::map<std::string, std::string> arguments) {
  const std::string allocator = arguments["--allocator"];
  const int threads = std::stoi(arguments["--threads"]);
  if (allocator != "torch") install_ledger_allocator();
  warm_up_torch(threads);
  const GraphSetSource source(graphs);
  const auto shapes = read_shapes(source, threads);
  const auto model = make_model(arguments["--model"], source);
  const Classification objective(*model);
  const BlockLimits limits{std::stoll(arguments["--graphs"]), 1'000'000, 4'000'000};

  TrainingSplit split;
  split.training.resize(shapes.size());
  std::iota(split.training.begin(), split.training.end(), int64_t{0});
  const bool recompute = arguments["--recompute"] == "on";
  Flight flight{.blocks = threads, .prefetch = 2, .recompute = recompute};
  MemoryPlan plan;
  if (allocator == "slab") {
    plan = make_plan({.source = &source, .shapes = shapes, .objective = &objective, .limits = limits, .threads = threads,
                      .training = split.training, .seed = 1, .epochs = 1, .batch_size = std::stoll(arguments["--batch"]),
                      .recompute = recompute ? "on" : "off"});
    flight = require_feasible(plan);
  }
  BlockEngine engine(source, shapes, objective, limits, flight);
  std::vector<at::Tensor> parameters;
  for (const auto& entry : model->parameters().entries()) parameters.push_back(entry.value);
  const auto optimizer = make_optimizer(parameters, {});

  const auto batch_size = static_cast<size_t>(std::stoll(arguments["--batch"]));
  const double seconds = std::stod(arguments["--seconds"]);
  shuffle(split.training, 1, 1);
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
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
  const double user = after.user - before.user;
  const double system = after.system - before.system;
  fmt::print("{{\"graphs_per_s\": {:.1f}, \"graphs_per_cpu_s\": {:.1f}, \"system_share\": {:.4f}, \"faults_per_graph\": {:.3f}, "
             "\"ledger_peak\": {}, \"anonymous\": {}, \"range_bytes\": {}, \"overflows\": {}, \"weights\": \"{}\"}}\n",
             static_cast<double>(done) / wall, static_cast<double>(done) / (user + system), system / (user + system),
             static_cast<double>(after.faults - before.faults) / static_cast<double>(done), Ledger::process().recent_peak(),
             process_memory().anonymous, plan.worst.range_bytes, engine.runner().overflows(), model->parameters().hash());
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  std::map<std::string, std::string> arguments = {{"--model", "small"}, {"--allocator", "slab"}, {"--threads", "1"},
                                                  {"--graphs", "64"},   {"--batch", "512"},      {"--seconds", "4"},   {"--recompute", "off"}};
  for (int i = 2; i + 1 < argc; i += 2) arguments[argv[i]] = argv[i + 1];
  if (argc < 2 || argc % 2 != 0) {
    fmt::print(stderr, "usage: engine GRAPH_SET [--model M] [--allocator A] [--threads N] [--graphs G] [--batch B] [--seconds S] [--recompute R]\n");
    return 2;
  }
  plimsoll::run(argv[1], arguments);
}
