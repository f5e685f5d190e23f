#include "cli/train_options.h"

#include "base/units.h"
#include "cli/number_checks.h"
#include "cli/word_option.h"

namespace plimsoll {
namespace {

void add_ranks(CLI::App& verb, int& ranks, const char* text) {
  verb.add_option("--ranks", ranks, text)->check(CLI::Range(1, 64))->capture_default_str();
}

void add_verify(CLI::App& verb, std::string& verify) {
  verb.add_option(
          "--verify", verify,
          "Verify all checksums of the data set (full), or (auto) all up to 1 GiB and, in a larger data "
          "set, only those of files that changed since the run read them, none if it has not read the "
          "data set yet")
      ->check(CLI::IsMember({"auto", "full"}))
      ->capture_default_str();
}

void add_device_model(CLI::App& verb, DeviceOptions& options, const char* text) {
  verb.add_option("--device-model", options.model, text)->type_name("MODEL");
}

constexpr const char* kModelToBe =
    "Require a GPU of this model, such as v100-16; docs/gpu.md lists the models";

void add_device(CLI::App& verb, DeviceOptions& options) {
  verb.add_option("--device", options.device,
                  "Run blocks on this device: cpu, cuda, cuda:N, or auto (a GPU if available)")
      ->type_name("DEVICE")
      ->capture_default_str();
  verb.add_option("--device-budget", options.budget, "Limit the GPU memory to use; default: all free memory")
      ->type_name("BYTES|SHARE%");
  add_device_model(verb, options, kModelToBe);
}

// Adds the recipe to train and its data.
template <typename Options>
void add_recipe_and_data(CLI::App& verb, Options& options, bool required = true) {
  verb.add_option("RECIPE", options.recipe,
                  "The name of a recipe that `plimsoll recipes` lists, or a YAML file (docs/recipe.md)")
      ->required(required);
  verb.add_option("--data", options.data, "The folder of a data set that `plimsoll ingest` made")
      ->required(required)
      ->type_name("DIR");
  verb.add_option("-O", options.overrides, "Override a key of the recipe; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

void add_plan(CLI::App& app, const std::function<void(const PlanOptions&)>& run) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* verb = app.add_subcommand("plan", "Compute the memory a training run needs, without running it");
  add_recipe_and_data(*verb, *options);
  add_word_option(*verb, "--mode", options->mode,
                  "Estimate memory without running anything (static), by running a few small blocks and the "
                  "worst one (measured), or by also running the worst block of prediction and one step of "
                  "training (trial); default: memory.estimation in the recipe");
  verb->add_option("--prefetch", options->prefetch,
                   "Plan for a run that reads up to this number of blocks ahead; 0: none")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  CLI::Option* const profile = verb->add_flag(
      "--profile", options->profile,
      "Show how much memory each module of the model holds at the peak, and what would reduce it");
  CLI::Option* const snapshot = verb->add_option(
      "--snapshot", options->snapshot,
      "Write the worst block's allocations to FILE, as a snapshot for pytorch.org/memory_viz");
  snapshot->type_name("FILE");
  add_ranks(*verb, options->ranks, "Plan for a run with this number of local processes");
  verb->add_flag("--json", options->json, "Print the plan as JSON");
  options->resources.add_budget(*verb);
  verb->add_option("--device", options->device.device,
                   "Plan for this device: cpu, cuda, cuda:N, or auto (a GPU if available); give "
                   "--device-budget for a GPU that is not in this machine")
      ->type_name("DEVICE")
      ->capture_default_str();
  CLI::Option* const on_device =
      verb->add_option("--device-budget", options->device.budget,
                       "Limit the GPU memory that the run may use; default: all memory of the GPU")
          ->type_name("BYTES|SHARE%");
  add_device_model(*verb, options->device,
                   "Plan for a GPU of this model, such as v100-16, which need not be in this machine, and "
                   "show the largest blocks that fit each known GPU; docs/gpu.md lists them");
  verb->add_option("--graphs-per-s", options->graphs_per_s,
                   "Estimate the hours of training from this rate, measured in a run on this GPU")
      ->check(CLI::PositiveNumber)
      ->needs("--device")
      ->type_name("RATE");
  CLI::Option* const table = verb->add_option("--table", options->table,
                                              "Show which numbers of hidden channels and layers fit each of "
                                              "these budgets and how fast they train, instead of one plan");
  table->delimiter(',')->type_name("BYTES,...")->excludes("--budget")->excludes(on_device);
  table->excludes(profile)->excludes(snapshot);
  verb->add_option("--network", options->network,
                   "Estimate how fast the ranks train over a network in which each can send and receive this "
                   "number of bits per second, such as 25Gb")
      ->needs("--ranks")
      ->excludes("--device")
      ->excludes(table)
      ->type_name("SPEED");
  options->resources.add_threads(*verb);
  verb->footer("Example: plimsoll plan recipes/sgmp.yaml --data graphs --budget 256MiB");
  verb->callback([options, run] { run(*options); });
}

void add_train(CLI::App& app, const std::function<void(const TrainOptions&)>& run) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* verb = app.add_subcommand("train", "Train the model described by a recipe");
  add_recipe_and_data(*verb, *options);
  verb->add_option("--run", options->run, "Write the run to this folder")->required()->type_name("DIR");
  add_device(*verb, options->device);
  verb->add_option("--prefetch", options->prefetch,
                   "Read up to this number of blocks ahead, if the budget allows it; 0: none")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  const auto set_scratch = [options](const std::string& text) {
    options->scratch = text == "0" ? 0 : parse_size(text, 0);
  };
  verb->add_option_function<std::string>("--scratch", set_scratch,
                                         "Giant graphs: use at most this much disk space for spilled samples "
                                         "and blocks; 0: do not spill; default: four times the size of the "
                                         "graph's columns, at least 2 GiB and at most half of the free space")
      ->type_name("SIZE");
  add_ranks(*verb, options->ranks,
            "Train with this number of local processes, which torchrun starts; the result is the same, and "
            "--budget and --threads apply to each process");
  verb->add_option("--seeds", options->seeds,
                   "Train with this number of seeds, counting up from `seed`, if the task supports several")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option(
          "--stage", options->stages,
          "Run only this stage, using the results that earlier runs left in the folder; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  verb->add_option("--teacher", options->teacher,
                   "Use this model file as the teacher instead of training one, if the task has a teacher")
      ->type_name("FILE");
  verb->add_flag(
      "--profile", options->profile,
      "Write a Perfetto trace of three steps, or of the steps that run.profile in the recipe selects");
  add_verify(*verb, options->verify);
  CLI::Option* const resume = verb->add_flag(
      "--resume", options->resume, "Continue from the run's last checkpoint, or start if there is none");
  CLI::Option* const force =
      verb->add_flag("--force", options->force, "Replace an existing run")->excludes(resume);
  verb->add_flag(
          "--allow-other-rounding", options->allow_other_rounding,
          "Continue a run even if another kernel level or version of torch or Plimsoll rounds differently")
      ->excludes(force);
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*verb);
  verb->add_flag("--enforce", options->enforce, "Have the operating system enforce the budget too");
  options->resources.add_threads(*verb);
  verb->footer("Example: plimsoll train recipes/sgmp.yaml --data graphs --run runs/sgmp --budget 256MiB");
  verb->callback([options, run] { run(*options); });
}

// Throws UsageError if the options neither plan a run nor state the memory of another command.
void require_job(const SlurmOptions& options) {
  if (options.recipe.empty() != options.data.empty())
    throw UsageError(options.recipe.empty()
                         ? "--data needs a recipe; give the name or the file of a recipe"
                         : "RECIPE needs --data DIR, a data set that `plimsoll ingest` made");
  if (!options.recipe.empty()) return;
  if (options.command.empty())
    throw UsageError(
        "nothing to submit: give RECIPE and --data DIR to train, or a verb and its arguments after `--`");
  if (options.resources.budget_text.empty())
    throw UsageError("--budget is missing: without RECIPE nothing is planned, so state the memory that `" +
                     options.command.front() + "` needs");
}

void add_slurm(CLI::App& app, const std::function<void(const SlurmOptions&)>& run) {
  auto options = std::make_shared<SlurmOptions>();
  CLI::App* verb = app.add_subcommand(
      "slurm", "Print a SLURM job that trains the model described by a recipe, or runs another verb");
  add_recipe_and_data(*verb, *options, /*required=*/false);
  verb->add_option("--run", options->run, "Write the run to this folder")->required()->type_name("DIR");
  verb->add_option("--time-margin", options->time_margin,
                   "Multiply the estimated run time by this factor for the time limit")
      ->check(within(1, 100))
      ->capture_default_str();
  verb->add_option("--trial", options->trial,
                   "Train on this machine for this long to measure the speed; 0: do not measure, and request "
                   "a time limit of one day")
      ->check(CLI::Range(0, 3600))
      ->type_name("SECONDS")
      ->capture_default_str();
  verb->add_option("--site", options->site,
                   "Read the cluster's settings for jobs from this YAML file; default: PLIMSOLL_SITE, else "
                   "~/.config/plimsoll/site.yaml")
      ->type_name("FILE");
  verb->add_flag("--in-place", options->in_place,
                 "Have the job read the folder of --data itself instead of staging a copy");
  verb->add_flag("--submit", options->submit, "Write the job to RUN.sbatch and submit it with sbatch");
  verb->add_option("--device", options->device.device,
                   "Request a GPU for each process and run blocks on it: cuda; default: cpu")
      ->type_name("DEVICE");
  verb->add_option("--device-budget", options->device.budget,
                   "Limit the GPU memory of each process; default: what the plan needs")
      ->type_name("BYTES|SHARE%");
  add_device_model(*verb, options->device,
                   "Plan for GPUs of this model, such as v100-16, and have the job refuse other models; "
                   "docs/gpu.md lists the models");
  add_ranks(*verb, options->ranks,
            "Run this number of processes, which srun starts on one node; --budget, --threads and "
            "--device-budget apply to each process");
  verb->add_option(
          "--command", options->command,
          "Run another verb instead of training: end the command line with `-- VERB ARGS`, without --command")
      ->type_name("VERB ARGS")
      ->allow_extra_args(false);
  options->resources.add_budget(*verb);
  options->resources.add_threads(*verb);
  verb->footer(
      "Example: plimsoll slurm recipes/sgmp.yaml --data graphs --run runs/sgmp --threads 8 > sgmp.sbatch\n"
      "         plimsoll slurm sgmp --data graphs --run runs/sgmp --device cuda --device-model v100-16\n"
      "         plimsoll slurm --budget 4GiB --run graph -- ingest graph edges.csv --out graph");
  verb->callback([options, run] {
    require_job(*options);
    run(*options);
  });
}

void add_evaluate(CLI::App& app, const std::function<void(const EvaluateOptions&)>& run) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* verb =
      app.add_subcommand("evaluate", "Evaluate a trained run on every split that was not used for training");
  verb->add_option("RUN", options->run, "The folder of a run")->required();
  verb->add_option("--data", options->data, "The folder of a data set that `plimsoll ingest` made")
      ->required()
      ->type_name("DIR");
  verb->add_option("--split", options->split, "Evaluate only this split")->type_name("NAME");
  verb->add_flag(
      "--baseline", options->baseline,
      "Relational tasks: also train LightGBM, in Python, on columns computed from past events, and "
      "compare");
#ifdef PLIMSOLL_CAN
  options->of_task = add_evaluate_can(*verb);
#endif
  add_verify(*verb, options->verify);
  verb->add_flag("--json", options->json, "Print the results as JSON");
  options->resources.add_budget(*verb);
  verb->add_flag("--enforce", options->enforce, "Have the operating system enforce the budget too");
  options->resources.add_threads(*verb);
  add_device(*verb, options->device);
  add_ranks(*verb, options->ranks,
            "Run this number of local processes, which torchrun starts; --budget and --threads apply to each "
            "process");
  verb->footer("Example: plimsoll evaluate runs/sgmp --data graphs");
  verb->callback([options, run] { run(*options); });
}

void add_predict(CLI::App& app, const std::function<void(const PredictOptions&)>& run) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* verb = app.add_subcommand("predict", "Predict on unlabelled data");
  verb->add_option("RUN", options->run, "The folder of a run")->required();
  verb->add_option("--data", options->data, "The folder of a data set of the same kind as the training data")
      ->required()
      ->type_name("DIR");
  verb->add_option(
          "--out", options->out,
          "Write the predictions for each graph, node or seed to this folder as .npy columns: classes "
          "and probabilities, or values")
      ->required()
      ->type_name("DIR");
  verb->add_option("--nodes", options->nodes,
                   "Giant graphs: predict only the nodes listed in FILE, one name or ID per line, in the "
                   "order of FILE")
      ->type_name("FILE");
  verb->add_flag("--embeddings", options->embeddings, "Also write embeddings: the input of the last layer");
  verb->add_flag("--csv", options->csv, "Also write the predictions as a table, predictions.csv");
  verb->add_flag("--force", options->force, "Replace an existing output");
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*verb);
  verb->add_flag("--enforce", options->enforce, "Have the operating system enforce the budget too");
  options->resources.add_threads(*verb);
  add_device(*verb, options->device);
  add_ranks(*verb, options->ranks,
            "Run this number of local processes, which torchrun starts; --budget and --threads apply to each "
            "process");
  verb->footer("Example: plimsoll predict runs/sgmp --data graphs --out predictions");
  verb->callback([options, run] { run(*options); });
}

const char* build_id() {
  return PLIMSOLL_BUILD_ID;
}

}  // namespace plimsoll
