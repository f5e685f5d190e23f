#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/words.h"
#include "sample/typed/label_vectors.h"
#include "sample/typed/number_column.h"
#include "sample/typed/target_vocabulary.h"
#include "store/typed_graph.h"

namespace plimsoll {

/// The kinds of tasks, by their RelBench names. A seed has one label, several labels that are 0 or 1, or a
/// list of nodes to recommend.
enum class SeedTask : uint8_t {
  binary_classification,
  multiclass_classification,
  multilabel_classification,
  regression,
  recommendation
};
template <>
inline constexpr auto kWords<SeedTask> = std::to_array<std::string_view>({"binary_classification",
                                                                          "multiclass_classification",
                                                                          "multilabel_classification",
                                                                          "regression", "recommendation"});

/// The origin of labels, by its RelBench name: rows after the time of the seed, a column of the entity, or
/// elsewhere.
enum class LabelOrigin : uint8_t { forecast, autocomplete, external };
template <>
inline constexpr auto kWords<LabelOrigin> = std::to_array<std::string_view>({"forecast", "autocomplete",
                                                                             "external"});

/// The seeds of a task of a graph with node types, split after split, numbered from 0. The graph must outlive
/// this object. Thread-safe.
class TaskSeeds {
 public:
  static constexpr const char* kTrain = "train";

  /// Errors: UsageError for a task that the graph does not have, or of a kind that is not a SeedTask;
  /// InputError for a task without training labels or without times, for labels of a form that does not suit
  /// the kind, and for a task that hides a foreign key or a time, whose edges or rows would still be read;
  /// Json::exception for a manifest that lacks a key.
  TaskSeeds(const TypedGraphView& graph, const std::string& name);

  struct Split {
    std::string name;
    int64_t first = 0;  ///< Number of the split's first seed.
    int64_t count = 0;
  };
  const std::vector<Split>& splits() const { return splits_; }
  int64_t seeds() const { return splits_.back().first + splits_.back().count; }
  const std::string& name() const { return name_; }
  SeedTask kind() const { return kind_; }
  const std::string& entity() const { return entity_; }
  /// Returns the node type whose nodes a recommendation recommends; empty for other tasks.
  const std::string& destination() const { return destination_; }
  /// Returns the number of nodes that a recommendation lists for a seed: RelBench's `eval_k`, by default 10,
  /// but at most all of them.
  int64_t list_length() const { return list_length_; }

  bool is_training(int64_t seed) const { return splits_[part_of(seed)].name == kTrain; }
  /// Returns the node of a seed as it is stored. It is not checked: in damaged data, a node of the type
  /// entity() may not exist.
  int64_t node(int64_t seed) const;
  /// Returns the time of a seed, in nanoseconds since 1970-01-01.
  int64_t time(int64_t seed) const;
  /// Returns whether the seed has a label that is neither missing, hidden nor unknown. Errors: those of
  /// value() and destinations(), and of LabelVectors::width().
  bool has_label(int64_t seed) const;
  /// Returns whether the label is a text that no training seed has, so that a model cannot predict it.
  /// Errors: InputError for a damaged code.
  bool has_unknown_label(int64_t seed) const;
  /// Returns the nodes to recommend for a seed, in the order of the data set and perhaps more than once; none
  /// for other tasks or if they are hidden. Errors: InputError for a node that does not exist.
  std::span<const uint32_t> destinations(int64_t seed) const;
  /// Returns the number of floating-point targets of a seed: 1 for a value, the number of labels if there are
  /// several, for a recommendation the number of nodes of the type destination(), and 0 for classes.
  int64_t target_width() const { return target_width_; }
  /// Writes these targets, [target_width()]: the value, the labels as 0, 1 or NaN, or how often each node is
  /// to be recommended. Errors: those of value(), destinations() and LabelVectors::write().
  void write_targets(int64_t seed, std::span<float> targets) const;
  /// Returns the value to predict; NaN if it is missing, hidden or unknown. Errors: InputError for an
  /// infinite value or a damaged code.
  double value(int64_t seed) const;
  /// Returns the class to predict; -1 if it is missing, hidden or unknown. Errors: those of value();
  /// InputError for a value that is not a class: 0 or 1 in a binary classification, otherwise 0 .. 65535.
  int64_t label(int64_t seed) const;
  /// Returns the texts of the classes by number if labels are texts, in the order of their bytes; otherwise
  /// nothing. They are the texts of the split train.
  const TargetVocabulary& class_names() const { return class_names_; }
  /// Returns whether the target is a column of the entity's table.
  bool completes_column() const { return completes_column_; }

  /// Returns the training cut, the latest time of a training seed, in nanoseconds since 1970-01-01.
  int64_t cut() const { return cut_; }
  /// Returns the columns of a node type that must not be read: those that the task hides, and the target of a
  /// task that completes a column.
  std::vector<std::string> hidden(const std::string& node_type) const;

 private:
  struct Part {
    const SeedsView* seeds;
    std::optional<NumberColumn> values = {};  // Not set if labels are hidden.
    std::span<const int64_t> ptr = {};        // [seeds + 1] The lists of a recommendation.
    std::span<const uint32_t> lists = {};
    std::optional<LabelVectors> labels = {};  // Set if there are several labels.
    TargetVocabulary texts = {};              // The texts of codes, if labels are texts.
    // The class of each text; negative if it is not in the split train.
    Vector<int64_t, Tag::columns> class_of_code = {};
  };
  size_t part_of(int64_t seed) const;
  void add_split(const TypedGraphView& graph, const SeedsView& seeds, const Json& split);
  void name_classes(const TypedGraphView& graph);
  int64_t class_of(const Part& part, int64_t row) const;
  void count_labels(const TypedGraphView& graph);
  void read_destination(const TypedGraphView& graph);
  void require_hidable(const TypedGraphView& graph) const;

  std::string name_, entity_, destination_;
  TargetVocabulary class_names_;
  int64_t list_length_ = 0, target_width_ = 0;
  SeedTask kind_ = SeedTask::regression;
  std::vector<Split> splits_;
  std::vector<Part> parts_;  // One entry per split.
  int64_t cut_ = 0;
  const Json* manifest_ = nullptr;  // The manifest of the task.
  bool completes_column_ = false;   // Whether the target is a column of the entity.
};

}  // namespace plimsoll
