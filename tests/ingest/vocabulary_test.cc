#include "ingest/vocabulary.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Vocabulary, IndexesKnownIdsInOrderAndAllOthersAsOne) {
  const Vocabulary vocabulary({0x10, 0x7FF, 0x800 | kCanExtended});
  EXPECT_EQ(vocabulary.index(0x10), 0);
  EXPECT_EQ(vocabulary.index(0x7FF), 1);
  EXPECT_EQ(vocabulary.index(0x800 | kCanExtended), 2);
  for (const uint32_t unknown : {0U, 0x11U, 0x7FEU, 0x10U | kCanExtended, 0xFFFFFFFFU})
    EXPECT_EQ(vocabulary.index(unknown), 3) << unknown;
}

}  // namespace
}  // namespace plimsoll
