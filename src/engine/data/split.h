#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "memory/charge.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// The graphs that train a model, and those that validate it during training.
struct TrainingSplit {
  GraphList training;
  GraphList validation;
  GraphList test = {};                     ///< Graphs that are neither trained on nor validated on.
  std::vector<std::string> used = {};      ///< Names of the recordings in use, "split/name".
  std::vector<std::string> contents = {};  ///< content_of() each of them.
  std::vector<std::string> copies = {};  ///< Recordings left out because one with the same content is in use.
  Charge texts{Tag::columns};            ///< Bytes of `used`, `contents` and `copies`.
  std::map<std::string, GraphList> left_out = {};  ///< Graphs of left-out attacks, by attack.
  bool fresh_epochs = false;  ///< Whether each epoch trains on its own graphs (EpochOrder::fresh).
};

/// The name under which the graphs of a left-out attack are evaluated.
inline std::string left_out_name(const std::string& attack) {
  return "left out: " + attack;
}

/// XXH3-64 of the lists of training and validation graphs, in hexadecimal.
std::string hash_of_split(const TrainingSplit& split);

/// A text that is equal for recordings with the same content and differs otherwise.
std::string content_of(const GraphRange& recording);

/// Returns content_of() each recording that trains or validates, in order: those of the training splits, each
/// content once, without recordings of the attacks in `leave_out`.
std::vector<std::string> training_contents(const GraphSetTables& tables,
                                           const std::vector<std::string>& leave_out);

/// Splits by time: validation is the last `validation` share of each recording of training_contents(), after
/// an embargo of `embargo` graphs that belong to neither side, because neighbouring graphs are alike. A
/// content that occurs twice is used once, so copies never are on both sides. Errors: UsageError for an
/// attack in `leave_out` without a training recording; InputError if no graph is left to train or to validate
/// on.
TrainingSplit split_by_time(const GraphSetTables& tables, double validation, int64_t embargo,
                            const std::vector<std::string>& leave_out = {});

/// Splits by whole recordings: of the recordings of each attack, and of those without one, a rounded share of
/// `validation` validates, at least one of two or more and never all, drawn by `seed`. The rest and the
/// errors are as in split_by_time().
TrainingSplit split_by_recording(const GraphSetTables& tables, double validation, uint64_t seed,
                                 const std::vector<std::string>& leave_out = {});

/// Splits independent graphs: `validation` and `test` are shares of all graphs, drawn by `seed`. They are
/// taken from the labels in proportion (largest remainders: Hamilton's method), and leave at least one graph
/// of each label to train on. `rule` 1 takes rounded shares of each label, as early versions did. Uses the
/// graphs of the training splits, or all graphs if there are no such splits. Errors: InputError if no graph
/// is left to train or to validate on.
TrainingSplit split_by_graph(const GraphSetTables& tables, std::span<const GraphShape> shapes,
                             double validation, double test, uint64_t seed, int64_t rule = 2);

}  // namespace plimsoll
