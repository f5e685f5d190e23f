#include "config/site.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Site, ReadsAllKeys) {
  const Site site = parse_site(
      "sbatch: [--account=PAS2022, --partition=gpu]\n"
      "setup: |\n  module load cuda/12.4.1\n  . env/bin/activate\n"
      "scratch: $TMPDIR/cache\n"
      "gres: gpu:v100\n"
      "max_time: 04:00:00\n",
      "site.yaml");
  EXPECT_THAT(site.sbatch, ElementsAre("--account=PAS2022", "--partition=gpu"));
  EXPECT_THAT(site.setup, ElementsAre("module load cuda/12.4.1", ". env/bin/activate"));
  EXPECT_EQ(site.scratch, "$TMPDIR/cache");
  EXPECT_EQ(site.gres, "gpu:v100");
  EXPECT_EQ(site.max_minutes, 240);
}

TEST(Site, NothingIsASite) {
  EXPECT_TRUE(parse_site("", "site.yaml").sbatch.empty());
  EXPECT_TRUE(parse_site("setup:\n", "site.yaml").setup.empty());
  EXPECT_EQ(parse_site("", "site.yaml").gres, "gpu");
}

TEST(Site, MistakesAreNamedWithTheirPlace) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_site(text, "site.yaml");
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(error_of("setup: x\nacount: y\n"), HasSubstr("site.yaml:2:1: unknown key 'acount'"));
  EXPECT_THAT(error_of("sbatch: [account]\n"), HasSubstr("'account' is not an option of sbatch"));
  EXPECT_THAT(error_of("sbatch: {a: b}\n"), HasSubstr("must be a text or a list"));
  EXPECT_THAT(error_of("max_time: soon\n"), HasSubstr("max_time is 'soon'"));
  for (const char* time : {"1", "00:01:00", "0:30"})
    EXPECT_THAT(
        error_of(fmt::format("max_time: \"{}\"\n", time)),
        HasSubstr(fmt::format("site.yaml:1:11: max_time is '{}', expected at least 2 minutes", time)));
  for (const char* option : {"--time=1", "--time 00:01:00", "-t 1", "-t1"})
    EXPECT_THAT(error_of(fmt::format("sbatch: [--account=a, {}]\n", option)),
                HasSubstr("--time of sbatch is '"))
        << option;
  EXPECT_EQ(error_of("sbatch: [--time=2, --tres-per-task=1, -t 1-0]\nmax_time: 2\n"), "");
  EXPECT_THAT(error_of("scratch: [a, b]\n"), HasSubstr("one line"));
  for (const char* gres : {"gpu:2", "gpu:v100:2", "gpu:v100:x", "gres=gpu", "\"\"", ":v100"})
    EXPECT_THAT(error_of(fmt::format("gres: {}\n", gres)),
                HasSubstr("without a count, such as gpu or gpu:v100"))
        << gres;
  EXPECT_THAT(error_of("a: [b\n"), HasSubstr("not YAML"));
  EXPECT_THAT(error_of("- a\n"), HasSubstr("expected keys"));
}

TEST(Site, TimesAreThoseOfSbatch) {
  EXPECT_EQ(minutes_of("90"), 90);
  EXPECT_EQ(minutes_of("10:30"), 11);
  EXPECT_EQ(minutes_of("04:00:00"), 240);
  EXPECT_EQ(minutes_of("1-0"), 1440);
  EXPECT_EQ(minutes_of("2-12:30:01"), 2 * 1440 + 12 * 60 + 31);
  for (const char* wrong : {"", "x", "1:2:3:4", "-1", "1-", "1--2", "99999999999", "1:2-3"})
    EXPECT_EQ(minutes_of(wrong), 0) << wrong;
}

}  // namespace
}  // namespace plimsoll
