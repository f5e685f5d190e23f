#include "engine/data/split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
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
    "no split has a name that starts with 'train', its recordings are too short, or split.leave_out excludes "
    "all";

void append(GraphList& list, int64_t first, int64_t count) {
  for (int64_t g = first; g < first + count; ++g) list.push_back(g);
}

bool is_left_out(const GraphRange& recording, const std::vector<std::string>& leave_out) {
  return recording.attack && std::ranges::find(leave_out, *recording.attack) != leave_out.end();
}

// The recordings used for training or validation, where recordings with equal content count once; and a
// split that has only their names and the left-out graphs.
struct Recordings {
  std::vector<const GraphRange*> used;
  TrainingSplit split;
};

Recordings recordings_of(const GraphSetTables& tables, const std::vector<std::string>& leave_out) {
  Recordings result;
  TrainingSplit& split = result.split;
  std::set<std::string> seen;
  const auto add = [&](std::vector<std::string>& list, std::string text) {
    // Counts the string as an element of a growing list.
    split.texts.add(heap_bytes(text) + 2 * static_cast<int64_t>(sizeof(text)));
    list.push_back(std::move(text));
  };
  // Recordings in use come first, so that content that is also used for training is not left out.
  for (const bool used : {true, false})
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
          "split.leave_out names the attack '{}', which has no training recording; known attacks: {}", name,
          known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

// Graphs of the training splits, or all graphs if there are no such splits.
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

// The graphs of each label, in their order. Labels are in the order of their first graph.
std::vector<GraphList> by_label(const GraphList& graphs, std::span<const GraphShape> shapes) {
  std::vector<GraphList> classes;
  std::map<int32_t, size_t> places;
  for (const int64_t g : graphs) {
    const auto [place, is_new] = places.emplace(shapes[static_cast<size_t>(g)].label, classes.size());
    if (is_new) classes.emplace_back();
    classes[place->second].push_back(g);
  }
  return classes;
}

// Numbers of graphs of a class that are not used for training.
struct HeldOut {
  int64_t test = 0;
  int64_t validation = 0;
};

int64_t rounded(double share, int64_t count) {
  return static_cast<int64_t>(share * static_cast<double>(count) + 0.5);
}

// Rule 1: rounded shares of each class, independently of the others.
std::vector<HeldOut> rounded_by_class(const std::vector<GraphList>& classes, double validation, double test) {
  std::vector<HeldOut> counts;
  for (const GraphList& graphs : classes) {
    const int64_t count = std::ssize(graphs);
    const int64_t tested = std::min(rounded(test, count), count);
    counts.push_back({tested, std::min(rounded(test + validation, count), count) - tested});
  }
  return counts;
}

// Divides a share of all graphs among classes by largest remainders: each class gets its share, rounded down,
// and the classes with the largest remainders get one more. `max_counts` is the maximum for each class. Among
// equal remainders the first class wins.
std::vector<int64_t> divide(double share, const std::vector<GraphList>& classes,
                            std::span<const int64_t> max_counts) {
  std::vector<int64_t> counts;
  std::vector<double> remainders;
  int64_t left = 0;  // Graphs of the share that are not assigned yet.
  int64_t all = 0;
  for (size_t c = 0; c < classes.size(); ++c) {
    const double quota = share * static_cast<double>(classes[c].size());
    const double whole = std::floor(quota);
    counts.push_back(std::min(static_cast<int64_t>(whole), max_counts[c]));
    remainders.push_back(quota - whole);
    all += std::ssize(classes[c]);
    left -= counts.back();
  }
  left += rounded(share, all);
  std::vector<size_t> order(classes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t c) { return remainders[c]; });
  for (const size_t c : order) {
    if (left <= 0) break;
    if (counts[c] == max_counts[c]) continue;
    ++counts[c];
    --left;
  }
  return counts;
}

// Rule 2: shares of all graphs, such that at least one graph of each class is used for training.
std::vector<HeldOut> apportioned(const std::vector<GraphList>& classes, double validation, double test) {
  if (test + validation >= 1)
    throw InputError(fmt::format(
        "no graph to train on: split.validation is {:g} and split.test is {:g}, expected a sum below 1",
        validation, test));
  std::vector<int64_t> max_counts;
  for (const GraphList& graphs : classes) max_counts.push_back(std::ssize(graphs) - 1);
  const std::vector<int64_t> tested = divide(test, classes, max_counts);
  for (size_t c = 0; c < max_counts.size(); ++c) max_counts[c] -= tested[c];
  const std::vector<int64_t> validated = divide(validation, classes, max_counts);
  std::vector<HeldOut> counts;
  for (size_t c = 0; c < classes.size(); ++c) counts.push_back({tested[c], validated[c]});
  return counts;
}

}  // namespace

std::string hash_of_split(const TrainingSplit& split) {
  Hasher hasher;
  for (const GraphList* const list : {&split.training, &split.validation}) {
    const int64_t count = std::ssize(*list);
    hasher.add(&count, sizeof count);
    hasher.add(list->data(), std::span(*list).size_bytes());
  }
  return hasher.hex64();
}

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
  return std::move(result);  // A structured binding is not moved implicitly.
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
  require_both_sides(result, kNothingTrains,
                     "holding out a whole recording needs two recordings of one attack, or two without an "
                     "attack, and this data has neither; set split.by: time");
  return std::move(result);  // A structured binding is not moved implicitly.
}

TrainingSplit split_by_graph(const GraphSetTables& tables, std::span<const GraphShape> shapes,
                             double validation, double test, uint64_t seed, int64_t rule) {
  if (shapes.empty()) throw InputError("the data set has no graphs");
  GraphList graphs = training_graphs(tables, shapes.size());
  shuffle(graphs, seed, /*epoch=*/0);
  const std::vector<GraphList> classes = by_label(graphs, shapes);
  const std::vector<HeldOut> counts =
      rule == 1 ? rounded_by_class(classes, validation, test) : apportioned(classes, validation, test);
  TrainingSplit result;
  for (size_t c = 0; c < classes.size(); ++c)
    for (int64_t i = 0; i < std::ssize(classes[c]); ++i) {
      const HeldOut& count = counts[c];
      GraphList& side = i < count.test                      ? result.test
                        : i < count.test + count.validation ? result.validation
                                                            : result.training;
      side.push_back(classes[c][static_cast<size_t>(i)]);
    }
  for (GraphList* list : {&result.training, &result.validation, &result.test})
    std::sort(list->begin(), list->end());
  require_both_sides(
      result, "split.validation and split.test use all graphs",
      "there are too few graphs for split.validation, because one graph of each label is used for training");
  return result;
}

}  // namespace plimsoll
