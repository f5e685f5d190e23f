#include "engine/blocks/shared_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/interrupt.h"
#include "io/file.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/thread_ranks.h"

namespace plimsoll {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// Each rank has its own folder, which stands for one machine's view of a shared disk.
class SharedFileTest : public testing::Test {
 protected:
  std::filesystem::path file_of(const Exchange& exchange) const {
    return folder_ / ("machine-" + std::to_string(exchange.rank())) / "file";
  }
  void write(int rank) const {
    const std::filesystem::path path = folder_ / ("machine-" + std::to_string(rank)) / "file";
    std::filesystem::create_directories(path.parent_path());
    write_text(path, "content");
  }
  std::optional<std::string> look(Exchange& exchange, milliseconds limit = kSeenWithin) const {
    const std::filesystem::path path = file_of(exchange);
    return look_on_ranks(
        &exchange, path,
        [&] { return std::filesystem::exists(path) ? std::optional(read_text(path)) : std::nullopt; }, limit);
  }

  TempFolder folder_;
};

TEST_F(SharedFileTest, OneProcessLooksOnce) {
  int looks = 0;
  const auto look = [&] {
    ++looks;
    return std::optional<int>();
  };
  EXPECT_FALSE(look_on_ranks(nullptr, "/absent", look));
  EXPECT_EQ(looks, 1);
  EXPECT_FALSE(is_there_for_ranks(nullptr, folder_ / "absent"));
}

TEST_F(SharedFileTest, ARankThatSeesAFileLateWaitsForIt) {
  write(0);
  std::jthread late([&] {
    std::this_thread::sleep_for(milliseconds(200));
    write(1);
    write(2);
  });
  std::array<std::optional<std::string>, 3> found;
  ThreadRanks(3).run(
      [&](Exchange& exchange) { found[static_cast<size_t>(exchange.rank())] = look(exchange); });
  for (const auto& content : found) EXPECT_EQ(content, "content");
}

TEST_F(SharedFileTest, NobodyWaitsForAFileThatRankZeroDoesNotHave) {
  write(1);
  std::array<bool, 2> found = {true, true};
  ThreadRanks(2).run(
      [&](Exchange& exchange) { found[static_cast<size_t>(exchange.rank())] = look(exchange).has_value(); });
  EXPECT_FALSE(found[0] || found[1]);
}

TEST_F(SharedFileTest, AFileThatIsNeverSeenIsNamedAfterTheLimit) {
  write(0);
  const std::string text = error_text<Failure>(
      [&] { ThreadRanks(2).run([&](Exchange& exchange) { look(exchange, milliseconds(100)); }); });
  EXPECT_THAT(text, HasSubstr("machine-1/file: rank 0 wrote this file"));
  EXPECT_THAT(text, HasSubstr("after 0.1 s"));
}

TEST_F(SharedFileTest, ASignalEndsTheWait) {
  interrupt_requested = true;
  EXPECT_THROW(wait_until_seen(
                   folder_ / "absent", [] { return false; }, kSeenWithin),
               Interrupted);
  interrupt_requested = false;
}

}  // namespace
}  // namespace plimsoll
