#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "memory/charge.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Which graphs train a model and which judge it while it trains.
struct TrainingSplit {
  GraphList training;
  GraphList validation;
  GraphList test = {};                     ///< graphs that neither gets
  std::vector<std::string> used = {};      ///< recordings, "split/name"
  std::vector<std::string> contents = {};  ///< content_of each of them
  std::vector<std::string> copies = {};    ///< left out because one with the same content is used already
  Charge texts{Tag::columns};              ///< of used, contents and copies
  std::map<std::string, GraphList> left_out = {};  ///< graphs of attacks that were to be left out, by attack
  bool fresh_epochs = false;  ///< each epoch trains on graphs of its own (EpochOrder::fresh)
};

/// The name under which graphs of an attack that was left out are judged.
inline std::string left_out_name(const std::string& attack) {
  return "left out: " + attack;
}

/// XXH3-64 of which graphs train and which validate, in hexadecimal.
std::string hash_of_split(const TrainingSplit& split);

/// What is equal for recordings with the same content and for no others.
std::string content_of(const GraphRange& recording);

/// content_of each recording that trains or validates, in order: of the training splits, each content once,
/// without recordings of the attacks of `leave_out`.
std::vector<std::string> training_contents(const GraphSetTables& tables,
                                           const std::vector<std::string>& leave_out);

/// Validation is the last `validation` share of each recording of training_contents(), after an embargo of
/// `embargo` graphs that neither side gets: windows next to each other are alike. A content that occurs twice
/// is used once, so copies never stand on both sides. Errors: UsageError for an attack of `leave_out` of
/// which there is no training recording; InputError when no graph is left to train or to validate on.
TrainingSplit split_by_time(const GraphSetTables& tables, double validation, int64_t embargo,
                            const std::vector<std::string>& leave_out = {});

/// Whole recordings validate: of those of each attack, and of those without one, a share of `validation`,
/// rounded, at least one of two or more and never all, drawn by `seed`. The rest and the errors as
/// split_by_time().
TrainingSplit split_by_recording(const GraphSetTables& tables, double validation, uint64_t seed,
                                 const std::vector<std::string>& leave_out = {});

/// For graphs that have nothing to do with each other: `validation` and `test` shares of all graphs, drawn by
/// `seed`, which come from the labels in proportion (largest remainders: Hamilton's method) and leave one
/// graph of each label at least to train on. `rule` 1: shares of each label, rounded, as runs did it at
/// first. Takes the splits that train, or all graphs where no split is named so. Errors: InputError when no
/// graph is left to train on, or to validate on.
TrainingSplit split_by_graph(const GraphSetTables& tables, std::span<const GraphShape> shapes,
                             double validation, double test, uint64_t seed, int64_t rule = 2);

}  // namespace plimsoll
