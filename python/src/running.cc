#include <ATen/Parallel.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>

#include "base/json_text.h"
#include "can/detector/evaluation_options.h"
#include "cluster/process_group.h"
#include "config/known_recipes.h"
#include "engine/plan/warm_up.h"
#include "memory/budget_caps.h"
#include "run/evaluate_run.h"
#include "run/plan_run.h"
#include "run/predict_run.h"
#include "run/run_manifest.h"
#include "run/train_run.h"
#include "torch_bindings.h"
#include "watched.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Sets torch to one intra-op thread per worker while it lives (engine/plan/warm_up.h), and then restores the
// number.
class OwnThreads {
 public:
  explicit OwnThreads(int threads) : before_(at::get_num_threads()) { warm_up_torch(threads); }
  ~OwnThreads() { at::set_num_threads(before_); }
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;

 private:
  const int before_;
};

// The model's path is relative to the run, because the name of the run may not be UTF-8.
Json report_of_run(const TrainedRun& trained, const fs::path& run) {
  const fs::path model = trained.file.empty() ? trained.file : trained.file.lexically_relative(run);
  Json report = {{"model", model.string()},
                 {"trained_on", trained.trained_on},
                 {"seconds", trained.seconds},
                 {"stages", stages_json(trained.stages)},
                 {"unsaved", trained.unsaved.text()}};
  if (trained.main) {
    const StageReport& main = trained.main->report;
    report.update({{"weights", main.weights},
                   {"parameters", main.parameters},
                   {"best_epoch", main.fit.best_epoch},
                   {"validation_loss", main.fit.best_loss}});
  }
  return report;
}

// `group` names the process group of the ranks that share a call; empty: there is only this process, and the
// result is null.
std::unique_ptr<Exchange> join(const std::string& group, const std::string& remedy) {
  if (group.empty()) return nullptr;
  return join_process_group(group, [remedy] { return "a rank has ended or does not answer" + remedy; });
}

// Reports progress to Python. If that throws, the run ends with a checkpoint, as after a signal.
class PythonObserver final : public RunObserver {
 public:
  explicit PythonObserver(const Progress& note) : note_(note) {}

  void on_progress(int64_t done, int64_t total, const std::string&) override {
    try {
      note_(done, total);
    } catch (...) {
      interrupt_ = true;
    }
  }
  const std::atomic<bool>& interrupt() const { return interrupt_; }

 private:
  const Progress& note_;
  std::atomic<bool> interrupt_ = false;
};

// All ranks get the report.
std::string train(RunRequest request, const nb::object& progress, const std::string& group) {
  Json report;
  run_watched(progress, [&](const Progress& note) {
    const std::unique_ptr<Exchange> exchange =
        join(group, "; to continue, call train on all ranks with resume=True");
    PythonObserver observer(note);
    request.exchange = exchange.get();
    request.observer = &observer;
    request.interrupt = &observer.interrupt();
    report = report_of_run(train_run(request), request.folder);
    if (exchange) report = parse_json(broadcast_text(*exchange, json_text(report)));
  });
  return json_text(report);
}

// The smallest budget for a run that was refused before it started. Finding it may use all memory of the
// machine, but no more, even if the process has no budget.
int64_t smallest_budget(const RunRequest& request) {
  const BudgetCaps::Lifted lifted;
  return largest_budget(plan_beyond_budget(request, nullptr)).min_budget;
}

// The smallest budget for evaluate(), and below for predict().
int64_t smallest_budget(const EvaluateRequest& request) {
  const BudgetCaps::Lifted lifted;
  return budget_to_evaluate(request);
}
int64_t smallest_budget(const PredictionRequest& request) {
  const BudgetCaps::Lifted lifted;
  return budget_to_predict(request);
}

std::string evaluate(EvaluateRequest request, const nb::object& progress, const std::string& group) {
  Json report;
  run_watched(progress, [&](const Progress& note) {
    const std::unique_ptr<Exchange> exchange = join(group, "");
    request.asked.exchange = exchange.get();
    request.asked.progress = note;
    const EvaluationResult findings = evaluate_run(request);
    const Unsaved unsaved = save_evaluation(request.asked, findings);
    report = {
        {"findings", findings.json}, {"table", findings.table + findings.notes}, {"unsaved", unsaved.text()}};
  });
  return json_text(report);
}

int64_t predict(PredictionRequest request, const nb::object& progress, const std::string& group) {
  int64_t rows = 0;
  run_watched(progress, [&](const Progress& note) {
    const std::unique_ptr<Exchange> exchange = join(group, "");
    request.exchange = exchange.get();
    request.progress = note;
    rows = predict_run(request);
  });
  return rows;
}

void bind_run_request(nb::module_& module) {
  nb::class_<RunRequest>(module, "RunRequest")
      .def(nb::init<>())
      .def("set_recipe",
           [](RunRequest& request, const std::string& text, const std::string& name,
              const std::vector<std::string>& overrides) {
             request.recipe = parse_recipe(text, name, overrides);
           })
      .def("set_threads", [](RunRequest& request, int threads) { request.memory.threads = threads; })
      .def("set_budget",
           [](RunRequest& request, int64_t bytes, int64_t outside) {
             request.memory.budget = bytes;
             request.memory.outside_ledger = outside;
             request.explains_refusals = false;
           })
      .def_rw("data", &RunRequest::data)
      .def_rw("teacher", &RunRequest::teacher)
      .def_rw("ranks", &RunRequest::ranks)
      .def_rw("folder", &RunRequest::folder)
      .def_rw("seeds", &RunRequest::seeds)
      .def_rw("stages", &RunRequest::stages)
      .def_rw("resume", &RunRequest::resume)
      .def_rw("force", &RunRequest::force)
      .def_rw("allow_other_rounding", &RunRequest::allow_other_rounding);
}

// Sets an option that only detectors have.
template <typename Change>
void change_options(EvaluateRequest& request, const Change& change) {
  auto options = std::make_shared<DetectorEvaluationOptions>();
  if (const auto* const given = dynamic_cast<const DetectorEvaluationOptions*>(request.asked.of_task.get()))
    *options = *given;
  change(*options);
  request.asked.of_task = std::move(options);
}

void bind_evaluate_request(nb::module_& module) {
  nb::class_<EvaluateRequest>(module, "EvaluateRequest")
      .def("__init__",
           [](EvaluateRequest* request, const fs::path& run, const fs::path& data) {
             new (request) EvaluateRequest{.asked = {.folder = {run}, .recipe = {}, .data = data}};
           })
      .def("set_split", [](EvaluateRequest& request, const std::string& name) { request.asked.split = name; })
      .def("set_scores",
           [](EvaluateRequest& request, const fs::path& file) {
             change_options(request, [&](DetectorEvaluationOptions& options) { options.scores = file; });
           })
      .def("set_attention",
           [](EvaluateRequest& request, const fs::path& folder) {
             change_options(request, [&](DetectorEvaluationOptions& options) { options.attention = folder; });
           })
      .def("set_calibrate",
           [](EvaluateRequest& request, int64_t windows) {
             change_options(request,
                            [&](DetectorEvaluationOptions& options) { options.calibrate = windows; });
           })
      .def("set_threads",
           [](EvaluateRequest& request, int threads) { request.asked.memory.threads = threads; })
      // Refusals are not explained, because the process's budget sets the cap of the ledger.
      .def("set_budget", [](EvaluateRequest& request, int64_t, int64_t outside) {
        request.asked.memory.outside_ledger = outside;
      });
}

void bind_prediction_request(nb::module_& module) {
  nb::class_<PredictionRequest>(module, "PredictionRequest")
      .def("__init__",
           [](PredictionRequest* request, const fs::path& run, const fs::path& data, const fs::path& out) {
             new (request) PredictionRequest{.folder = {run}, .data = data, .out = out};
           })
      .def("set_budget", [](PredictionRequest& request, int64_t,
                            int64_t outside) { request.memory.outside_ledger = outside; })
      .def("set_threads", [](PredictionRequest& request, int threads) { request.memory.threads = threads; })
      .def_rw("embeddings", &PredictionRequest::embeddings)
      .def_rw("csv", &PredictionRequest::csv)
      .def_rw("nodes", &PredictionRequest::nodes)
      .def_rw("force", &PredictionRequest::force);
}

}  // namespace

void bind_runs(nb::module_& module) {
  nb::class_<OwnThreads>(module, "OwnThreads").def(nb::init<int>(), nb::call_guard<nb::gil_scoped_release>());
  bind_run_request(module);
  bind_evaluate_request(module);
  bind_prediction_request(module);
  module.def("read_recipe", read_recipe);
  const auto define_smallest_budget = [&]<typename Request>(int64_t (*budget)(const Request&)) {
    module.def("smallest_budget", budget, nb::call_guard<nb::gil_scoped_release>());
  };
  define_smallest_budget.operator()<RunRequest>(smallest_budget);
  define_smallest_budget.operator()<EvaluateRequest>(smallest_budget);
  define_smallest_budget.operator()<PredictionRequest>(smallest_budget);
  module.def("train", train, nb::arg("request"), nb::arg("progress").none(), nb::arg("group"));
  module.def("evaluate", evaluate, nb::arg("request"), nb::arg("progress").none(), nb::arg("group"));
  module.def("predict", predict, nb::arg("request"), nb::arg("progress").none(), nb::arg("group"));
}

}  // namespace plimsoll
