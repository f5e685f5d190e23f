#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/error.h"
#include "ingest/tables/made_up_table.h"
#include "ingest/tables/tables.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using Random = std::mt19937_64;

int64_t below(Random& random, int64_t end) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
}

// A column of 8 rows of one of the layouts that streams have.
MadeUpColumn whole_column(Random& random, const std::string& name) {
  const std::vector<std::optional<int64_t>> numbers = {1, 2, std::nullopt, 4, 5, 6, 7, 8};
  const std::vector<std::optional<std::string>> texts = {"a", "b", std::nullopt, "", "longer than twelve",
                                                         "a", "b", "c"};
  MadeUpColumn column = made_up_texts(name, texts);
  switch (below(random, 7)) {
    case 0:
      return column;
    case 1:
      return made_up_numbers<int64_t>(name, std::array{"l", "tsu:", "g", "tdm", "L"}[random() % 5], numbers);
    case 2: {
      column = made_up_numbers<int8_t>(name, "c", {0, 1, std::nullopt, 7, 3, 2, 1, 0});
      column.dictionary = std::make_shared<MadeUpColumn>(made_up_texts("", texts));
      return column;
    }
    case 3: {
      MadeUpColumn vectors{.name = name, .format = "+w:2", .length = 8, .buffers = {std::nullopt}};
      vectors.children = {made_up_numbers<float>("item", "f", std::vector<std::optional<float>>(16, 0.5F))};
      return vectors;
    }
    case 4: {
      MadeUpColumn runs{.name = name, .format = "+r", .length = 8};
      runs.children = {made_up_numbers<int32_t>("run_ends", "i", {3, 8}),
                       made_up_numbers<int64_t>("values", "l", {1, 2})};
      return runs;
    }
    case 5: {
      MadeUpColumn lists{.name = name, .format = "+l", .length = 8};
      lists.buffers = {std::nullopt, bytes_of_values<int32_t>({0, 1, 1, 2, 3, 5, 5, 5, 8})};
      lists.children = {made_up_texts("item", texts)};
      return lists;
    }
    default:
      return made_up_numbers<int64_t>(name, "w:8", numbers);
  }
}

// Breaks one thing that a reader can detect; it cannot detect a length beyond the buffer.
void break_column(Random& random, MadeUpColumn& column) {
  switch (below(random, 9)) {
    case 0:
      column.length = -below(random, 100);
      break;
    case 1:
      column.offset = -1 - below(random, 100);
      break;
    case 2:
      column.buffers.resize(static_cast<size_t>(below(random, 2)));
      break;
    case 3:
      if (!column.buffers.empty()) column.buffers[random() % column.buffers.size()] = std::nullopt;
      break;
    case 4:
      column.children.clear();
      break;
    case 5:
      column.dictionary.reset();
      break;
    case 6:
      column.length = below(random, 8);
      break;
    case 7:
      if (!column.children.empty()) break_column(random, column.children[random() % column.children.size()]);
      break;
    default:
      if (column.dictionary) break_column(random, *column.dictionary);
      break;
  }
}

TEST(BrokenStreams, AreErrorsOrReadAndNeverCrash) {
  const TempFolder folder;
  int refused = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    MadeUpBatch batch = {made_up_numbers<int64_t>("id", "l", {7, 6, 5, 4, 3, 2, 1, 0})};
    for (const char* name : {"a", "b", "c"}) batch.push_back(whole_column(random, name));
    const MadeUpBatch first = batch;
    break_column(random, batch[1 + random() % 3]);
    // The schema is that of the first batch, so the second batch may have children that differ from the
    // schema.
    TableSpec table{.name = "t", .open = [=](ArrowArrayStream& stream) {
                      stream = made_up_stream({first, batch});
                    }};
    const bool is_key = random() % 2 == 0;
    if (is_key) table.foreign_keys = {{{"a"}, "keys"}};
    TableSpec keys{.name = "keys",
                   .open = [=](ArrowArrayStream& stream) { stream = made_up_stream({first}); }};
    keys.key = {"id"};
    try {
      ingest_tables({.tables = {table, keys}, .out = folder / "graph", .force = true}, [](int64_t) {});
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 25);
}

}  // namespace
}  // namespace plimsoll
