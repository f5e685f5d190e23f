#include "tasks/relational/trivial_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr const char* kConstant = "constant";
constexpr const char* kHistory = "history";

// Returns the median of the labels: the mean of the two in the middle if their number is even.
float median_label(const TaskSeeds& seeds, const GraphList& training) {
  Vector<double, Tag::columns> values;
  values.reserve(training.size());
  for (const int64_t seed : training) values.push_back(seeds.value(seed));
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return static_cast<float>(*middle);
  return static_cast<float>((*std::max_element(values.begin(), middle) + *middle) / 2);
}

std::vector<float> class_shares(const TaskSeeds& seeds, const GraphList& training, int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes), 0);
  for (const int64_t seed : training) {
    const int64_t label = seeds.label(seed);
    if (label >= classes)
      throw InputError(fmt::format("seed {}: the label is {}, but the model knows classes 0 .. {}", seed,
                                   label, classes - 1));
    ++counts[static_cast<size_t>(label)];
  }
  std::vector<float> shares;
  for (const int64_t count : counts)
    shares.push_back(static_cast<float>(static_cast<double>(count) / static_cast<double>(training.size())));
  return shares;
}

}  // namespace

TrivialRules::TrivialRules(const RelationalData& data, int64_t classes)
    : seeds_(data.seeds().seeds()), classes_(classes) {
  const GraphList training = data.graphs_of(TaskSeeds::kTrain);
  if (training.empty()) throw InputError("the task has no labelled training seeds; ingest the tables again");
  const bool values = classes == 0;
  constant_ = values ? std::vector{median_label(seeds_, training)} : class_shares(seeds_, training, classes);
  if (classes > 2) return;
  of_entity_.resize(static_cast<size_t>(data.seeds().graph().node_type(seeds_.entity()).nodes));
  for (const int64_t seed : training) {
    Labels& labels = of_entity_[static_cast<size_t>(seeds_.node(seed))];
    labels.sum += seeds_.value(seed);
    ++labels.count;
  }
}

std::vector<std::string> TrivialRules::names() const {
  if (!has_history()) return {kConstant};
  return {kHistory, kConstant};
}

Vector<float, Tag::columns> TrivialRules::predict(const std::string& name, const GraphList& seeds) const {
  Vector<float, Tag::columns> found;
  found.reserve(seeds.size() * constant_.size());
  for (const int64_t seed : seeds) {
    const Labels labels = name == kHistory ? of_entity_[static_cast<size_t>(seeds_.node(seed))] : Labels{};
    if (labels.count == 0) {
      for (const float value : constant_) found.push_back(value);
      continue;
    }
    const auto mean = static_cast<float>(labels.sum / static_cast<double>(labels.count));
    if (classes_ == 2) found.push_back(1 - mean);
    found.push_back(mean);
  }
  return found;
}

std::optional<std::string> unbeaten_rule(const std::string& split, const std::string& figure, bool is_error,
                                         std::optional<double> network, const std::string& rule,
                                         std::optional<double> found) {
  if (!network || !found || (is_error ? *network < *found : *network > *found)) return std::nullopt;
  return fmt::format(
      "On the split {} the network does not beat the rule `{}`: its {} is {:.4f}, that of the rule {:.4f}.\n",
      split, rule, figure, *network, *found);
}

}  // namespace plimsoll
