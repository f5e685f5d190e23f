#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "can/capture/capture_format.h"
#include "cli/can/can_verbs.h"
#include "cli/can/capture_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "io/file.h"
#include "io/new_folder.h"
#include "io/replaceable.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// The default recipe: the small published student on behaviour features, for one vehicle.
constexpr const char* kDetectorRecipe =
    R"(# A detector for one vehicle, trained on its benign traffic with injected attacks.
seed: 42
task: detection
data:
  features: behaviour
  window: 100
  stride: 100
  # One drive does not show how much these features vary.
  without: [known_transition, fixed_bits, jumps, counter_broken, length_unusual, still, byte_deviation_0, byte_deviation_1,
            byte_deviation_2, byte_deviation_3, byte_deviation_4, byte_deviation_5, byte_deviation_6, byte_deviation_7]
training:
  max_epochs: 20
  patience: 5
  batch_size: 128
gat: {preset: small, id_dropout: 0.5, learning_rate: 0.002}
)";
constexpr int kBadInput = 3;  // Exit code of InputError.
constexpr const char* kDetectorAttacks = "DoS,fuzzing,spoofing,replay,suppression,injection,flooding";

struct DetectorVerbOptions {
  std::vector<std::string> captures;
  fs::path out;
  fs::path work;
  fs::path recipe;
  std::vector<std::string> overrides;
  std::string attacks = kDetectorAttacks;
  FormatOptions format;
  TableOptions table;
  Resources resources;
  bool force = false;
};

// Runs verbs of this program one after the other, as if a user had typed them.
class Steps {
 public:
  Steps() : program_(fs::read_symlink("/proc/self/exe").string()), stop_(catch_interrupts()) {}

  // Runs a verb. Its standard output is written to the file `output`; empty: to stderr. Errors: Error with
  // the exit code of the failed verb; Stopped if a signal to this process ended the verb; Failure.
  void run(std::vector<std::string> words, const fs::path& output = {}) {
    throw_if_stopped();
    std::string line = "plimsoll";
    for (const std::string& word : words) line += " " + word;
    fmt::print(stderr, "== {}\n", line);
    words.insert(words.begin(), program_);
    const int status = wait_for(start(words, output));
    if (WIFSIGNALED(status)) {
      throw_if_stopped();
      throw Failure(fmt::format("`{}` was killed by signal {} ({})", line, WTERMSIG(status),
                                ::strsignal(WTERMSIG(status))));
    }
    const int code = WEXITSTATUS(status);
    if (code == 0) return;
    throw Error(code, fmt::format("`{}` ended with exit code {}{}", line, code,
                                  code == 75 ? "; run the same command again to continue" : ""));
  }

 private:
  // Starts the verb in its own process group, so that it receives the signals to this process only once. If
  // this process ends for any reason, the verb receives SIGTERM.
  pid_t start(std::vector<std::string>& words, const fs::path& output) const {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw Failure(fmt::format("{} cannot be started: {}", program_, std::strerror(errno)));
    if (child > 0) return child;
    ::setpgid(0, 0);
    // A terminal may stop a process that writes to it from another process group.
    std::signal(SIGTTOU, SIG_IGN);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    std::signal(SIGTERM, SIG_DFL);
    // The parent may have stopped or ended before the lines above.
    if (stop_ || ::getppid() != parent) std::raise(SIGTERM);
    const int file = output.empty() ? STDERR_FILENO
                                    : ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file >= 0) ::dup2(file, STDOUT_FILENO);  // The stdout of this process is for its own result.
    if (file >= 0) ::execv(program_.c_str(), arguments.data());
    fmt::print(stderr, "plimsoll: {} cannot be started: {}\n", program_, std::strerror(errno));
    ::_exit(1);
  }

  // Forwards signals that this process receives to the running verb.
  int wait_for(pid_t child) const {
    for (bool is_forwarded = false;;) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) == child) return status;
      if (!is_forwarded && stop_) is_forwarded = ::kill(child, SIGTERM) == 0 && ::kill(child, SIGCONT) == 0;
      constexpr timespec kPause{0, 20'000'000};
      ::nanosleep(&kPause, nullptr);
    }
  }

  std::string program_;
  const std::atomic<bool>& stop_;
};

// Describes the detector's results on the windows that were not used for training.
std::string summary_of(const fs::path& evaluation) {
  const Json json = parse_json(read_text(evaluation));
  const Json* strictest = nullptr;
  for (const Json& model : json.at("splits").at(0).at("models")) {
    const bool is_deployed = strictest == nullptr || model.at("name") == "fused";
    if (is_deployed && (strictest == nullptr || strictest->at("name") != model.at("name") ||
                        model.at("target_fpr") < strictest->at("target_fpr")))
      strictest = &model;
  }
  if (strictest == nullptr) return "";
  const auto percent = [&](const char* metric) {
    const Json& value = strictest->at(metric);
    return value.is_number() ? fmt::format("{:.2f} %", 100 * value.get<double>()) : "- %";
  };
  const Json& hourly = strictest->at("false_alarms_per_hour");
  return fmt::format(
      "on the last fifth of the traffic, it detects {} of the windows with injected attacks and raises false "
      "alarms in {} of the other windows{}",
      percent("recall"), percent("fpr"),
      hourly.is_number() ? fmt::format(", or {:.3g} per hour", hourly.get<double>()) : "");
}

using Words = std::vector<std::string>;

// Returns the recipe to train: the given one, or the default recipe, which is written to the work folder.
fs::path recipe_of(const DetectorVerbOptions& options) {
  if (!options.recipe.empty()) return options.recipe;
  fs::path recipe = options.work / "recipe.yaml";
  if (!options.force && fs::exists(recipe) && read_text(recipe) != kDetectorRecipe)
    throw Failure(fmt::format(
        "{} differs from the recipe that this verb writes; pass it with --recipe, or choose another --work",
        recipe.string()));
  write_text(recipe, kDetectorRecipe);
  return recipe;
}

// Returns the arguments that ingest the captures into `benign`.
Words ingest_words(const DetectorVerbOptions& options, const fs::path& benign) {
  Words ingest = {"ingest", "can"};
  ingest.insert(ingest.end(), options.captures.begin(), options.captures.end());
  // Without --split train, folder names may become splits.
  for (const char* word :
       {"--out", benign.c_str(), "--benign", "--split", "train", "--format", options.format.name.c_str()})
    ingest.emplace_back(word);
  if (options.format.payload != kChosenPayload)
    ingest.insert(ingest.end(), {"--payload", std::to_string(options.format.payload)});
  if (!options.format.channel.empty()) ingest.insert(ingest.end(), {"--channel", options.format.channel});
  for (const auto& [channel, name] : options.format.channel_names)
    ingest.insert(ingest.end(), {"--name-channel", channel + "=" + name});
  if (options.format.merge_channels) ingest.emplace_back("--merge-channels");
  if (options.format.refuse_truncated) ingest.insert(ingest.end(), {"--truncated", "fail"});
  for (std::string& word : options.table.as_words(options.format)) ingest.push_back(std::move(word));
  return ingest;
}

void run(DetectorVerbOptions& options) {
  options.table.settle(options.format);
  std::vector<fs::path> sources(options.captures.begin(), options.captures.end());
  sources.emplace_back(options.recipe);
  require_no_source(options.out, sources);
  if (!options.force && fs::exists(options.out))
    throw Failure(options.out.string() + " already exists; give --force to replace it");
  if (options.work.empty()) options.work = options.out.string() + ".work";
  const fs::path benign = options.work / "benign", frames = options.work / "frames",
                 run = options.work / "run";
  make_folders(options.work);
  const fs::path recipe = recipe_of(options);
  const Words budget =
      options.resources.budget_text.empty() ? Words() : Words{"--budget", options.resources.budget_text};
  const Words threads = options.resources.threads == 0
                            ? Words()
                            : Words{"--threads", std::to_string(options.resources.threads)};
  const Words force = options.force ? Words{"--force"} : Words();
  const auto with = [](Words words, std::initializer_list<Words> more) {
    for (const Words& some : more) words.insert(words.end(), some.begin(), some.end());
    return words;
  };

  Steps steps;
  steps.run(with(ingest_words(options, benign), {budget, threads, force}));
  try {
    steps.run(with({"simulate", "can", "--inject", benign.string(), "--out", frames.string(), "--keep",
                    "--label-silence", "--target", "periodic", "--attacks", options.attacks},
                   {budget, force}));
  } catch (const Error& error) {
    if (error.exit_code() != kBadInput) throw;
    throw InputError(
        fmt::format("{}: attacks cannot be injected into this traffic, for the reason above; expected a "
                    "drive of several minutes in which IDs are sent at regular intervals",
                    fmt::join(options.captures, " ")));
  }
  Words train = {"train", recipe.string(), "--data", frames.string(), "--run", run.string()};
  for (const std::string& override : options.overrides) train.insert(train.end(), {"-O", override});
  steps.run(with(train, {budget, threads, options.force ? force : Words{"--resume"}}));
  const fs::path evaluation = options.work / "validation.json";
  steps.run(with({"evaluate", run.string(), "--data", frames.string(), "--split", "validation", "--json"},
                 {budget, threads}),
            evaluation);

  const std::string model = read_text(run / "detector.safetensors");
  replace_file(options.out, [&](File& file) { file.write(model.data(), model.size()); });
  if (const std::string summary = summary_of(evaluation); !summary.empty())
    fmt::print("{}: {}; all metrics: {}\n", options.out.string(), summary, evaluation.string());
  fmt::print("{}: the vehicle's detector; next: plimsoll detect {} CAPTURE\n", options.out.string(),
             options.out.string());
}

}  // namespace

void add_detector(CLI::App& app) {
  auto options = std::make_shared<DetectorVerbOptions>();
  CLI::App* verb = app.add_subcommand(
      "detector", "Train an attack detector for a vehicle from its unlabelled benign traffic");
  verb->add_option("CAPTURE", options->captures, "Benign captures, in any format that `ingest can` reads")
      ->required();
  verb->add_option("--out", options->out, "Write the detector to this file")->required()->type_name("MODEL");
  verb->add_option("--work", options->work,
                   "Keep intermediate data sets and the run in this folder; default: MODEL.work")
      ->type_name("DIR");
  verb->add_option("--recipe", options->recipe, "Train with this recipe; default: a built-in one")
      ->type_name("RECIPE");
  verb->add_option("-O,--override", options->overrides, "Override a key of the recipe")
      ->type_name("KEY=VALUE");
  verb->add_option("--attacks", options->attacks,
                   "Inject these attacks, separated by commas, into the traffic for training")
      ->type_name("LIST")
      ->capture_default_str();
  options->table.add(*verb, options->format);
  add_merge_channels(*verb, options->format);
  verb->add_flag("--force", options->force, "Replace an existing output and the contents of --work");
  options->resources.add_budget(*verb);
  options->resources.add_threads(*verb);
  verb->footer("Example: plimsoll detector drive.log --out car.safetensors");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
