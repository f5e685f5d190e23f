#include "sample/neighbour/sample_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "memory/ledger.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

BlockSample sample_of(int64_t number) {
  std::mt19937 random(static_cast<unsigned>(number));
  BlockSample sample;
  sample.number = number;
  sample.batch.epoch = 3;
  const size_t nodes = 2 + random() % 60;
  for (size_t n = 0; n < nodes; ++n) sample.batch.node.push_back(random());
  sample.batch.in = {1, static_cast<uint32_t>(nodes - 1)};
  for (size_t e = 0; e < nodes; ++e) sample.batch.source.push_back(static_cast<uint32_t>(random() % nodes));
  sample.batch.nodes_per_hop = {2, static_cast<int64_t>(nodes - 2)};
  sample.batch.edges_per_hop = {static_cast<int64_t>(nodes)};
  sample.labels = {number, -1};
  return sample;
}

class SampleFileTest : public testing::Test {
 protected:
  SampleFile make(int64_t samples, int64_t bytes) const {
    return {*ScratchFile::make(folder_.path(), SampleFile::file_bytes_for(samples, bytes)), samples};
  }
  static bool add(SampleFile& file, int64_t number) {
    Vector<std::byte, Tag::blocks> note;
    sample_of(number).write(note);
    return file.add(number, note);
  }
  static void expect_kept(KeptSamples& kept, int64_t number) {
    BlockSample found;
    ASSERT_TRUE(kept.get({&number, 1}, {&found, 1}, {}));
    const BlockSample sample = sample_of(number);
    ASSERT_EQ(found.number, number);
    ASSERT_EQ(found.batch.node, sample.batch.node);
    ASSERT_EQ(found.batch.source, sample.batch.source);
    ASSERT_EQ(found.batch.nodes_per_hop, sample.batch.nodes_per_hop);
    ASSERT_EQ(found.labels, sample.labels);
  }

  TempFolder folder_;
};

// More samples than the buffers hold, and more than fit into a page of the index.
TEST_F(SampleFileTest, GivesWhatWasAdded) {
  SampleFile file = make(3000, 4 << 20);
  for (int round = 0; round < 2; ++round) {
    file.begin();
    const int64_t first = 100 + round;
    for (int64_t number = 9000; number < 9600; ++number) ASSERT_TRUE(add(file, number));
    for (int64_t number = first; number < first + 2000; ++number) ASSERT_TRUE(add(file, number));
    file.finish();
    EXPECT_TRUE(file.has(9000) && file.has(9599) && file.has(first));
    EXPECT_FALSE(file.has(8999) || file.has(9600) || file.has(first - 1));
    EXPECT_EQ(file.end_of(first + 3), first + 2000);
    EXPECT_EQ(file.end_of(7), 7);
    KeptSamples kept(file, 1000);
    for (int64_t number = first; number < first + 2000; ++number) expect_kept(kept, number);
    std::mt19937 random(4);
    for (int i = 0; i < 300; ++i)
      expect_kept(kept, i % 2 == 0 ? 9000 + random() % 600 : first + random() % 2000);
  }
  EXPECT_GE(file.bytes_written(), 2 * 2600 * 32);
  EXPECT_GT(file.bytes_read(), 0);
}

TEST_F(SampleFileTest, IsFullByBytesOrBySamples) {
  SampleFile few = make(3, 1 << 20);
  few.begin();
  for (int64_t number = 0; number < 3; ++number) EXPECT_TRUE(add(few, number));
  EXPECT_FALSE(add(few, 3));
  few.finish();
  EXPECT_EQ(few.end_of(0), 3);

  SampleFile small = make(1000, 16 << 10);
  small.begin();
  int64_t added = 0;
  while (add(small, added)) ++added;
  small.finish();
  EXPECT_GT(added, 16);
  EXPECT_EQ(small.end_of(0), added);
  KeptSamples kept(small, 1000);
  for (int64_t number = 0; number < added; ++number) expect_kept(kept, number);
}

TEST_F(SampleFileTest, TakesMemoryOnlyWhileItIsWritten) {
  const Ledger& ledger = Ledger::process();
  SampleFile file = make(1000, 1 << 20);
  const int64_t before = ledger.held(Tag::cache);
  file.begin();
  EXPECT_EQ(ledger.held(Tag::cache), before + SampleFile::kBuffer + SampleFile::kPage);
  add(file, 0);
  file.finish();
  EXPECT_EQ(ledger.held(Tag::cache), before);
  KeptSamples kept(file, 5000);
  EXPECT_EQ(ledger.held(Tag::cache), before + KeptSamples::bytes_for(5000));
}

TEST_F(SampleFileTest, ANumberThatIsNotThereIsAnError) {
  SampleFile file = make(10, 1 << 20);
  file.begin();
  add(file, 0);
  file.finish();
  KeptSamples kept(file, 5000);
  BlockSample sample;
  const int64_t number = 5;
  EXPECT_THAT(error_text<Failure>([&] { kept.get({&number, 1}, {&sample, 1}, {}); }), HasSubstr("block 5"));
}

}  // namespace
}  // namespace plimsoll
