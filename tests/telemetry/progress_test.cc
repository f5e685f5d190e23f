#include "telemetry/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

/// Redirects stderr until the scope ends.
class StderrTo {
 public:
  explicit StderrTo(int descriptor) : before_(::dup(STDERR_FILENO)) { ::dup2(descriptor, STDERR_FILENO); }
  ~StderrTo() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  StderrTo(const StderrTo&) = delete;
  StderrTo& operator=(const StderrTo&) = delete;

 private:
  int before_;
};

TEST(Progress, PrintsNothingWhereStderrIsNoTerminalAndTheTimeIsShort) {
  const TempFolder folder;
  const int file = ::open((folder / "stderr").c_str(), O_RDWR | O_CREAT, 0600);
  {
    const StderrTo redirected(file);
    Progress progress("train", "graphs");
    for (int i = 0; i < 300; ++i) {
      progress.update(i, 300, "loss=0.1");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ::close(file);
  EXPECT_EQ(read_bytes(folder / "stderr"), "");
}

TEST(Progress, DrawsABarOnATerminalAFewTimesASecondAndWipesIt) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0)
    GTEST_SKIP() << "this system gives no pseudo-terminal";
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(other_end, 0);
  {
    const StderrTo redirected(other_end);
    Progress progress("ingest", "", Progress::Unit::bytes);
    for (int i = 0; i < 50; ++i) {
      progress.update(512 * 1024, 1024 * 1024, "loss=0.1");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ::fcntl(terminal, F_SETFL, O_NONBLOCK);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  ::close(other_end);
  ::close(terminal);

  EXPECT_THAT(text, HasSubstr("ingest  50%|##########          | 512 KiB/1 MiB ["));
  EXPECT_THAT(text, HasSubstr(", loss=0.1]"));
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << "the line is wiped at the end";
  int drawn = 0;
  for (size_t at = text.find("ingest"); at != std::string::npos; at = text.find("ingest", at + 1)) ++drawn;
  EXPECT_GE(drawn, 1);
  EXPECT_LE(drawn, 5);
}

TEST(Progress, ShowsNoShareOfAnUnknownTotal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0)
    GTEST_SKIP() << "this system gives no pseudo-terminal";
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(other_end, 0);
  {
    const StderrTo redirected(other_end);
    Progress progress("ingest", "rows");
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    progress.update(1200, 0);
  }
  char buffer[4096];
  const ssize_t got = ::read(terminal, buffer, sizeof(buffer));
  ::close(other_end);
  ::close(terminal);
  const std::string text(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  EXPECT_THAT(text, HasSubstr("ingest 1,200 rows [00:00, "));
}

// The work continues, and the destructor does not end the process.
TEST(Progress, ATerminalThatIsGoneEndsNothing) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0)
    GTEST_SKIP() << "this system gives no pseudo-terminal";
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(other_end, 0);
  {
    const StderrTo redirected(other_end);
    Progress progress("train", "graphs");
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    progress.update(1, 3, "");  // Draws a line.
    ::close(terminal);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    EXPECT_NO_THROW(progress.update(2, 3, ""));
  }
  ::close(other_end);
}

}  // namespace
}  // namespace plimsoll
