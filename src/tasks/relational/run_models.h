#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/predict/list_predictor.h"
#include "nn/objective.h"
#include "run/evaluation.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_figures.h"

namespace plimsoll {

/// Returns the model that a run has for the seed of its recipe. Errors: those of load_relational().
std::unique_ptr<GraphModel> load_run_model(const RunEvaluation& asked, const RelationalData& data);

/// How the models of a run predict lists of seeds.
struct RunPrediction {
  const std::vector<NamedGraphList>& lists;
  int64_t outputs = 0;  ///< Numbers that a model returns for a seed.
  int64_t later = 0;    ///< Same as in engine_for().
  std::function<std::unique_ptr<Objective>(const GraphModel&)> objective;
};

/// Receives the outputs of the model of one random seed of the run for one list, [seeds of the list,
/// outputs], and their mean loss. The outputs are valid during the call.
using UseOutputs =
    std::function<void(int64_t seed, size_t list, double loss, std::span<const float> outputs)>;

/// Predicts every list with the models of all random seeds of the run, one model after the other. Errors: the
/// errors of load_relational(), ListPredictor, predict_on_ranks() and `use`.
void predict_with_run(const RunEvaluation& asked, const RelationalData& data, const RunPrediction& prediction,
                      const UseOutputs& use);

/// Returns a result without figures for each list.
std::vector<RelationalResult> results_of(const std::vector<NamedGraphList>& lists);

/// Returns the length of the longest list.
int64_t longest_of(const std::vector<NamedGraphList>& lists);

}  // namespace plimsoll
