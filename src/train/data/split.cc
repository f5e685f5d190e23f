#include "train/data/split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "memory/heap_bytes.h"
#include "store/split_name.h"

namespace plimsoll {
namespace {

void require_both_sides(const TrainingSplit& split, const std::string& no_training,
                        const std::string& no_validation) {
  if (split.training.empty()) throw InputError("no graph to train on: " + no_training);
  if (split.validation.empty()) throw InputError("no graph to validate on: " + no_validation);
}

constexpr const char* kNothingTrains =
    "no split's name begins with 'train', its recordings are too short, or split.leave_out takes all";

void append(GraphList& list, int64_t first, int64_t count) {
  for (int64_t g = first; g < first + count; ++g) list.push_back(g);
}

bool is_left_out(const GraphRange& recording, const std::vector<std::string>& leave_out) {
  return recording.attack && std::ranges::find(leave_out, *recording.attack) != leave_out.end();
}

// The recordings that train or validate, each content once, and a split that names them and has no graphs but
// those left out.
struct Recordings {
  std::vector<const GraphRange*> used;
  TrainingSplit split;
};

Recordings recordings_of(const GraphSetTables& tables, const std::vector<std::string>& leave_out) {
  Recordings result;
  TrainingSplit& split = result.split;
  std::set<std::string> seen;
  const auto add = [&](std::vector<std::string>& list, std::string text) {
    split.texts.add(heap_bytes(text) + 2 * static_cast<int64_t>(sizeof(text)));  // of a list that grows
    list.push_back(std::move(text));
  };
  for (const bool used : {true, false})  // what trains under another name is not left out
    for (const GraphRange& recording : tables.recordings) {
      if (!is_training_split(recording.split) || is_left_out(recording, leave_out) == used) continue;
      const std::string path = recording.split + "/" + recording.name;
      if (!seen.insert(content_of(recording)).second) {
        add(split.copies, path);
      } else if (used) {
        result.used.push_back(&recording);
        add(split.used, path);
        add(split.contents, content_of(recording));
      } else {
        append(split.left_out[*recording.attack], recording.first_graph, recording.graphs);
      }
    }
  return result;
}

void require_attacks(const GraphSetTables& tables, const std::vector<std::string>& leave_out) {
  std::set<std::string> known;
  for (const GraphRange& recording : tables.recordings)
    if (is_training_split(recording.split) && recording.attack) known.insert(*recording.attack);
  for (const std::string& name : leave_out)
    if (!known.contains(name))
      throw UsageError(fmt::format(
          "split.leave_out names the attack '{}', of which there is no training recording; there are: {}",
          name, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

// Graphs of the splits that train; all where no split is named so.
GraphList training_graphs(const GraphSetTables& tables, size_t count) {
  GraphList graphs;
  for (const GraphRange& split : tables.splits)
    if (is_training_split(split.name))
      for (int64_t g = 0; g < split.graphs; ++g) graphs.push_back(split.first_graph + g);
  if (!graphs.empty()) return graphs;
  graphs.resize(count);
  std::iota(graphs.begin(), graphs.end(), int64_t{0});
  return graphs;
}

}  // namespace

std::string content_of(const GraphRange& recording) {
  return recording.content.empty() ? recording.copy_of.value_or(recording.split + "/" + recording.name)
                                   : recording.content;
}

std::vector<std::string> training_contents(const GraphSetTables& tables,
                                           const std::vector<std::string>& leave_out) {
  return recordings_of(tables, leave_out).split.contents;
}

TrainingSplit split_by_time(const GraphSetTables& tables, double validation, int64_t embargo,
                            const std::vector<std::string>& leave_out) {
  auto [recordings, result] = recordings_of(tables, leave_out);
  require_attacks(tables, leave_out);
  for (const GraphRange* recording : recordings) {
    const auto held_out = static_cast<int64_t>(validation * static_cast<double>(recording->graphs));
    const int64_t trained =
        held_out == 0 ? recording->graphs : std::max<int64_t>(recording->graphs - held_out - embargo, 0);
    append(result.training, recording->first_graph, trained);
    append(result.validation, recording->first_graph + recording->graphs - held_out, held_out);
  }
  require_both_sides(result, kNothingTrains, "the training recordings are too short for split.validation");
  return std::move(result);  // of a binding, which is not moved by itself
}

TrainingSplit split_by_recording(const GraphSetTables& tables, double validation, uint64_t seed,
                                 const std::vector<std::string>& leave_out) {
  auto [recordings, result] = recordings_of(tables, leave_out);
  require_attacks(tables, leave_out);
  std::erase_if(recordings, [](const GraphRange* recording) { return recording->graphs == 0; });
  GraphList drawn(recordings.size());
  std::iota(drawn.begin(), drawn.end(), int64_t{0});
  shuffle(drawn, seed, /*epoch=*/0);
  std::map<std::optional<std::string>, std::vector<int64_t>> by_attack;
  for (const int64_t r : drawn) by_attack[recordings[static_cast<size_t>(r)]->attack].push_back(r);
  std::set<int64_t> validating;
  for (const auto& [attack, group] : by_attack) {
    const auto count = static_cast<int64_t>(group.size());
    const auto share = static_cast<int64_t>(validation * static_cast<double>(count) + 0.5);
    const int64_t held_out = count < 2 ? 0 : std::clamp<int64_t>(share, 1, count - 1);
    validating.insert(group.begin(), group.begin() + held_out);
  }
  for (size_t r = 0; r < recordings.size(); ++r)
    append(validating.contains(static_cast<int64_t>(r)) ? result.validation : result.training,
           recordings[r]->first_graph, recordings[r]->graphs);
  require_both_sides(
      result, kNothingTrains,
      "a whole recording is held out where there are two of an attack, or two without one, and "
      "there are not; set split.by: time");
  return std::move(result);  // of a binding, which is not moved by itself
}

TrainingSplit split_by_graph(const GraphSetTables& tables, std::span<const GraphShape> shapes,
                             double validation, double test, uint64_t seed) {
  if (shapes.empty()) throw InputError("the data set has no graphs");
  GraphList graphs = training_graphs(tables, shapes.size());
  shuffle(graphs, seed, /*epoch=*/0);
  std::map<int32_t, GraphList> by_label;
  for (const int64_t g : graphs) by_label[shapes[static_cast<size_t>(g)].label].push_back(g);
  TrainingSplit result;
  for (const auto& [label, drawn] : by_label) {
    const auto share = [count = drawn.size()](double part) {
      return static_cast<size_t>(part * static_cast<double>(count) + 0.5);
    };
    const size_t tested = share(test);
    const size_t validated = share(test + validation);
    for (size_t i = 0; i < drawn.size(); ++i)
      (i < tested ? result.test : i < validated ? result.validation : result.training).push_back(drawn[i]);
  }
  for (GraphList* list : {&result.training, &result.validation, &result.test})
    std::sort(list->begin(), list->end());
  require_both_sides(result, "split.validation and split.test take all",
                     "there are too few for split.validation");
  return result;
}

}  // namespace plimsoll
