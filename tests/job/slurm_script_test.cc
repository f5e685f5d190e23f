#include "job/slurm_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

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
        "--budget 209715200 --threads 8 --resume\n", "scontrol requeue \"$SLURM_JOB_ID\"", "stage \"$data\"",
        "job-report \"$run\"", "the run holds at most 200 MiB", "300 MiB"})
    EXPECT_THAT(script, HasSubstr(line));
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
