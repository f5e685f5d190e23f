#include "job/job_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/units.h"
#include "io/file.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

constexpr const char* kManifest = R"({
 "kind": "run", "budget_bytes": 209715200, "threads": 4, "weights": "abcd",
 "plan": {"peak_bytes": 167772160, "min_budget_bytes": 104857600},
 "stages": [
  {"stage": "gat", "planned_peak_bytes": 167772160, "min_budget_bytes": 104857600, "breakdown": {"optimizer": 7}}],
 "starts": [
  {"ended": "interrupted", "seconds": 100, "threads": 4, "budget_bytes": 209715200,
   "usage": {"cpu_seconds": 80, "read_bytes": 1000, "written_bytes": 10, "major_faults": 3, "slurm_job": "7"},
   "memory": {"ledger_peak_bytes": 5, "anonymous_peak_bytes": 146800640, "floor_bytes": 3, "by_tag": {"blocks": 4}}},
  {"ended": "done", "seconds": 20, "threads": 4, "budget_bytes": 209715200,
   "usage": {"cpu_seconds": 16, "read_bytes": 500, "written_bytes": 20, "major_faults": 1, "slurm_job": "7"},
   "memory": {"ledger_peak_bytes": 6, "anonymous_peak_bytes": 136314880, "floor_bytes": 2,
              "by_tag": {"blocks": 3, "cache": 9}}}]})";

constexpr const char* kJournal =
    R"({"time":1,"event":"start","training":10}
{"time":2,"event":"epoch","reruns":2,"reading":{"waited_s":1.5,"stalled_s":0.5,"bytes_read":100}}
{"time":3,"event":"interrupted","epoch":2}
{"time":4,"event":"resume"}
{"time":5,"event":"pressure"}
{"time":6,"event":"epoch","reruns":1,"reading":{"waited_s":0.5,"stalled_s":0.5,"bytes_read":50}}
{"time":7,"eve)";

class JobReport : public testing::Test {
 protected:
  void write_run(const std::string& manifest, const std::string& journal = kJournal) const {
    make_folders(folder_ / "run" / "seed-42" / "gat");
    write_text(folder_ / "run" / "manifest.json", manifest);
    write_text(folder_ / "run" / "seed-42" / "gat" / "events.jsonl", journal);
  }
  TempFolder folder_;
};

TEST_F(JobReport, AddsUpAllStarts) {
  write_run(kManifest);
  const Json report = job_report(folder_ / "run");
  EXPECT_EQ(report["state"], "done");
  EXPECT_EQ(report["starts"].size(), 2U);
  EXPECT_EQ(report["memory"]["anonymous_peak_bytes"], 146800640);
  EXPECT_EQ(report["memory"]["planned_peak_bytes"], 167772160);
  EXPECT_EQ(report["memory"]["by_tag"], Json({{"blocks", 4}, {"cache", 9}}));
  EXPECT_EQ(report["processors"]["cpu_seconds"], 96);
  EXPECT_DOUBLE_EQ(report["processors"]["utilisation"], 0.2);
  EXPECT_EQ(report["processors"]["read_bytes"], 1500);
  EXPECT_EQ(report["journal"]["reruns"], 3);
  EXPECT_EQ(report["journal"]["pressure"], 1);
  EXPECT_EQ(report["journal"]["interruptions"], 1);
  EXPECT_EQ(report["journal"]["rows"]["waited_s"], 2);
  // 0.8 of 4 processors were busy.
  EXPECT_EQ(report["next_time"]["cpus"], 2);
  EXPECT_EQ(report["next_time"]["budget_bytes"], 167772160 + kMiB);
  EXPECT_EQ(report["next_time"]["mem_mib"], 161 + 3 + 64);
  EXPECT_EQ(report["next_time"]["minutes"], 3);
  const std::string text = job_report_text(report);
  for (const char* part : {"done after 2 starts", "planned peak", "20 % of 4 busy", "--mem=228M"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(JobReport, SaysWhatAGpuWasUsedFor) {
  write_run(
      kManifest,
      R"({"time":1,"event":"start","device":{"name":"cuda:0, NVIDIA H200","budget_bytes":8589934592,"planned_peak_bytes":4294967296,"min_budget_bytes":2000000000,"measured_peak_bytes":1,"process_bytes":1000}}
{"time":2,"event":"progress","device":{"process_bytes":8000000000,"used_bytes":9000000000,"busy":0.9}}
{"time":3,"event":"epoch","epoch":1,"device_used_bytes":3000000000,"device_process_bytes":5}
{"time":3,"event":"progress","device":{"process_bytes":7000000000,"used_bytes":9000000000,"busy":0.8}}
)");
  const Json report = job_report(folder_ / "run");
  EXPECT_EQ(report["device"], Json({{"name", "cuda:0, NVIDIA H200"},
                                    {"budget_bytes", 8589934592},
                                    {"planned_peak_bytes", 4294967296},
                                    {"used_peak_bytes", 3000000000},
                                    {"min_budget_bytes", 2000000000},
                                    {"process_peak_bytes", 8000000000},
                                    {"busy", (0.9 + 0.8) / 2}}));
  const std::string text = job_report_text(report);
  for (const char* part :
       {"GPU: peak of the process (NVML)", "8,000,000,000", "cuda:0, NVIDIA H200: 85 % busy", "3,000,000,000",
        "GPU: smallest budget", " --device-budget 4294967296;"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(JobReport, WithoutNvmlItSaysWhatTheRunKnowsOfAGpu) {
  write_run(
      kManifest,
      R"({"time":1,"event":"start","device":{"name":"stand-in","budget_bytes":100,"planned_peak_bytes":90,"process_bytes":null}}
{"time":3,"event":"epoch","epoch":1,"device_used_bytes":80,"device_process_bytes":0,"device_busy":0}
)");
  const Json report = job_report(folder_ / "run");
  EXPECT_EQ(report["device"]["used_peak_bytes"], 80);
  EXPECT_TRUE(report["device"]["process_peak_bytes"].is_null());
  EXPECT_THAT(job_report_text(report),
              testing::AllOf(HasSubstr("GPU: used peak"), testing::Not(HasSubstr("NVML)")),
                             HasSubstr("stand-in: utilisation unknown, because NVML is not available")));
}

TEST_F(JobReport, WithoutAGpuThereIsNoWordOfOne) {
  write_run(kManifest, R"({"time":1,"event":"start","device":{"name":7,"budget_bytes":1,"process_bytes":null}}
{"time":3,"event":"epoch","epoch":1,"device_used_bytes":0,"device_process_bytes":0,"device_busy":0}
)");
  const Json report = job_report(folder_ / "run");
  EXPECT_TRUE(report["device"].is_null());
  EXPECT_THAT(job_report_text(report), testing::Not(HasSubstr("GPU")));
}

TEST_F(JobReport, KnowsLittleOfARunThatWasKilled) {
  write_run(R"({"kind": "run", "budget_bytes": 1048576, "threads": 2, "starts": []})");
  const Json report = job_report(folder_ / "run");
  EXPECT_EQ(report["state"], "running or killed");
  EXPECT_TRUE(report["processors"]["utilisation"].is_null());
  EXPECT_TRUE(report["next_time"]["minutes"].is_null());
  EXPECT_THAT(job_report_text(report), HasSubstr("processors: unknown"));
}

TEST_F(JobReport, OddManifestsEndNothing) {
  for (const char* odd :
       {R"({"kind":"run"})", R"({"kind":"run","starts":3,"stages":{},"memory":[],"plan":7})",
        R"({"kind":"run","starts":[3,{"memory":{"by_tag":{"a":"b"}}}],"stages":[1],"threads":"x"})"}) {
    write_run(odd);
    EXPECT_NO_THROW(job_report_text(job_report(folder_ / "run"))) << odd;
  }
}

TEST_F(JobReport, NoRunIsAnError) {
  EXPECT_THAT(error_text<InputError>([&] { job_report(folder_.path()); }), HasSubstr("not a run"));
  write_run("{}");
  EXPECT_THAT(error_text<InputError>([&] { job_report(folder_ / "run"); }),
              HasSubstr("is not the manifest of a run"));
}

}  // namespace
}  // namespace plimsoll
