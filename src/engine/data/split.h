#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/data/resampling.h"
#include "memory/charge.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// The graphs that are used to train a model, and those used to validate it during training.
struct TrainingSplit {
  GraphList training;
  GraphList validation;
  GraphList test = {};                     ///< Graphs used neither for training nor for validation.
  std::vector<std::string> used = {};      ///< Names of the recordings in use, "split/name".
  std::vector<std::string> contents = {};  ///< content_of() for each of these recordings.
  std::vector<std::string> copies = {};  ///< Recordings left out because another one with the same content is
                                         ///< in use.
  Charge texts{Tag::columns};            ///< Bytes of `used`, `contents` and `copies`.
  std::map<std::string, GraphList> left_out = {};  ///< Graphs of left-out attacks, by attack.
  bool fresh_epochs = false;   ///< Whether each epoch trains on its own graphs (EpochOrder::fresh).
  Resampling resampling = {};  ///< How training graphs differ by epoch.
};

/// The name under which the graphs of a left-out attack are evaluated.
inline std::string left_out_name(const std::string& attack) {
  return "left out: " + attack;
}

/// Returns XXH3-64 of the lists of training and validation graphs, in hexadecimal.
std::string hash_of_split(const TrainingSplit& split);

/// Returns a text that is equal for recordings with the same content and different for others.
std::string content_of(const GraphRange& recording);

/// Returns content_of() for each recording used for training or validation, in order: the recordings of the
/// training splits, each content once, without recordings of the attacks in `leave_out`.
std::vector<std::string> training_contents(const GraphSetTables& tables,
                                           const std::vector<std::string>& leave_out);

/// Splits by time: validation is the last `validation` share of each recording of training_contents(), after
/// an embargo of `embargo` graphs that belong to neither side, because neighbouring graphs are alike. Of
/// recordings with equal content only one is used, so copies are never on both sides. Errors: UsageError for
/// an attack in `leave_out` without a training recording; InputError if no graph is left to train or to
/// validate on.
TrainingSplit split_by_time(const GraphSetTables& tables, double validation, int64_t embargo,
                            const std::vector<std::string>& leave_out = {});

/// Splits by whole recordings. A share of `validation`, rounded, of the recordings of each attack,
/// and of those without an attack, is used for validation: at least one if there are two or more, but never
/// all. They are drawn with `seed`. The other parameters and the errors are those of split_by_time().
TrainingSplit split_by_recording(const GraphSetTables& tables, double validation, uint64_t seed,
                                 const std::vector<std::string>& leave_out = {});

/// Splits independent graphs: `validation` and `test` are shares of all graphs, drawn with `seed`. Labels are
/// represented in proportion (largest remainders: Hamilton's method), and at least one graph of each label is
/// left for training. `rule` 1 uses rounded shares of each label, as early versions did. Uses the graphs of
/// the training splits, or all graphs if there are no such splits. Errors: InputError if no graph is left to
/// train or to validate on.
TrainingSplit split_by_graph(const GraphSetTables& tables, std::span<const GraphShape> shapes,
                             double validation, double test, uint64_t seed, int64_t rule = 2);

}  // namespace plimsoll
