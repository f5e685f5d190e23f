#include "job/slurm_script.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SlurmJob job() {
  return {.program = "/opt/bin/plimsoll",
          .recipe = "/home/me/gat.yaml",
          .data = "/data/frames",
          .run = "/home/me/runs/gat",
          .threads = 8,
          .budget = 200 * kMiB,
          .page_cache = 300 * kMiB,
          .seconds = 600};
}

TEST(SlurmScript, AsksForWhatThePlanSays) {
  const std::string script = slurm_script(job());
  for (const char* line :
       {"#!/bin/bash\n", "#SBATCH --cpus-per-task=8\n", "#SBATCH --mem=267M\n", "#SBATCH --time=00:14:00\n",
        "#SBATCH --signal=B:USR1@60\n", "#SBATCH --requeue\n", "#SBATCH --open-mode=append\n",
        "--budget 209715200 --threads 8 --resume\n", "scontrol requeue \"$SLURM_JOB_ID\"", "stage \"$set\"",
        "job-report \"$run\"", "the run holds at most 200 MiB", "300 MiB"})
    EXPECT_THAT(script, HasSubstr(line));
}

SlurmJob gpu_job() {
  SlurmJob asked = job();
  asked.device = SlurmDevice{.word = "cuda", .budget = 14 * kGiB, .model = "v100-16"};
  asked.site = {.setup = {"module load cuda/12.4.1"}, .gres = "gpu:v100"};
  asked.seconds = 0;
  return asked;
}

// The lines of a script that are neither comments nor those of its signals.
std::vector<std::string> lines_of(const std::string& script) {
  std::istringstream stream(script);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("#SBATCH") || !line.starts_with("#")) lines.push_back(line);
  return lines;
}

TEST(SlurmScript, OnAGpuLineByLine) {
  const std::vector<std::string> lines = lines_of(slurm_script(gpu_job()));
  const std::vector<std::string> head = {"#SBATCH --job-name=gat",
                                         "#SBATCH --nodes=1",
                                         "#SBATCH --ntasks=1",
                                         "#SBATCH --cpus-per-task=8",
                                         "#SBATCH --mem=267M",
                                         "#SBATCH --time=1-00:01:00",
                                         "#SBATCH --gres=gpu:v100:1",
                                         "#SBATCH --signal=B:USR1@60",
                                         "#SBATCH --requeue",
                                         "#SBATCH --open-mode=append",
                                         "#SBATCH --output=/home/me/runs/gat.slurm-%j.out",
                                         "module load cuda/12.4.1"};
  EXPECT_EQ(std::vector(lines.begin(), lines.begin() + std::ssize(head)), head);
  const auto stages = std::ranges::find(lines, "plimsoll=/opt/bin/plimsoll");
  EXPECT_THAT(
      std::vector(stages, lines.end()),
      testing::ElementsAre(
          "plimsoll=/opt/bin/plimsoll", "run=/home/me/runs/gat", "data=/data/frames",
          "export PLIMSOLL_CACHE=${PLIMSOLL_CACHE:-${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/plimsoll}",
          "for set in \"$data\"; do",
          "  in_reach \"$plimsoll\" stage \"$set\" || echo \"plimsoll: not staged; $set is read in place\"",
          "done",
          "in_reach \"$plimsoll\" train /home/me/gat.yaml --data \"$data\" --run \"$run\" --budget 209715200 "
          "--threads 8 --device cuda --device-budget 15032385536 --device-model v100-16 --resume",
          "code=$?", "if test \"$asked\" = USR1 && { test \"$code\" = 75 || test \"$code\" = 138; }; then",
          "  echo \"plimsoll: the time limit is near, or another job has precedence; job $SLURM_JOB_ID "
          "continues in "
          "a later allocation\"",
          "  scontrol requeue \"$SLURM_JOB_ID\" && exit 0", "fi",
          "test \"$code\" = 75 || \"$plimsoll\" job-report \"$run\"", "exit \"$code\""));
}

TEST(SlurmScript, RanksHaveAGpuAndTheirMemoryEach) {
  SlurmJob asked = gpu_job();
  asked.ranks = 2;
  const std::string script = slurm_script(asked);
  for (const char* line : {"#SBATCH --ntasks=2\n", "#SBATCH --cpus-per-task=8\n", "#SBATCH --mem=468M\n",
                           "#SBATCH --gres=gpu:v100:2\n", "export MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}\n",
                           "in_reach srun --ntasks=2 --cpus-per-task=8 --gpus-per-task=1 "
                           "\"$plimsoll\" train ",
                           "# Memory: each of 2 processes holds at most 200 MiB"})
    EXPECT_THAT(script, HasSubstr(line));
  asked.device.reset();
  EXPECT_THAT(slurm_script(asked),
              AllOf(HasSubstr("in_reach srun --ntasks=2 --cpus-per-task=8 \"$plimsoll\" train "),
                    Not(HasSubstr("gpu")), Not(HasSubstr("--device"))));
}

TEST(SlurmScript, MemoryOfADeviceThatIsOnTheHostIsRequested) {
  SlurmJob asked = gpu_job();
  asked.device->on_host = kGiB;
  EXPECT_THAT(slurm_script(asked), HasSubstr(fmt::format("--mem={}M\n", memory_mib(200 * kMiB + kGiB, 8))));
}

TEST(SlurmScript, AnotherVerbRunsInTheFolderWhereItWasSubmitted) {
  SlurmJob asked = gpu_job();
  asked.data.clear();
  asked.command = {"evaluate", "runs/gat", "--data", "my frames"};
  asked.folder = "/home/me";
  asked.more_data = {"/home/me/my frames", "/data/other"};
  asked.gives_resources = true;
  const std::string script = slurm_script(asked);
  EXPECT_THAT(script, HasSubstr("#SBATCH --chdir=/home/me\n"));
  EXPECT_THAT(script, HasSubstr("for set in '/home/me/my frames' /data/other; do\n"));
  EXPECT_TRUE(
      script.ends_with("in_reach \"$plimsoll\" evaluate runs/gat --data 'my frames' --budget 209715200 "
                       "--threads 8 --device cuda --device-budget 15032385536 --device-model v100-16\n"))
      << script;
  asked.command = {"ingest", "can", "captures"};
  asked.more_data.clear();
  asked.gives_resources = false;
  const std::string ingest = slurm_script(asked);
  EXPECT_TRUE(ingest.ends_with("in_reach \"$plimsoll\" ingest can captures\n")) << ingest;
  EXPECT_THAT(ingest, AllOf(Not(HasSubstr(" stage ")), Not(HasSubstr("job-report"))));
}

TEST(SlurmScript, MemoryIsTheBudgetAndWhatTheJobTakesBesideIt) {
  EXPECT_EQ(memory_mib(100 * kMiB, 1, 0),
            102);  // 1.7 MiB of the shell, the step and a thread, 0.2 of page tables.
  EXPECT_EQ(memory_mib(512 * kMiB, 8), 512 + 4 + 64);
  EXPECT_EQ(memory_mib(64 * kGiB, 8), 64 * 1024 + 128 + 3 + 64);
}

TEST(SlurmScript, TimeHasAMarginAndTheLimitOfTheSite) {
  SlurmJob asked = job();
  EXPECT_EQ(limit_minutes(asked), 14);
  asked.seconds = 0.1;
  EXPECT_EQ(limit_minutes(asked), 3);
  asked.seconds = 0;
  EXPECT_EQ(limit_minutes(asked), 24 * 60 + 1);
  asked.site.max_minutes = 240;
  EXPECT_EQ(limit_minutes(asked), 240);
  asked.site.max_minutes = 0;
  asked.seconds = 100 * 3600;
  EXPECT_THAT(slurm_script(asked), HasSubstr("#SBATCH --time=5-10:01:00\n"));
}

TEST(SlurmScript, HasTheLinesOfTheSite) {
  SlurmJob asked = job();
  asked.site = {.sbatch = {"--account=PAS2022"}, .setup = {"module load gcc"}, .scratch = "/fs/scratch/me"};
  const std::string script = slurm_script(asked);
  EXPECT_THAT(script, HasSubstr("#SBATCH --account=PAS2022\n"));
  EXPECT_LT(script.find("--account"), script.find("module load gcc"));
  EXPECT_LT(script.find("module load gcc"), script.find(" train "));
  EXPECT_THAT(script, HasSubstr("PLIMSOLL_CACHE:-/fs/scratch/me"));
  asked.stages = false;
  EXPECT_THAT(slurm_script(asked), Not(HasSubstr("PLIMSOLL_CACHE")));
}

TEST(SlurmScript, NamesOfRunsAreNotExpandedBySbatch) {
  SlurmJob asked = job();
  asked.run = "/home/me/100%x it's";
  EXPECT_THAT(slurm_script(asked),
              AllOf(HasSubstr("#SBATCH --output='/home/me/100%%x it'\\''s.slurm-%j.out'\n"),
                    HasSubstr("#SBATCH --job-name='100%x it'\\''s'\n")));
  for (const char* wrong : {"/home/me/a\\b", "/home/me/a\nb", "/home/a\\b/run"}) {
    asked.run = wrong;
    EXPECT_THAT(error_text<UsageError>([&] { slurm_script(asked); }),
                HasSubstr("has a backslash or a newline, which sbatch cannot read"));
  }
}

TEST(SlurmScript, WordsOfTheShell) {
  EXPECT_EQ(shell_word("runs/gat-1"), "runs/gat-1");
  EXPECT_EQ(shell_word("my runs"), "'my runs'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
}

// Runs the script under bash, with test programs in place of plimsoll and scontrol.
class SlurmScriptRun : public testing::Test {
 protected:
  SlurmScriptRun() {
    write("scontrol", "echo requeue $2 >> " + log());
    asked_ = job();
    asked_.program = folder_ / "plimsoll";
    asked_.run = folder_ / "a run";
  }
  std::string log() const { return (folder_ / "log").string(); }
  void write(const std::string& name, const std::string& body) const {
    const auto path = folder_ / name;
    std::ofstream(path) << "#!/bin/bash\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  // Returns the exit code. `signal` is sent to the shell alone after a moment.
  int run(const std::string& signal) const {
    return run_with(signal.empty() ? std::string() : kStarted + "kill -" + signal + " $pid; ");
  }
  // Returns the exit code. The commands know the shell as $pid.
  int run_with(const std::string& commands) const {
    write("job", slurm_script(asked_).substr(std::string("#!/bin/bash\n").size()));
    const std::string job = (folder_ / "job").string();
    const std::string command = "cd " + folder_.path().string() +
                                " && export PATH=" + folder_.path().string() +
                                ":$PATH SLURM_JOB_ID=7 PLIMSOLL_CACHE=/none && { bash " + job +
                                " >out 2>&1 & pid=$!; " + commands + "wait $pid; }";
    const int status = std::system(command.c_str());
    return WEXITSTATUS(status);
  }
  std::string logged() const {
    std::ifstream file(log());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static inline const std::string kStarted = "until test -e started; do sleep 0.02; done; ";

  TempFolder folder_;
  SlurmJob asked_;
};

// Trains until it is asked to stop, as the real program does.
constexpr const char* kTrainer = R"(
echo "$1" >> "LOG"
test "$1" = train || exit 0
trap 'echo stopped >> "LOG"; exit 75' USR1 TERM
touch started
for i in $(seq 500); do sleep 0.02; done
)";

std::string trainer(const std::string& log) {
  std::string body = kTrainer;
  for (size_t at = body.find("LOG"); at != std::string::npos; at = body.find("LOG")) body.replace(at, 3, log);
  return body;
}

TEST_F(SlurmScriptRun, StagesTrainsAndReports) {
  write("plimsoll", "echo \"$1\" >> " + log());
  EXPECT_EQ(run(""), 0);
  EXPECT_EQ(logged(), "stage\ntrain\njob-report\n");
}

TEST_F(SlurmScriptRun, AnErrorIsTheJobsExitCode) {
  write("plimsoll", "echo \"$1\" >> " + log() + "; test \"$1\" = train && exit 3; exit 0");
  EXPECT_EQ(run(""), 3);
  EXPECT_EQ(logged(), "stage\ntrain\njob-report\n");
}

TEST_F(SlurmScriptRun, TheTimeLimitRequeues) {
  write("plimsoll", trainer(log()));
  EXPECT_EQ(run("USR1"), 0);
  EXPECT_EQ(logged(), "stage\ntrain\nstopped\nrequeue 7\n");
}

TEST_F(SlurmScriptRun, TermStopsInOrderAndLeavesTheQueueToSlurm) {
  write("plimsoll", trainer(log()));
  EXPECT_EQ(run("TERM"), 75);
  EXPECT_EQ(logged(), "stage\ntrain\nstopped\n");
}

// The trainer needs some time to stop. A second signal would end the real one at once.
TEST_F(SlurmScriptRun, OnlyTheFirstSignalIsPassedOn) {
  write("plimsoll", "test \"$1\" = train || exit 0; got=; for s in USR1 TERM; do trap \"got=1; echo $s >> " +
                        log() +
                        "\" $s; done; touch started; "
                        "until test -e enough && test -n \"$got\"; do sleep 0.02; done; exit 75");
  EXPECT_EQ(run_with(kStarted + "kill -USR1 $pid; sleep 0.1; kill -TERM $pid; sleep 0.2; touch enough; "), 0);
  EXPECT_EQ(logged(), "USR1\nrequeue 7\n");
}

// The shell sleeps before each command, also before it has recorded what it started.
TEST_F(SlurmScriptRun, ASignalBeforeTheShellKnowsItsChildIsPassedOn) {
  asked_.stages = false;
  asked_.site.setup = {"set -T", "trap 'sleep 0.2' DEBUG"};
  write("plimsoll", trainer(log()));
  EXPECT_EQ(run("TERM"), 75);
  EXPECT_EQ(logged(), "train\nstopped\n");
}

TEST_F(SlurmScriptRun, ASignalWhileItStagesStartsNoTraining) {
  write("plimsoll", "echo \"$1\" >> " + log() +
                        "; trap 'exit 138' USR1; touch started; for i in $(seq 500); do sleep 0.02; done");
  EXPECT_EQ(run("USR1"), 0);
  EXPECT_EQ(logged(), "stage\nrequeue 7\n");
}

}  // namespace
}  // namespace plimsoll
