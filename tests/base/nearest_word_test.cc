#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(NearestWord, ALetterMoreLessOtherOrTwoThatChangedPlacesIsOneError) {
  const std::vector<std::string> words = {"plan", "train", "slurm"};
  for (const char* word : {"train", "trains", "trai", "trein", "trian"})
    EXPECT_EQ(nearest_word(word, words, 1), "train") << word;
  EXPECT_EQ(nearest_word("tarni", words, 1), "");
  EXPECT_EQ(nearest_word("tarni", words, 2), "train");
}

TEST(NearestWord, OfSeveralTheFirst) {
  EXPECT_EQ(nearest_word("top", {"tor", "tob"}), "tor");
  EXPECT_EQ(nearest_word("", {"abc", "ab"}), "ab");
  EXPECT_EQ(nearest_word("abc", {}), "");
}

}  // namespace
}  // namespace plimsoll
