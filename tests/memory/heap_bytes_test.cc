#include "memory/heap_bytes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <vector>

#include "support/errors.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

int64_t heap_in_use() {
  const struct mallinfo2 found = ::mallinfo2();
  return static_cast<int64_t>(found.uordblks + found.hblkhd);
}

std::string made_up_text(int rows) {
  std::string text = "[";
  for (int i = 0; i < rows; ++i)
    text += fmt::format(
        R"({}{{"name": "recording-{}", "content": "0123456789abcdef0123456789abcdef", "frames": {}, "traps": {{}}, )"
        R"("parts": [1, 2.5, "three", null]}})",
        i == 0 ? "" : ", ", i, i);
  return text + "]";
}

TEST(HeapBytes, OfATreeAreWhatMallocGave) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have a malloc of their own";
#endif
  const std::string text = made_up_text(1000);
  const int64_t before = heap_in_use();
  const Json json = parse_json(text);
  const int64_t measured = heap_in_use() - before;
  EXPECT_GE(heap_bytes(json), measured * 99 / 100);
  EXPECT_LE(heap_bytes(json), measured * 11 / 10);
  EXPECT_EQ(heap_bytes(Json(5)), 0);
}

TEST(HeapBytes, OfPathsAreWhatMallocGave) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have a malloc of their own";
#endif
  std::vector<std::filesystem::path> paths(1000);
  const int64_t before = heap_in_use();
  int64_t counted = 0;
  for (std::filesystem::path& path : paths) {
    path = std::filesystem::path("some/folders/of") / "a recording with a long name" / "drive-1.csv";
    counted += heap_bytes(path);
  }
  const int64_t measured = heap_in_use() - before;
  EXPECT_GE(counted, measured * 99 / 100);
  EXPECT_LE(counted, measured * 2);
}

TEST(HeapBytes, AParsedTreeIsChargedWhileItGrows) {
  const std::string text = made_up_text(1000);
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  Charge charge(Tag::columns, 100);
  const Json json = parse_json(text, charge);
  EXPECT_EQ(json, parse_json(text));
  EXPECT_EQ(charge.bytes(), 100 + heap_bytes(json));
  EXPECT_EQ(ledger.held() - before, charge.bytes());
  const LedgerCap cap(heap_bytes(json) / 2);
  Charge refused(Tag::columns);
  error_text<BudgetExceeded>([&] { parse_json(text, refused); });
}

TEST(HeapBytes, AParsedTreeKeepsTheLimitsOfOneThatIsNotCharged) {
  std::string keys = "{\"0\":0";
  for (int k = 1; k < 100'000; ++k) keys += ",\"" + std::to_string(k) + "\":0";
  for (const std::string& text : {keys + "}", std::string(102, '[') + std::string(102, ']')}) {
    Charge charge(Tag::columns);
    EXPECT_TRUE(parse_json(text, charge).is_discarded());
    EXPECT_EQ(charge.bytes(), 0);
  }
}

TEST(HeapBytes, ATableIsChargedAsItGrows) {
  JsonTable table;
  const int64_t before = Ledger::process().held();
  const Json row = parse_json(made_up_text(1));
  for (int i = 0; i < 10; ++i) table.push_back(row);
  EXPECT_GE(Ledger::process().held() - before, 10 * heap_bytes(row));
  EXPECT_EQ(table.take().size(), 10U);
  const LedgerCap cap(0);
  error_text<BudgetExceeded>([&] { table.push_back(row); });
}

}  // namespace
}  // namespace plimsoll
