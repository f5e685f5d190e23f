#include "telemetry/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

std::vector<Json> lines_of(const std::filesystem::path& path) {
  std::vector<Json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

class JournalTest : public testing::Test {
 protected:
  TempFolder folder_;
  std::filesystem::path path_ = folder_ / "events.jsonl";
};

TEST_F(JournalTest, EachEventIsALineOfJsonWithTimeNameAndFields) {
  using Clock = std::chrono::system_clock;
  const double before = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  Journal journal(path_);
  journal.write("epoch", {{"epoch", 3}, {"loss", 0.25}, {"note", "two\nlines \"quoted\""}});
  journal.write("end", Json::object());
  const double after = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();

  const std::vector<Json> lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["event"], "epoch");
  EXPECT_EQ(lines[0]["epoch"], 3);
  EXPECT_EQ(lines[0]["loss"], 0.25);
  EXPECT_EQ(lines[0]["note"], "two\nlines \"quoted\"");
  EXPECT_GE(lines[0]["time"].get<double>(), before - 1e-3);
  EXPECT_LE(lines[1]["time"].get<double>(), after + 1e-3);
  EXPECT_LE(lines[0]["time"].get<double>(), lines[1]["time"].get<double>());
}

TEST_F(JournalTest, AnEventIsThereAsSoonAsItIsWritten) {
  Journal journal(path_);
  for (size_t i = 1; i <= 3; ++i) {
    journal.write("step", {{"i", i}});
    EXPECT_EQ(lines_of(path_).size(), i);
  }
}

TEST_F(JournalTest, AnEventMayHaveNoFields) {
  Journal(path_).write("start", {});
  ASSERT_EQ(lines_of(path_).size(), 1U);
  EXPECT_EQ(lines_of(path_)[0]["event"], "start");
}

TEST_F(JournalTest, WhatIsNotFiniteIsNullAndTextThatIsNotUtf8StillALine) {
  Journal journal(path_);
  journal.write("epoch", {{"loss", NAN}, {"file", "caf\xe9.csv"}});
  ASSERT_EQ(lines_of(path_).size(), 1U);
  EXPECT_TRUE(lines_of(path_)[0]["loss"].is_null());
}

TEST_F(JournalTest, ASecondRunAddsToTheFirst) {
  Journal(path_).write("first", Json::object());
  Journal(path_).write("second", Json::object());
  ASSERT_EQ(lines_of(path_).size(), 2U);
  EXPECT_EQ(lines_of(path_)[1]["event"], "second");
}

TEST_F(JournalTest, ALineThatAKilledProcessBeganIsTakenAway) {
  const std::string whole = "{\"event\":\"first\"}\n";
  for (const size_t torn : {1, 20, 5000, 10'000})
    for (const bool zeros : {false, true}) {
      std::ofstream(path_, std::ios::trunc) << whole << std::string(torn, zeros ? '\0' : '{');
      Journal(path_).write("second", {});
      ASSERT_EQ(lines_of(path_).size(), 2U) << torn;
      EXPECT_EQ(lines_of(path_)[0]["event"], "first");
      EXPECT_EQ(lines_of(path_)[1]["event"], "second");
    }
  std::ofstream(path_, std::ios::trunc) << "{\"event\":";
  Journal(path_).write("only", {});
  ASSERT_EQ(lines_of(path_).size(), 1U);
  EXPECT_EQ(lines_of(path_)[0]["event"], "only");
}

// A file over its size limit fails as on a full disk: half a line is written, and nothing after it.
TEST_F(JournalTest, AFullDiskIsToldOnceAndLaterEventsAreTriedAgain) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  Journal journal(path_);
  // The limit applies to stderr's file as well.
  journal.write("first", {{"note", std::string(4096, 'n')}});
  const rlimit full{std::filesystem::file_size(path_) + 30, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  testing::internal::CaptureStderr();
  journal.write("lost", {});
  journal.write("lost too", {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  journal.write("second", {});
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told,
              testing::HasSubstr("events are missing from the journal: cannot write " + path_.string()));
  EXPECT_EQ(std::ranges::count(told, '\n'), 1);
  ASSERT_EQ(lines_of(path_).size(), 2U);
  EXPECT_EQ(lines_of(path_)[1]["event"], "second");
}

TEST_F(JournalTest, AFileThatCannotBeOpenedIsAFailure) {
  EXPECT_THROW(Journal(folder_ / "no_folder" / "events.jsonl"), Failure);
}

}  // namespace
}  // namespace plimsoll
