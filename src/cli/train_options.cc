#include "cli/train_options.h"

#include "cli/number_checks.h"

namespace plimsoll {
namespace {

void add_ranks(CLI::App& verb, int& ranks, const char* text) {
  verb.add_option("--ranks", ranks, text)->check(CLI::Range(1, 64))->capture_default_str();
}

void add_verify(CLI::App& verb, std::string& verify) {
  verb.add_option("--verify", verify,
                  "Checksums of the data set to check: auto, all of a set up to 1 GiB and those of columns "
                  "that are no longer as the run found them; full, all")
      ->check(CLI::IsMember({"auto", "full"}))
      ->capture_default_str();
}

void add_device(CLI::App& verb, DeviceOptions& options) {
  verb.add_option("--device", options.device,
                  "Run blocks on this device: cpu, cuda, cuda:N, or auto, a GPU where there is one")
      ->type_name("DEVICE")
      ->capture_default_str();
  verb.add_option("--device-budget", options.budget,
                  "The memory of a GPU that may be used; default: all that is free of it")
      ->type_name("BYTES|SHARE%");
}

// What is trained, on what.
template <typename Options>
void add_recipe_and_data(CLI::App& verb, Options& options) {
  verb.add_option("RECIPE", options.recipe, "A recipe in YAML; docs/recipe.md lists its keys")->required();
  verb.add_option("--data", options.data, "A data set of frames, or a graph_set")
      ->required()
      ->type_name("DIR");
  verb.add_option("-O", options.overrides, "Override a key of the recipe")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

void add_plan(CLI::App& app, const std::function<void(const PlanOptions&)>& run) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* verb = app.add_subcommand("plan", "Say which memory a training run needs, without running it");
  add_recipe_and_data(*verb, *options);
  verb->add_option(
          "--mode", options->mode,
          "How the need is found: measured runs a few small blocks and one large one, trial the worst "
          "of each kind, static none; default: memory.estimation of the recipe")
      ->check(CLI::IsMember({"static", "measured", "trial"}));
  verb->add_option("--prefetch", options->prefetch, "Blocks to read ahead, as for train")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  CLI::Option* const profile =
      verb->add_flag("--profile", options->profile,
                     "Which module of the model holds what at the peak, and what would shrink it");
  CLI::Option* const snapshot =
      verb->add_option("--snapshot", options->snapshot,
                       "Write the worst block's allocations as a snapshot that pytorch.org/memory_viz opens");
  snapshot->type_name("FILE");
  add_ranks(*verb, options->ranks, "Plan one of so many ranks, as for train");
  verb->add_flag("--json", options->json, "The plan as JSON");
  options->resources.add_budget(*verb);
  verb->add_option(
          "--device", options->device.device,
          "Plan for this device: cpu, cuda, cuda:N, or auto, a GPU where there is one; of a GPU that "
          "is not here --device-budget says how large it is")
      ->type_name("DEVICE")
      ->capture_default_str();
  CLI::Option* const on_device =
      verb->add_option("--device-budget", options->device.budget,
                       "The memory of a GPU that the run may use; default: all of it")
          ->type_name("BYTES|SHARE%");
  CLI::Option* const table = verb->add_option(
      "--table", options->table,
      "In place of one plan: which hidden channels and layers fit each of these budgets, and how fast");
  table->delimiter(',')->type_name("BYTES,...")->excludes("--budget")->excludes(on_device);
  table->excludes(profile)->excludes(snapshot);
  options->resources.add_threads(*verb);
  verb->footer("Example: plimsoll plan recipes/gat.yaml --data frames --budget 256MiB");
  verb->callback([options, run] { run(*options); });
}

void add_train(CLI::App& app, const std::function<void(const TrainOptions&)>& run) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* verb = app.add_subcommand("train", "Train what a recipe says");
  add_recipe_and_data(*verb, *options);
  verb->add_option("--run", options->run, "The folder to put the run in")->required()->type_name("DIR");
  add_device(*verb, options->device);
  verb->add_option("--prefetch", options->prefetch,
                   "Blocks to read ahead, as far as the budget allows; 0: none")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  verb->add_option(
          "--scratch", options->scratch,
          "Of one giant graph: how much files in the run's folder in which samples and coming blocks wait "
          "may take of the disk, 0 for none; default: four times the graph's columns, 2 GiB or more, up to "
          "half of what is free")
      ->type_name("SIZE");
  add_ranks(
      *verb, options->ranks,
      "Train in so many processes of this machine together (started by torchrun), with the same result; "
      "--budget and --threads are for each of them");
  verb->add_option("--seeds", options->seeds,
                   "Of task distillation: how often all is trained, each time with the next seed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--stage", options->stages,
                   "Run this stage alone, with what earlier runs left in the folder; may be given again")
      ->type_name("NAME")
      ->allow_extra_args(false);
  verb->add_option("--teacher", options->teacher,
                   "Of task distillation: a detector that takes the place of the teacher of its kind")
      ->type_name("FILE");
  verb->add_flag("--profile", options->profile,
                 "Trace three steps for Perfetto, unless run.profile of the recipe says which");
  add_verify(*verb, options->verify);
  CLI::Option* const resume = verb->add_flag("--resume", options->resume,
                                             "Go on from the run's last checkpoint; start if there is none");
  CLI::Option* const force =
      verb->add_flag("--force", options->force, "Replace an existing run")->excludes(resume);
  verb->add_flag(
          "--allow-other-rounding", options->allow_other_rounding,
          "Go on with a run that another level of kernels, torch or version of Plimsoll has rounded in "
          "another way")
      ->excludes(force);
  verb->add_flag("--json", options->json, "The summary as JSON");
  options->resources.add_budget(*verb);
  verb->add_flag("--enforce", options->enforce, "Have the kernel hold the process to the budget, too");
  options->resources.add_threads(*verb);
  verb->footer("Example: plimsoll train recipes/gat.yaml --data frames --run runs/gat --budget 256MiB");
  verb->callback([options, run] { run(*options); });
}

void add_slurm(CLI::App& app, const std::function<void(const SlurmOptions&)>& run) {
  auto options = std::make_shared<SlurmOptions>();
  CLI::App* verb = app.add_subcommand("slurm", "Print a job for SLURM that trains what a recipe says");
  add_recipe_and_data(*verb, *options);
  verb->add_option("--run", options->run, "The folder to put the run in")->required()->type_name("DIR");
  verb->add_option("--time-margin", options->time_margin,
                   "The time limit is this many times what the run takes")
      ->check(within(1, 100))
      ->capture_default_str();
  verb->add_option("--trial", options->trial,
                   "How long to train here to find how fast the run goes; 0: not at all, the limit is a day")
      ->check(CLI::Range(0, 3600))
      ->type_name("SECONDS")
      ->capture_default_str();
  verb->add_option("--site", options->site,
                   "What the cluster wants in each job, in YAML; default: PLIMSOLL_SITE, else "
                   "~/.config/plimsoll/site.yaml")
      ->type_name("FILE");
  verb->add_flag("--in-place", options->in_place, "The job reads DIR itself and stages nothing");
  verb->add_flag("--submit", options->submit, "Write the job to RUN.sbatch and give it to sbatch");
  options->resources.add_budget(*verb);
  options->resources.add_threads(*verb);
  verb->footer(
      "Example: plimsoll slurm recipes/gat.yaml --data frames --run runs/gat --threads 8 > gat.sbatch");
  verb->callback([options, run] { run(*options); });
}

void add_evaluate(CLI::App& app, const std::function<void(const EvaluateOptions&)>& run) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* verb = app.add_subcommand("evaluate", "Judge a trained run on every split that did not train");
  verb->add_option("RUN", options->run, "The folder of a run")->required();
  verb->add_option("--data", options->data, "A data set of frames, or a graph_set")
      ->required()
      ->type_name("DIR");
  verb->add_option("--split", options->split, "Judge this split alone")->type_name("NAME");
  verb->add_option("--compare", options->compare,
                   "Show figures of others beside ours; docs/published has some")
      ->type_name("FILE");
  verb->add_option("--scores", options->scores, "Write the score of every window, as CSV")->type_name("FILE");
  verb->add_option("--attention", options->attention,
                   "Write IDs, edges and attention by layer and head of every window to this folder")
      ->type_name("DIR");
  verb->add_option("--calibrate", options->calibrate,
                   "Compare each recording with its own first N benign windows, at most a third of them, "
                   "which are not judged. 0: none; default: data.calibration of the recipe")
      ->check(at_least(0))
      ->type_name("WINDOWS");
  verb->add_flag("--ablation", options->ablation,
                 "With calibration: judge the fused score without each of its parts, too");
  add_verify(*verb, options->verify);
  verb->add_flag("--json", options->json, "The verdicts as JSON");
  options->resources.add_budget(*verb);
  verb->add_flag("--enforce", options->enforce, "Have the kernel hold the process to the budget, too");
  options->resources.add_threads(*verb);
  add_device(*verb, options->device);
  add_ranks(*verb, options->ranks, "Share the work among so many processes of this machine");
  verb->footer("Example: plimsoll evaluate runs/gat --data frames");
  verb->callback([options, run] { run(*options); });
}

void add_predict(CLI::App& app, const std::function<void(const PredictOptions&)>& run) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* verb = app.add_subcommand("predict", "Ask a trained run about data that nobody has labelled");
  verb->add_option("RUN", options->run, "The folder of a run")->required();
  verb->add_option("--data", options->data, "A data set of the kind that trained")
      ->required()
      ->type_name("DIR");
  verb->add_option("--out", options->out,
                   "The folder for what it says of each graph, window or node: classes and probabilities, or "
                   "values, as .npy columns")
      ->required()
      ->type_name("DIR");
  verb->add_flag("--embeddings", options->embeddings, "What the last layer reads, too");
  verb->add_flag("--csv", options->csv, "A table predictions.csv in the folder, too");
  verb->add_flag("--force", options->force, "Replace an output that exists");
  verb->add_flag("--json", options->json, "The summary as JSON");
  options->resources.add_budget(*verb);
  verb->add_flag("--enforce", options->enforce, "Have the kernel hold the process to the budget, too");
  options->resources.add_threads(*verb);
  add_device(*verb, options->device);
  add_ranks(*verb, options->ranks, "Share the work among so many processes of this machine");
  verb->footer("Example: plimsoll predict runs/gat --data frames --out predictions");
  verb->callback([options, run] { run(*options); });
}

const char* build_id() {
  return PLIMSOLL_BUILD_ID;
}

}  // namespace plimsoll
