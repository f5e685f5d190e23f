// Prints the timing rule of a frames set as JSON, for tests/python/test_timing_rule.py to compare with
// NumPy's:
//
//   timing_twin FRAMES FEATURES WINDOW STRIDE HELD_OUT
//
// learned from all but the last HELD_OUT windows of each training recording, copies left out.

#include <fmt/format.h>

#include <set>

#include "base/json.h"
#include "can/windows/timing_rule.h"
#include "store/split_name.h"

using namespace plimsoll;

int main(int, char** argv) {
  const FramesView frames(argv[1]);
  const WindowLength window = WindowLength::parse(argv[3]);
  const WindowLength stride = WindowLength::parse(argv[4]);
  const auto windows = open_windows(
      frames, {parse_word<WindowFeatures>(argv[2], "features"), window.value, stride.value, window.unit});
  std::vector<int64_t> graphs;
  std::set<std::string> seen;
  for (const GraphRange& recording : windows->tables().recordings)
    if (is_training_split(recording.split) && seen.insert(recording.content).second)
      for (int64_t g = 0; g < recording.graphs - std::stoll(argv[5]); ++g)
        graphs.push_back(recording.first_graph + g);
  const TimingRule learned = TimingRule::learn(frames, *windows, graphs);
  const NamedTensors tensors = learned.tensors();
  const TimingRule rule = *TimingRule::from_tensors(tensors);
  Json json = {{"scores", rule.scores(frames, *windows)}};
  for (const char* name : {"timing.ids", "timing.least_gap_ns", "timing.most"})
    json[name] = values_of<int64_t>(tensors, name, {-1});
  fmt::print("{}\n", json.dump());
}
