// Measures how fast window graphs are made on the fly: graphs per second of one core's time, in blocks of 64.
//
//     bench_windows FRAMES [FEATURES...]     FRAMES is a data set of frames; all feature sets by default

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>
#include <vector>

#include "base/error.h"
#include "can/windows/windows.h"

namespace plimsoll {
namespace {

constexpr size_t kBlock = 64;
constexpr int kRounds = 9;

// Processor time of the process, which has one thread: other load on the machine does not count.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Returns graphs per second of one pass over all graphs, in the given order.
double pass(const WindowSource& source, const std::vector<int64_t>& order, GraphBlock& block) {
  const double start = processor_seconds();
  for (size_t first = 0; first < order.size(); first += kBlock)
    source.read(std::span(order).subspan(first, std::min(kBlock, order.size() - first)), block);
  return static_cast<double>(order.size()) / (processor_seconds() - start);
}

void measure(const FramesView& frames, const std::string& features) {
  const double opening = processor_seconds();
  WindowOptions options;
  options.features = parse_word<WindowFeatures>(features, "features");
  const auto source = open_windows(frames, options);
  const double opened = processor_seconds() - opening;
  std::vector<int64_t> order(static_cast<size_t>(source->graphs()));
  std::iota(order.begin(), order.end(), 0);
  GraphBlock block;
  pass(*source, order, block);  // This reads the columns into memory.
  for (const char* name : {"in order", "shuffled"}) {
    std::vector<double> rates;
    for (int round = 0; round < kRounds; ++round) rates.push_back(pass(*source, order, block));
    std::sort(rates.begin(), rates.end());
    fmt::print("{:<10} {:>8} graphs {:<9} best {:>8.0f}  median {:>8.0f} graphs/s/core  opened in {:.3f} s\n",
               features, source->graphs(), name, rates.back(), rates[rates.size() / 2], opened);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));  // The order of training.
  }
}

int run(int argc, char** argv) {
  if (argc < 2) throw UsageError("usage: bench_windows FRAMES [FEATURES...]");
  const FramesView frames(argv[1]);
  std::vector<std::string> features(argv + 2, argv + argc);
  if (features.empty()) features = {"compat", "behaviour"};
  for (const std::string& name : features) measure(frames, name);
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  try {
    return plimsoll::run(argc, argv);
  } catch (const plimsoll::Error& error) {
    fmt::print(stderr, "bench_windows: {}\n", error.what());
    return error.exit_code();
  }
}
